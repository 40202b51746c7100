"""Bounces read from files and request bodies, row by row: tables, JSON, mails.

The form of a file is known by its name, else by its beginning; any may be packed (``.gz``).

A list counts on the word of the operator who gives it.  A mail counts only with proof that the
message that it returns was sent to that recipient (`cs.operations.bounces.status_mail`):
anybody can send mail to the mailbox where bounces arrive.
"""

import re
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from cs.domain.mail.bounce import Bounce, ToolWord
from cs.operations.bounces.status_mail import (
    AHEAD,
    READ_BYTES,
    SentMessages,
    Unproven,
    bounces_of,
    make_bounce,
    read_time,
)
from cs.runtime.table_text import guessed_encoding, open_bounded
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
#: A JSON file is read as one; larger ones come as JSON lines.
_LONGEST_JSON = 8 << 20
_LONGEST_LINE = 1 << 16
_MOST_COLUMNS = 1_000
_BY_NAME: Mapping[str, str] = {
    ".csv": "table",
    ".tsv": "table",
    ".tab": "table",
    ".parquet": "table",
    ".json": "JSON",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".eml": "mail",
    ".mbox": "mailbox",
    ".mbx": "mailbox",
}
_BY_BEGINNING = {"From ": "mailbox", "[": "JSON", "{": "JSON lines"}

_SIGNS = re.compile(r"[^a-z0-9]+")
_WORDS = tomllib.loads((files(__package__) / "reports.toml").read_text("utf-8"))
_COLUMNS = _WORDS["columns"]
_KINDS = {
    kind: {_SIGNS.sub("", word) for word in words} for kind, words in _WORDS["kinds"].items()
}
#: Of several words for what happened, the one that takes least away counts.
_STRONGEST_FIRST = (ToolWord.BLOCK, ToolWord.SOFT, ToolWord.HARD)
#: Fields that may say what happened.
_SAYING_WHAT = ("event", "type", "class", "status")
_TABLE = TableKind(
    _COLUMNS,
    lambda found: None if "address" in found else "a column email, recipient or address",
)
#: Notifications nest the address: each object has columns of its own.
_LINES = TableKind(_COLUMNS, lambda _: None)
_SENT = TableKind(
    _WORDS["sent"],
    lambda found: (
        None if len(found) == len(_WORDS["sent"]) else "columns message-id and recipient"
    ),
)
#: One row: a bounce, an unproven one, what is wrong with it, or ``None`` for another event.
Row = Bounce | Unproven | str | None


