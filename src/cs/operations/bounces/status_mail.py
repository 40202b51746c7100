"""Delivery status notifications (RFC 3464): what mail servers send back, as it came.

The bounced recipients are in the part ``message/delivery-status``: fields about the message
first, then those of each recipient (RFC 3464, 2.2 and 2.3).  It is to be 7bit there; what
gateways have encoded on the way is decoded.  ``message/global-delivery-status`` is the same in
UTF-8 (RFC 6533).  The part after it returns the message, or its header (RFC 6522, 3): its
``Message-ID`` is what proves that the report is about a message of the operator's.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from email.errors import MessageError
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import Compat32
from itertools import islice

from cs.domain.mail.bounce import Bounce
from cs.operations.bounces.rows import AHEAD, BadRow, make_bounce, read_time
from cs.operations.bounces.sent_messages import SentMessages

#: Bytes of a mail that are read.  Status and header of the returned message come before its
#: body, so of a longer report no more is needed.
READ_BYTES = 256 << 10
#: Parts and recipients of one mail, and characters of one field, at most.
_PARTS = 20
_RECIPIENTS = 1_000
_LONGEST_FIELD = 4_000
_STATUS_PARTS = frozenset({"message/delivery-status", "message/global-delivery-status"})
_RETURNED_PARTS = frozenset(
    {"message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers"}
)
_BLANK_LINES = re.compile(rb"(?:\r?\n[ \t]*){2,}")


class Unproven:
    """A bounce of a message that is not known to have been sent to that recipient."""


class _Policy(Compat32):
    """Fields of a mail, cut to `_LONGEST_FIELD`: some readers of them are quadratic."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_LONGEST_FIELD]


class _Part(Message):
    """A part of a mail; one that is a mail itself is read as text, and not taken apart."""

    @property
    def kind(self) -> str:
        return super().get_content_type()

    def get_content_type(self) -> str:
        return "text/plain" if self.kind.startswith("message/") else self.kind


class _TooManyParts(MessageError):
    """A mail of more than `_PARTS` parts."""


def bounces_of(
    mail: bytes, now: datetime, sent: SentMessages
) -> Iterator[Bounce | Unproven | str | None]:
    """Yield of each recipient the bounce, what is wrong with it, or ``None``: it is none.

    A bounce that *sent* does not prove is `Unproven`.  A mail that is no such report yields
    what is wrong, too.  Of *mail* no more than `READ_BYTES` are read.
    """
    mail = mail[:READ_BYTES]
    recipients: list[tuple[Message | None, Message]] = []
    ids: set[str] = set()
    sent_at = ""
    try:
        if b"delivery-status" in mail.lower():
            message = _parsed(mail)
            parts = [part for part in message.walk() if isinstance(part, _Part)]
            recipients = list(islice(_recipients(parts), _RECIPIENTS + 1))
            ids = {_field(each, "Message-ID") for each in _returned(parts)}
            sent_at = _field(message, "Date")
    except _TooManyParts:
        yield f"it has more than {_PARTS} parts"
        return
    except (MessageError, LookupError, ValueError, RecursionError, AssertionError) as error:
        yield f"it is no mail that can be read: {type(error).__name__}"
        return
    if not recipients:
        yield "it has no delivery status in it (RFC 3464, message/delivery-status)"
    for about, recipient in recipients[:_RECIPIENTS]:
        try:
            bounce = _bounce_of(about, recipient, sent_at, now)
        except BadRow as error:
            yield str(error)
        else:
            proven = bounce is None or sent.prove(ids, bounce.address)
            yield bounce if proven else Unproven()
    if len(recipients) > _RECIPIENTS:
        yield f"it is about more than {_RECIPIENTS} recipients"


def _parsed(mail: bytes) -> Message:
    parts = 0

    def part(policy: Compat32) -> _Part:
        nonlocal parts
        parts += 1
        if parts > _PARTS + 1:  # the parser makes one to see how parts are made
            raise _TooManyParts
        return _Part(policy)

    # The stubs know no factory that takes the policy, which every one is called with.
    return BytesParser(part, policy=_Policy()).parsebytes(mail)  # type: ignore[arg-type]


def _returned(parts: Iterable[_Part]) -> Iterator[Message]:
    """Yield the header of each message that is returned."""
    for part in parts:
        if part.kind in _RETURNED_PARTS:
            yield _header(_payload(part))


def _recipients(parts: Iterable[_Part]) -> Iterator[tuple[Message | None, Message]]:
    """Yield the fields of each recipient, after those of the message that it is about."""
    for part in parts:
        if part.kind not in _STATUS_PARTS:
            continue
        about: Message | None = None
        for block in map(_header, _BLANK_LINES.split(_payload(part).strip())):
            if block.get("Final-Recipient") or block.get("Original-Recipient"):
                yield about, block
            elif about is None:
                about = block


def _payload(part: _Part) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _header(data: bytes) -> Message:
    return BytesHeaderParser(policy=_Policy()).parsebytes(data)


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
