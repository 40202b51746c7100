"""Bounces read from files and request bodies, row by row: tables, JSON bodies, mails.

A list is trusted, since the operator provides it.  A mail counts only with proof that the
message that it returns was sent to that recipient (`cs.operations.bounces.status_mail`): anyone
can send mail to the mailbox where bounces arrive.
"""

import re
import tomllib
import zlib
from collections.abc import Iterator, Mapping
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
_LONGEST_LINE = 1 << 16
_MOST_COLUMNS = 1_000
#: Any other file is a table.
_MAILS = {".eml": "mail", ".mbox": "mailbox", ".mbx": "mailbox"}

_SIGNS = re.compile(r"[^a-z0-9]+")
_WORDS = tomllib.loads((files(__package__) / "reports.toml").read_text("utf-8"))
_COLUMNS = _WORDS["columns"]
_KINDS = {
    kind: {_SIGNS.sub("", word) for word in words} for kind, words in _WORDS["kinds"].items()
}
#: Of several words for a bounce, the one with the least effect counts.
_STRONGEST_FIRST = (ToolWord.BLOCK, ToolWord.SOFT, ToolWord.HARD)
#: Fields that may name the kind of the event.
_SAYING_WHAT = ("event", "type", "class", "status")
_TABLE = TableKind(
    _COLUMNS,
    lambda found: None if "address" in found else "a column email, recipient or address",
)
_SENT = TableKind(
    _WORDS["sent"],
    lambda found: (
        None if len(found) == len(_WORDS["sent"]) else "columns message-id and recipient"
    ),
)
#: One row: a bounce, an unproven one, an error, or ``None`` for another event.
Row = Bounce | Unproven | str | None


class BounceFile:
    """The bounces in *path*, read once and never held.

    Args:
        path: The file; mails by its name, else a table. It may be packed (``.gz``).
        now: The time it is read.
        sent: The messages that were sent; mails are read only with them.

    Attributes:
        form: Its form, for people.
        columns: By field the column that holds it; of a table.

    Raises:
        BadFile: It cannot be read, no column of it holds addresses, or it holds mails and
            *sent* is ``None``.
    """

    def __init__(self, path: Path, now: datetime, sent: SentMessages | None = None) -> None:
        self._path = path
        self._now = now
        self._sent = sent or SentMessages()
        self._table: TableFile | None = None
        suffix = Path(path.name.lower().removesuffix(".gz")).suffix
        self.form = _MAILS.get(suffix, "table")
        if self.form == "table":
            self._table = TableFile(path, _TABLE)
        elif sent is None:
            raise BadFile(
                f"{path} holds mails, which anybody can forge: give --sent FILE, with a line "
                "`message-id,recipient` for each message that you sent; a list from your own "
                "provider (CSV) needs none"
            )
        self.columns = self._table.columns if self._table is not None else {}

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield each row with its line; of mails, with the number of the mail.

        Raises:
            BadFile: The rest cannot be read.
        """
        for count, row in enumerate(self._rows()):
            if count == MOST_ROWS:
                raise BadFile(f"{self._path}: it has more than {MOST_ROWS} rows: split it")
            yield row

    def _rows(self) -> Iterator[tuple[int, Row]]:
        if self._table is not None:
            for line, cells in self._table.rows():
                yield line, _read(cells, self._now, self.columns)
            return
        try:
            with open_bounded(self._path, MOST_BYTES, MOST_LINES) as file:
                is_box = self.form == "mailbox"
                mails = _mails_of(file) if is_box else [file.read(READ_BYTES)]
                for number, mail in enumerate(mails, 1):
                    for row in bounces_of(mail, self._now, self._sent):
                        yield number, row
        except (OSError, EOFError, zlib.error) as error:
            raise BadFile(
                f"{self._path}: {getattr(error, 'strerror', None) or error}"
            ) from error


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
    """Yield the rows of *body*: a JSON array of objects, or ``{"bounces": [...]}``.

    Raises:
        ValueError: It is none of these.
    """
    try:
        items = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no JSON: {error}") from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if isinstance(items, dict):
        items = items.get("bounces")
    if not isinstance(items, list):
        raise ValueError("it is no JSON array of objects")  # noqa: TRY004
    for item in items:
        if isinstance(item, dict):
            yield _read(item, now, columns_of(islice(item, _MOST_COLUMNS), _COLUMNS))
        else:
            yield "it is no JSON object"


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


def _read(
    cells: Mapping[str, Any] | str, now: datetime, columns: Mapping[str, str]
) -> Bounce | str | None:
    if isinstance(cells, str):
        return cells
    try:
        return _bounce_of(cells, columns, now)
    except BadRow as error:
        return str(error)


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