class BounceFile:
    """The bounces in *path*, read once and never held.

    Args:
        path: The file.
        now: The time it is read.
        sent: The messages that were sent; mails are read only with them.

    Attributes:
        form: Its form, for people.
        columns: By field the column that holds it; of a table, and of JSON lines.

    Raises:
        BadFile: It cannot be read, no column of it holds addresses, or it holds mails and
            *sent* is ``None``.
    """

    def __init__(self, path: Path, now: datetime, sent: SentMessages | None = None) -> None:
        self._path = path
        self._now = now
        self._sent = sent or SentMessages()
        self._table: TableFile | None = None
        self.form = _form_of(path)
        if self.form in {"mail", "mailbox"} and sent is None:
            raise BadFile(
                f"{path} holds mails, which anybody can forge: give --sent FILE, with a line "
                "`message-id,recipient` for each message that you sent; a list from your own "
                "provider (CSV, JSON) needs none"
            )
        if self.form in {"table", "JSON lines"}:
            self._table = TableFile(path, _TABLE if self.form == "table" else _LINES)
        self.columns = self._table.columns if self._table is not None else {}

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield each row with its line; of other forms, with the number of its item or mail.

        Raises:
            BadFile: The rest cannot be read.
        """
        for count, row in enumerate(self._rows()):
            if count == MOST_ROWS:
                raise BadFile(f"{self._path}: it has more than {MOST_ROWS} rows: split it")
            yield row

    def _rows(self) -> Iterator[tuple[int, Row]]:
        if self._table is not None:
            columns = self.columns if self.form == "table" else None
            for line, cells in self._table.rows():
                yield from ((line, row) for row in _read(cells, self._now, columns))
            return
        try:
            with open_bounded(self._path, MOST_BYTES, MOST_LINES) as file:
                for number, rows in enumerate(self._items(file), 1):
                    yield from ((number, row) for row in rows)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise BadFile(f"{self._path}: {why}") from error

    def _items(self, file: BinaryIO) -> Iterator[Iterator[Row]]:
        if self.form == "JSON":
            data = file.read(_LONGEST_JSON + 1)
            if len(data) > _LONGEST_JSON:
                raise ValueError(f"longer than {_LONGEST_JSON >> 20} MiB: write JSON lines")
            text = data.decode(guessed_encoding(data), errors="replace")
            yield from (_read(item, self._now) for item in _items_in(text.lstrip("\ufeff")))
            return
        mails = _mails_of(file) if self.form == "mailbox" else [file.read(READ_BYTES)]
        yield from (bounces_of(mail, self._now, self._sent) for mail in mails)


def read_sent(path: Path) -> SentMessages:
    """Return the messages in *path*, a list with a column each for Message-ID and recipient.

    Raises:
        BadFile: It cannot be read, or a row of it names no message or no recipient.
    """

    def pairs() -> Iterator[tuple[str, str]]:
        found = TableFile(path, _SENT).read(
            lambda cells: (cell_text(cells["id"]), cell_text(cells["recipient"]))
        )
        for count, (line, row) in enumerate(found):
            if count == MOST_SENT:
                raise BadFile(f"{path} has more than {MOST_SENT} rows: split it")
            if isinstance(row, str) or not all(row):
                raise BadFile(f"{path}: line {line} is not `message-id,recipient`")
            yield row

    return SentMessages(pairs())


def rows_in(body: bytes, now: datetime) -> Iterator[Bounce | str | None]:
    """Yield the rows of *body*: a JSON object, an array, or ``{"bounces": [...]}``.

    Raises:
        ValueError: It is none of these.
    """
    for item in _items_in(body):
        yield from _read(item, now)


def _form_of(path: Path) -> str:
    if by_name := _BY_NAME.get(Path(path.name.lower().removesuffix(".gz")).suffix):
        return by_name
    try:
        with open_bounded(path, MOST_BYTES, MOST_LINES) as file:
            head = file.read(_LONGEST_LINE)
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    start = head.decode(guessed_encoding(head), errors="replace").lstrip("\ufeff \t\r\n")
    for sign, form in _BY_BEGINNING.items():
        if start.startswith(sign):
            return form
    return "mail" if re.match(r"[^ ,;\t\":\r\n]+:", start) else "table"


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


def _items_in(data: bytes | str) -> Iterator[Mapping[str, Any] | str]:
    try:
        items = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no JSON: {error}") from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if isinstance(items, dict) and isinstance(items.get("bounces"), list):
        items = items["bounces"]
    if not isinstance(items, list | dict):
        raise ValueError("it is no JSON object or array of them")  # noqa: TRY004
    for item in items if isinstance(items, list) else [items]:
        yield item if isinstance(item, dict) else "it is no JSON object"


def _read(
    item: Mapping[str, Any] | str, now: datetime, columns: Mapping[str, str] | None = None
) -> Iterator[Bounce | str | None]:
    """Yield the rows of *item*; without *columns* each has its own."""
    if isinstance(item, str):
        yield item
        return
    for row in [item] if columns else _recipients(item):
        found = columns or columns_of(islice(row, _MOST_COLUMNS), _COLUMNS)
        try:
            yield _bounce_of(row, found, now)
        except BadRow as error:
            yield str(error)


def _recipients(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows in *item*: itself, or one for each recipient of a notification of SES."""
    if item.get("Type") == "Notification" and isinstance(text := item.get("Message"), str):
        # SNS's envelope has the notification as text.
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            item = msgspec.json.decode(text, type=dict[str, Any])
    bounce = item.get("bounce")
    recipients = bounce.get("bouncedRecipients") if isinstance(bounce, dict) else None
    if not isinstance(bounce, dict) or not isinstance(recipients, list):
        yield item
        return
    for recipient in recipients:
        if isinstance(recipient, dict):
            yield {
                "email": recipient.get("emailAddress"),
                "event": item.get("notificationType") or item.get("eventType"),
                "bounce type": bounce.get("bounceType"),
                "bounce classification": bounce.get("bounceSubType"),
                "status": recipient.get("status"),
                "diagnostic": recipient.get("diagnosticCode"),
                "time": bounce.get("timestamp"),
            }


def _bounce_of(
    row: Mapping[str, Any], columns: Mapping[str, str], now: datetime
) -> Bounce | None:
    """Return the bounce of *row*; ``None`` if it reports another event.

    Raises:
        BadRow: It should report one, and does not.
    """
    texts = {field: _text(row.get(column)) for field, column in columns.items()}
    what = {field: _SIGNS.sub("", texts.get(field, "").lower()) for field in _SAYING_WHAT}
    words = set(what.values())
    if words & _KINDS["no_bounce"]:
        return None
    if what["type"] != "bounce" or words & _KINDS["undecided"]:
        words.discard("bounce")
    return make_bounce(
        address=texts.get("address", ""),
        at=_time(texts["at"], columns["at"], now) if texts.get("at") else None,
        codes=(texts.get("status", ""), texts.get("code", "")),
        diagnostic=texts.get("diagnostic", ""),
        tool_word=next((each for each in _STRONGEST_FIRST if words & _KINDS[each.value]), None),
    )


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
