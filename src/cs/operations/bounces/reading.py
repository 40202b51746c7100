"""Bounces read from files and request bodies, row by row: tables, JSON bodies, mails.

A list is trusted, since the operator provides it.  Anyone can send mail to the mailbox where
bounces arrive, and write a report that names any mailbox.  Only the sender and the recipients
of a message know its ``Message-ID``, so a mail counts for a recipient if it returns a message
that was sent to that recipient.  The ID of one's own message proves nothing about others.

The mails are delivery status notifications (RFC 3464).  The bounced recipients are in the part
``message/delivery-status``: fields about the message first, then those of each recipient
(RFC 3464, 2.2 and 2.3).  It should be 7bit; what gateways have encoded on the way is decoded.
``message/global-delivery-status`` is the same in UTF-8 (RFC 6533).  The part after it returns
the message, or its header (RFC 6522, 3).
"""

import re
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from email.errors import MessageError
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import Compat32
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from cs.domain.mail.bounce import Bounce, ToolWord, enhanced_code
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.runtime.table_text import open_bounded
from cs.sources.tables.table_file import (
    BadFile,
    BadRow,
    TableFile,
    TableKind,
    cell_text,
    columns_of,
)

#: A larger file, or one of more rows or lines, is no list of bounces.
MOST_BYTES = 1 << 30
MOST_ROWS = 1_000_000
MOST_LINES = 5_000_000
#: Sent messages are held in memory.
MOST_SENT = 2_000_000
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
_LONGEST_LINE = 1 << 16
_MOST_COLUMNS = 1_000
#: Seconds since 1970 beyond which a number is milliseconds: the year 5138.
_MILLISECONDS = 1e11
#: Any other file is a table.
_MAILS = {".eml": "mail", ".mbox": "mailbox", ".mbx": "mailbox"}
_STATUS_PARTS = frozenset({"message/delivery-status", "message/global-delivery-status"})
_RETURNED_PARTS = frozenset(
    {"message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers"}
)
_BLANK_LINES = re.compile(rb"(?:\r?\n[ \t]*){2,}")

_SIGNS = re.compile(r"[^a-z0-9]+")
_WORDS = tomllib.loads((files(__package__) / "reports.toml").read_text("utf-8"))
_KINDS = {
    kind: {_SIGNS.sub("", word) for word in words} for kind, words in _WORDS["kinds"].items()
}
#: Of several words for a bounce, the one with the least effect counts.
_STRONGEST_FIRST = (ToolWord.BLOCK, ToolWord.SOFT, ToolWord.HARD)
#: Fields that may name the kind of the event.
_SAYING_WHAT = ("event", "type", "class", "status")
_TABLE = TableKind(
    _WORDS["columns"],
    lambda found: None if "address" in found else "a column email, recipient or address",
)
_SENT = TableKind(
    _WORDS["sent"],
    lambda found: (
        None if len(found) == len(_WORDS["sent"]) else "columns message-id and recipient"
    ),
)


class Unproven:
    """A bounce of a message that is not known to have been sent to that recipient."""


#: One row: a bounce, an unproven one, an error, or ``None`` for another event.
Row = Bounce | Unproven | str | None
#: Messages that were sent: `sent_to` of each ``Message-ID`` and recipient.
Sent = AbstractSet[bytes]


class _Posted(msgspec.Struct):
    """A body that names its list."""

    bounces: list[msgspec.Raw]


#: Rows are decoded one by one, since a body can hold far more of them than are read.
_POSTED = msgspec.json.Decoder(list[msgspec.Raw] | _Posted)


class BounceFile(NamedTuple):
    """The bounces in a file, read once and never held.

    Attributes:
        form: Its form, for people.
        columns: By field the column that holds it; of a table.
        rows: Each row with its line; of mails, with the number of the mail.  Raises `BadFile`
            where the rest cannot be read.
    """

    form: str
    columns: Mapping[str, str]
    rows: Iterator[tuple[int, Row]]


def read_bounces(path: Path, now: datetime, sent: Sent | None = None) -> BounceFile:
    """Return the bounces in *path*: mails by its name, else a table; both may be packed.

    Args:
        path: The file.
        now: The time it is read.
        sent: The messages that were sent; mails are read only with them.

    Raises:
        BadFile: It cannot be read, no column of it holds addresses, or it holds mails and
            *sent* is ``None``.
    """
    form = _MAILS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    if form is None:
        table = TableFile(path, _TABLE)
        rows = ((line, _read(cells, now, table.columns)) for line, cells in table.rows())
        return BounceFile("table", table.columns, _bounded(path, rows))
    if sent is None:
        raise BadFile(
            f"{path} holds mails, which anybody can forge: give --sent FILE, with a line "
            "`message-id,recipient` for each message that you sent; a list from your own "
            "provider (CSV) needs none"
        )
    return BounceFile(form, {}, _bounded(path, _of_mails(path, form, now, sent)))


