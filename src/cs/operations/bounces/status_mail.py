"""Delivery status notifications (RFC 3464): what mail servers send back, as it came.

The bounced recipients are in the part ``message/delivery-status``: fields about the message
first, then those of each recipient (RFC 3464, 2.2 and 2.3).  It is to be 7bit there; what
gateways have encoded on the way is decoded.  ``message/global-delivery-status`` is the same in
UTF-8 (RFC 6533).
"""

import re
from collections.abc import Iterator
from datetime import datetime
from email.errors import MessageError
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser

from cs.domain.mail.bounce import Bounce
from cs.operations.bounces.rows import AHEAD, BadRow, make_bounce, read_time

#: Longest mail that is read; a report repeats at most the mail that it is about.
MAX_MAIL = 10 << 20
#: Recipients of one mail at most.
_RECIPIENTS = 1_000
_STATUS_PARTS = frozenset({"message/delivery-status", "message/global-delivery-status"})
_BLANK_LINES = re.compile(rb"(?:\r?\n[ \t]*){2,}")


class _Part(Message):
    """A part of a mail; a delivery status is read as text, so that it can be decoded."""

    @property
    def is_delivery_status(self) -> bool:
        return super().get_content_type() in _STATUS_PARTS

    def get_content_type(self) -> str:
        kind = super().get_content_type()
        return "text/plain" if kind in _STATUS_PARTS else kind


def bounces_of(mail: bytes, now: datetime) -> Iterator[Bounce | str | None]:
    """Yield of each recipient the bounce, what is wrong with it, or ``None``: it is none.

    A mail that is no such report yields what is wrong, too.
    """
    try:
        message = BytesParser(_Part).parsebytes(mail)
        recipients = list(_recipients(message))
        sent_at = _field(message, "Date")
    except (MessageError, LookupError, ValueError, RecursionError, AssertionError) as error:
        yield f"it is no mail that can be read: {type(error).__name__}"
        return
    if not recipients:
        yield "it has no delivery status in it (RFC 3464, message/delivery-status)"
    for about, recipient in recipients[:_RECIPIENTS]:
        try:
            yield _bounce_of(about, recipient, sent_at, now)
        except BadRow as error:
            yield str(error)
    if len(recipients) > _RECIPIENTS:
        yield f"it is about more than {_RECIPIENTS} recipients"


def _recipients(message: Message) -> Iterator[tuple[Message | None, Message]]:
    """Yield the fields of each recipient, after those of the message that it is about."""
    for part in message.walk():
        if not isinstance(part, _Part) or not part.is_delivery_status:
            continue
        status = part.get_payload(decode=True)
        if not isinstance(status, bytes):
            continue
        about: Message | None = None
        for block in map(BytesHeaderParser().parsebytes, _BLANK_LINES.split(status.strip())):
            if block.get("Final-Recipient") or block.get("Original-Recipient"):
                yield about, block
            elif about is None:
                about = block


def _bounce_of(
    about: Message | None, recipient: Message, sent_at: str, now: datetime
) -> Bounce | None:
    action = _field(recipient, "Action").lower()
    if action in {"delivered", "relayed", "expanded"}:
        return None
    # The address that was written to, if somebody forwarded it to another one.
    address = _typed(recipient, "Original-Recipient") or _typed(recipient, "Final-Recipient")
    status = _field(recipient, "Status").partition(" ")[0]
    if action == "delayed" and not status.startswith("4"):
        status = "4.0.0"
    arrived = _field(about, "Arrival-Date") if about is not None else ""
    # The first that can be read; without any it is taken to be of now, and counted as such.
    times = map(read_time, (_field(recipient, "Last-Attempt-Date"), sent_at, arrived))
    return make_bounce(
        address=address,
        at=next((at for at in times if at is not None and at <= now + AHEAD), None),
        status=status,
        diagnostic=_field(recipient, "Diagnostic-Code"),
    )


def _typed(message: Message, name: str) -> str:
    """Return the value of field *name* without its type, ``rfc822;``."""
    kind, sign, value = _field(message, name).partition(";")
    return value.strip() if sign else kind


def _field(message: Message, name: str) -> str:
    return " ".join(str(message.get(name, "")).split())
