"""Files of bounces, read row by row: tables, JSON, a mail or a box of mails.

The form is known by the name (``.csv``, ``.tsv``, ``.json``, ``.jsonl``, ``.parquet``,
``.eml``, ``.mbox``, most of them also ``.gz``), else by the beginning.

A list counts on the word of the operator who gives it.  A mail counts only with proof that the
message that it returns was sent to that recipient (`cs.operations.bounces.status_mail`):
anybody can send mail to the mailbox where bounces arrive.
"""

import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from cs.domain.mail.bounce import Bounce
from cs.operations.bounces.rows import FIELDS, bounce_of, rows_of
from cs.operations.bounces.status_mail import READ_BYTES, SentMessages, Unproven, bounces_of
from cs.runtime.table_text import guessed_encoding, open_bounded
from cs.sources.tables.table_file import BadFile, BadRow, TableFile, TableKind, columns_of

Format = Literal["csv", "tsv", "json", "jsonl", "parquet", "eml", "mbox"]

#: A larger file, or one of more rows or lines, is no list of bounces.
MOST_BYTES = 1 << 30
MOST_ROWS = 1_000_000
MOST_LINES = 5_000_000
#: A JSON file is read as one; larger ones come as JSON lines.
_LONGEST_JSON = 8 << 20
_LONGEST_LINE = 1 << 16
_MOST_COLUMNS = 1_000
_NAMES: Mapping[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".eml": "eml",
    ".mbox": "mbox",
    ".mbx": "mbox",
}
_BEGINNINGS: Mapping[bytes, Format] = {b"From ": "mbox", b"[": "json", b"{": "jsonl"}
_TABLE = TableKind(
    FIELDS, lambda found: None if "address" in found else "a column email, recipient or address"
)
#: Notifications nest the address: each object has columns of its own.
_LINES = TableKind(FIELDS, lambda _: None)
#: One row: a bounce, an unproven one, what is wrong with it, or ``None`` for another event.
Row = Bounce | Unproven | str | None


class BounceFile:
    """The bounces in *path*, read once and never held.

    Args:
        path: The file.
        now: The time it is read.
        form: Its form, if not the one of its name.
        sent: The messages that were sent; mails are read only with them.

    Attributes:
        form: Its form.
        columns: By field the column that holds it; of a table, and of JSON lines.

    Raises:
        BadFile: It cannot be read, no column of it holds addresses, or it holds mails and
            *sent* is ``None``.
    """

    def __init__(
        self,
        path: Path,
        now: datetime,
        form: Format | None = None,
        sent: SentMessages | None = None,
    ) -> None:
        self._path = path
        self._now = now
        self._sent = sent or SentMessages()
        self._table: TableFile | None = None
        self.form = form or _form_of(path)
        if self.form in {"eml", "mbox"}:
            if sent is None:
                raise BadFile(
                    f"{path} holds mails, which anybody can forge: give --sent FILE, with a "
                    "line `message-id,recipient` for each message that you sent; a list from "
                    "your own provider (CSV, JSON) needs none"
                )
        elif self.form != "json":
            self._table = TableFile(path, _LINES if self.form == "jsonl" else _TABLE)
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
            for line, cells in self._table.rows():
                columns = self.columns if self.form != "jsonl" else None
                yield from ((line, row) for row in _read(cells, self._now, columns))
            return
        try:
            with open_bounded(self._path, MOST_BYTES, MOST_LINES) as file:
                for number, item in enumerate(self._items(file), 1):
                    if isinstance(item, bytes):
                        found: Iterator[Row] = bounces_of(item, self._now, self._sent)
                    else:
                        found = _read(item, self._now)
                    for row in found:
                        yield number, row
        except (OSError, EOFError, zlib.error, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise BadFile(f"{self._path}: {why}") from error

    def _items(self, file: BinaryIO) -> Iterator[Mapping[str, Any] | str | bytes]:
        match self.form:
            case "mbox":
                yield from _mails_of(file)
            case "eml":
                yield file.read(READ_BYTES)
            case _:
                data = file.read(_LONGEST_JSON + 1)
                if len(data) > _LONGEST_JSON:
                    raise ValueError(f"longer than {_LONGEST_JSON >> 20} MiB: write JSON lines")
                text = data.decode(guessed_encoding(data), errors="replace")
                yield from _items_in(text.lstrip("\ufeff"))


def rows_in(body: bytes, now: datetime) -> Iterator[Bounce | str | None]:
    """Yield the rows of *body*: a JSON object, an array, or ``{"bounces": [...]}``.

    Raises:
        ValueError: It is none of these.
    """
    for item in _items_in(body):
        yield from _read(item, now)


def _read(
    item: Mapping[str, Any] | str, now: datetime, columns: Mapping[str, str] | None = None
) -> Iterator[Bounce | str | None]:
    """Yield the rows of *item*; without *columns* each has its own."""
    if isinstance(item, str):
        yield item
        return
    for row in [item] if columns else rows_of(item):
        found = columns or columns_of(islice(row, _MOST_COLUMNS), FIELDS)
        try:
            yield bounce_of(row, found, now)
        except BadRow as error:
            yield str(error)


def _form_of(path: Path) -> Format:
    by_name = _NAMES.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    if by_name is not None:
        return by_name
    try:
        with open_bounded(path, MOST_BYTES, MOST_LINES) as file:
            start = file.read(_LONGEST_LINE).lstrip(b"\xef\xbb\xbf \t\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    for sign, form in _BEGINNINGS.items():
        if start.startswith(sign):
            return form
    field, colon, _ = start.partition(b"\n")[0].partition(b":")
    return "eml" if colon and field and not set(b' ,;\t"') & set(field) else "csv"


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