def _bounded(path: Path, rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    for count, row in enumerate(rows):
        if count == MOST_ROWS:
            raise BadFile(f"{path}: it has more than {MOST_ROWS} rows: split it")
        yield row


def _of_mails(path: Path, form: str, now: datetime, sent: Sent) -> Iterator[tuple[int, Row]]:
    try:
        with open_bounded(path, MOST_BYTES, MOST_LINES) as file:
            mails = _mails_of(file) if form == "mailbox" else [file.read(READ_BYTES)]
            for number, mail in enumerate(mails, 1):
                for row in bounces_of(mail, now, sent):
                    yield number, row
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _mails_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the mails of a box: each begins with a line ``From `` after an empty one.

    Of a long mail only its first `READ_BYTES`.
    """
    mail = bytearray()
    begun, after_blank = False, True
    while line := file.readline(_LONGEST_LINE):
        if after_blank and line.startswith(b"From "):
            if begun:
                yield bytes(mail)
            mail.clear()
            begun, after_blank = True, False
            continue
        after_blank = line in {b"\n", b"\r\n"}
        mail += line[: READ_BYTES - len(mail)]
    if begun or mail:
        yield bytes(mail)


def read_sent(path: Path) -> Sent:
    """Return the messages in *path*, a list with a column each for Message-ID and recipient.

    Raises:
        BadFile: It cannot be read, or a row of it names no message or no recipient.
    """
    sent: set[bytes] = set()
    found = TableFile(path, _SENT).read(
        lambda cells: (cell_text(cells["id"]), cell_text(cells["recipient"]))
    )
    for count, (line, row) in enumerate(found):
        if count == MOST_SENT:
            raise BadFile(f"{path} has more than {MOST_SENT} rows: split it")
        if isinstance(row, str) or not all(row):
            raise BadFile(f"{path}: line {line} is not `message-id,recipient`")
        sent.add(sent_to(*row))
    return sent


def sent_to(id_: str, recipient: str) -> bytes:
    """Return the hash of a message with the ``Message-ID`` *id_* to *recipient*."""
    mailbox = ascii_mailbox(recipient.strip('<>"')).lower()
    pair = id_.strip('<>" ') + "\n" + mailbox
    return blake2b(pair.encode(errors="backslashreplace"), digest_size=16).digest()


def rows_in(body: bytes, now: datetime) -> Iterator[Row]:
    """Yield the rows of *body*: a JSON array of objects, or ``{"bounces": [...]}``.

    Raises:
        ValueError: It is none of these.
    """
    try:
        try:
            posted = _POSTED.decode(body)
        except msgspec.ValidationError:
            raise ValueError("it is no JSON array of objects") from None
        for item in posted.bounces if isinstance(posted, _Posted) else posted:
            row = msgspec.json.decode(item)
            if isinstance(row, dict):
                names = columns_of(islice(row, _MOST_COLUMNS), _WORDS["columns"])
                yield _read(row, now, names)
            else:
                yield "it is no JSON object"
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no JSON: {error}") from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _read(cells: Mapping[str, Any] | str, now: datetime, columns: Mapping[str, str]) -> Row:
    """Return the bounce that *cells* report, ``None`` if they report another event."""
    if isinstance(cells, str):
        return cells
    texts = {field: _text(cells.get(column)) for field, column in columns.items()}
    what = {field: _SIGNS.sub("", texts.get(field, "").lower()) for field in _SAYING_WHAT}
    words = set(what.values())
    if words & _KINDS["no_bounce"]:
        return None
    if what["type"] != "bounce" or words & _KINDS["undecided"]:
        words.discard("bounce")
    try:
        return _bounce(
            address=texts.get("address", ""),
            at=_time(texts["at"], columns["at"], now) if texts.get("at") else None,
            codes=(texts.get("status", ""), texts.get("code", "")),
            diagnostic=texts.get("diagnostic", ""),
            tool_word=next((w for w in _STRONGEST_FIRST if words & _KINDS[w.value]), None),
        )
    except BadRow as error:
        return str(error)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | list | dict):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().encode(errors="replace").decode()


def _time(text: str, column: str, now: datetime) -> datetime:
    at = read_time(text)
    if at is None:
        raise BadRow(
            f"{column[:40]} is no time: write it as 2026-11-01T09:30:00Z, as seconds since "
            "1970, or as in mail (Sun, 1 Nov 2026 09:30:00 +0000)"
        )
    if at > now + AHEAD:
        raise BadRow(f"{column[:40]} is a time that is still to come: {at.isoformat()}")
    return at


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


def _since_1970(text: str) -> datetime:
    if len(text) == len("20261101"):
        raise ValueError("a day")
    number = float(text)
    return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)


def _bounce(
    *,
    address: str,
    at: datetime | None,
    codes: Sequence[str],
    diagnostic: str,
    tool_word: ToolWord | None = None,
) -> Bounce:
    """Return a bounce; all but *address* may be empty, *codes* are in order of preference.

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


def _enhanced_in(code: str) -> str | None:
    found = enhanced_code(code[3:].lstrip(" -") if re.match(r"\d{3}[ -]", code) else code)
    return found if found is not None and found[0] in "45" else None


def bounces_of(mail: bytes, now: datetime, sent: Sent) -> Iterator[Row]:
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
        returned = [_header(part.data) for part in parts if part.kind in _RETURNED_PARTS]
        reports = [_recipients(part.data) for part in parts if part.kind in _STATUS_PARTS]
    except (MessageError, LookupError, ValueError, RecursionError, AssertionError) as error:
        yield f"it is no mail that can be read: {type(error).__name__}: {error}"
        return
    ids = {id_ for each in returned if (id_ := _field(each, "Message-ID")).strip("<> ")}
    recipients = [(about, each) for about, fields in reports for each in fields]
    if not recipients:
        yield "it has no delivery status in it (RFC 3464, message/delivery-status)"
    for about, recipient in recipients[:_RECIPIENTS]:
        try:
            bounce = _bounce_of(about, recipient, _field(message, "Date"), now)
        except BadRow as error:
            yield str(error)
        else:
            proven = bounce is None or any(sent_to(id_, bounce.address) in sent for id_ in ids)
            yield bounce if proven else Unproven()
    if len(recipients) > _RECIPIENTS:
        yield f"it is about more than {_RECIPIENTS} recipients"


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
    return _bounce(
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
