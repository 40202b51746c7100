"""Delivery status notifications (RFC 3464): mails that mail servers send back.

The bounced recipients are in the part ``message/delivery-status``: fields about the message
first, then those of each recipient (RFC 3464, 2.2 and 2.3).  It should be 7bit; what gateways
have encoded on the way is decoded.  ``message/global-delivery-status`` is the same in UTF-8
(RFC 6533).  The part after it returns the message, or its header (RFC 6522, 3).

Anybody can write a report that names any mailbox.  Only the sender and the recipients of a
message know its ``Message-ID``, so a report counts for a recipient if it returns a message with
an ID that was sent to that recipient.  The ID of one's own message proves nothing about others.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.errors import MessageError
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import Compat32
from email.utils import parsedate_to_datetime
from hashlib import blake2b

from cs.domain.mail.bounce import Bounce, ToolWord, enhanced_code
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.sources.tables.table_file import BadRow

#: Bytes of a mail that are read.  Status and header of the returned message come before its
#: body, so of a longer report no more is needed.
READ_BYTES = 256 << 10
#: How far ahead of our clock a time may be: clocks differ, and time zones are mistaken.
AHEAD = timedelta(days=1)
#: Parts and recipients of one mail, and characters of one field and of a diagnostic, at most.
_PARTS = 20
_RECIPIENTS = 1_000
_LONGEST_FIELD = 4_000
_LONGEST_TEXT = 2_000
#: Seconds since 1970 beyond which a number is milliseconds: the year 5138.
_MILLISECONDS = 1e11
_STATUS_PARTS = frozenset({"message/delivery-status", "message/global-delivery-status"})
_RETURNED_PARTS = frozenset(
    {"message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers"}
)
_BLANK_LINES = re.compile(rb"(?:\r?\n[ \t]*){2,}")


class SentMessages:
    """Pairs of a ``Message-ID`` and a recipient of that message; held as hashes."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._known = {_digest(id_, recipient) for id_, recipient in pairs}

    def prove(self, ids: Iterable[str], recipient: str) -> bool:
        """Return whether a message with one of *ids* was sent to *recipient*."""
        return any(_digest(each, recipient) in self._known for each in ids if each.strip("<> "))


class Unproven:
    """A bounce of a message that is not known to have been sent to that recipient."""


def bounces_of(
    mail: bytes, now: datetime, sent: SentMessages
) -> Iterator[Bounce | Unproven | str | None]:
    """Yield for each recipient a bounce, an error, or ``None`` if the report is of no bounce.

    A bounce that *sent* does not prove is `Unproven`.  A mail that is no such report yields an
    error.  Of *mail* at most `READ_BYTES` are read.
    """
    mail = mail[:READ_BYTES]
    message, parts = Message(), list[_Part]()
    try:
        if b"delivery-status" in mail.lower():
            message = _parse(mail)
            parts = [part for part in message.walk() if isinstance(part, _Part)]
        ids = {_field(_header(each.data), "Message-ID") for each in _of(parts, _RETURNED_PARTS)}
        reports = [_recipients(each.data) for each in _of(parts, _STATUS_PARTS)]
    except (MessageError, LookupError, ValueError, RecursionError, AssertionError) as error:
        yield f"it is no mail that can be read: {type(error).__name__}: {error}"
        return
    recipients = [(about, each) for about, fields in reports for each in fields]
    if not recipients:
        yield "it has no delivery status in it (RFC 3464, message/delivery-status)"
    for about, recipient in recipients[:_RECIPIENTS]:
        try:
            bounce = _bounce_of(about, recipient, _field(message, "Date"), now)
        except BadRow as error:
            yield str(error)
        else:
            proven = bounce is None or sent.prove(ids, bounce.address)
            yield bounce if proven else Unproven()
    if len(recipients) > _RECIPIENTS:
        yield f"it is about more than {_RECIPIENTS} recipients"


