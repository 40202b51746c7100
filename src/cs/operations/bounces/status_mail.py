"""Delivery status notifications (RFC 3464): what mail servers send back, as it came.

The bounced recipients are in the part ``message/delivery-status``: fields about the message
first, then those of each recipient (RFC 3464, 2.2 and 2.3).
"""

from collections.abc import Iterator
from datetime import datetime
from email.errors import MessageError
from email.message import Message
from email.parser import BytesParser

from cs.domain.mail.bounce import Bounce
from cs.operations.bounces.rows import BadRow, make_bounce

#: Longest mail that is read; a report repeats at most the mail that it is about.
MAX_MAIL = 10 << 20
#: Recipients of one mail at most.
_RECIPIENTS = 1_000


def bounces_of(mail: bytes, now: datetime) -> Iterator[Bounce | str | None]:
    """Yield of each recipient the bounce, what is wrong with it, or ``None``: it is none.

    A mail that is no such report yields what is wrong, too.
    """
    try:
        message = BytesParser().parsebytes(mail)
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
        blocks = part.get_payload()
        if part.get_content_type() != "message/delivery-status" or not isinstance(blocks, list):
            continue
        about: Message | None = None
        for block in blocks:
            if not isinstance(block, Message):
                continue
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
    return make_bounce(
        address=address,
        at=_field(recipient, "Last-Attempt-Date") or sent_at or arrived,
        status=status,
        diagnostic=_field(recipient, "Diagnostic-Code"),
        now=now,
    )


def _typed(message: Message, name: str) -> str:
    """Return the value of field *name* without its type, ``rfc822;``."""
    kind, sign, value = _field(message, name).partition(";")
    return value.strip() if sign else kind


def _field(message: Message, name: str) -> str:
    return " ".join(str(message.get(name, "")).split())