def make_bounce(
    *,
    address: str,
    at: datetime | None,
    codes: Sequence[str],
    diagnostic: str,
    tool_word: ToolWord | None = None,
) -> Bounce:
    """Return a bounce; all but *address* may be empty.

    Args:
        address: Of the recipient.
        at: When it came back.
        codes: Enhanced codes and reply codes, the best first: ``5.1.1``, ``550``.
        diagnostic: The reply of the mail server.
        tool_word: The kind of the bounce, according to the sending tool.

    Raises:
        BadRow: *address* is none.
    """
    mailbox = ascii_mailbox(address.strip().strip("<>")).lower()
    if not mailbox:
        raise BadRow("it names no e-mail address")
    if not is_mailbox(mailbox):
        raise BadRow("what it names is no e-mail address")
    return Bounce(
        address=mailbox,
        at=at,
        status=next((found for code in codes if (found := _enhanced_in(code))), None),
        code=next((int(code[:3]) for code in codes if re.match(r"[45]\d\d(?!\d)", code)), None),
        diagnostic=diagnostic[:_LONGEST_TEXT],
        tool_word=tool_word,
    )


def read_time(text: str) -> datetime | None:
    """Return the moment of *text*, in UTC; ``None`` if it is no time.

    Read are ISO 8601, seconds or milliseconds since 1970, and times as in mail (RFC 5322).
    Eight digits are a day of ISO 8601, not seconds of the year 1970.

    >>> read_time("20261101") == read_time("2026-11-01") == read_time("1793491200")
    True
    """
    for read in (_since_1970, datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = read(text)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, TypeError, OverflowError, OSError):
            continue
    return None


def _digest(id_: str, recipient: str) -> bytes:
    mailbox = ascii_mailbox(recipient.strip('<>"')).lower()
    pair = id_.strip('<>" ') + "\n" + mailbox
    return blake2b(pair.encode(errors="backslashreplace"), digest_size=16).digest()


class _Policy(Compat32):
    """Cuts fields to `_LONGEST_FIELD`: reading some of them takes quadratic time."""

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

    @property
    def data(self) -> bytes:
        payload = self.get_payload(decode=True)
        return payload if isinstance(payload, bytes) else b""


def _parse(mail: bytes) -> Message:
    made = 0

    def part(policy: Compat32) -> _Part:
        nonlocal made
        made += 1
        if made > _PARTS + 1:  # the parser makes one to see how parts are made
            raise MessageError(f"it has more than {_PARTS} parts")
        return _Part(policy)

    # The stubs know no factory that takes the policy, which every one is called with.
    return BytesParser(part, policy=_Policy()).parsebytes(mail)  # type: ignore[arg-type]


def _header(data: bytes) -> Message:
    return BytesHeaderParser(policy=_Policy()).parsebytes(data)


def _of(parts: Iterable[_Part], kinds: frozenset[str]) -> Iterator[_Part]:
    return (part for part in parts if part.kind in kinds)


def _recipients(status: bytes) -> tuple[Message, list[Message]]:
    """Return the fields about the message of the report *status*, and of each recipient."""
    blocks = [_header(block) for block in _BLANK_LINES.split(status.strip())[: _RECIPIENTS + 2]]
    named = [each for each in blocks if each["Final-Recipient"] or each["Original-Recipient"]]
    return next((each for each in blocks if each not in named), Message()), named


def _bounce_of(
    about: Message, recipient: Message, sent_at: str, now: datetime
) -> Bounce | None:
    action = _field(recipient, "Action").lower()
    if action in {"delivered", "relayed", "expanded"}:
        return None
    # The address that was written to, if it was forwarded to another one.
    address = _typed(recipient, "Original-Recipient") or _typed(recipient, "Final-Recipient")
    status = _field(recipient, "Status").partition(" ")[0]
    if action == "delayed" and not status.startswith("4"):
        status = "4.0.0"
    # The first that can be read; without any the bounce is of now, and counted as undated.
    texts = (_field(recipient, "Last-Attempt-Date"), sent_at, _field(about, "Arrival-Date"))
    times = (read_time(text) for text in texts)
    return make_bounce(
        address=address,
        at=next((at for at in times if at is not None and at <= now + AHEAD), None),
        codes=(status,),
        diagnostic=_field(recipient, "Diagnostic-Code"),
    )


def _typed(message: Message, name: str) -> str:
    """Return the value of field *name* without its type, ``rfc822;``."""
    kind, sign, value = _field(message, name).partition(";")
    return value.strip() if sign else kind


def _field(message: Message, name: str) -> str:
    return " ".join(str(message.get(name, "")).split())


def _enhanced_in(code: str) -> str | None:
    found = enhanced_code(code[3:].lstrip(" -") if re.match(r"\d{3}[ -]", code) else code)
    return found if found is not None and found[0] in "45" else None


def _since_1970(text: str) -> datetime:
    if len(text) == len("20261101"):
        raise ValueError("a day")
    number = float(text)
    return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)
