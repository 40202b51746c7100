"""Files of bounces, read row by row: CSV, TSV, JSON, JSON lines, a mail or a box of mails.

What a file is its name says (``.csv``, ``.tsv``, ``.json``, ``.jsonl``, ``.eml``, ``.mbox``,
each also ``.gz``), else its beginning.  Text is in UTF-8 or UTF-16, as its bytes say; between
the cells of a CSV stand commas, semicolons, tabs or bars.

A list counts on the word of the operator who gives it.  A mail counts only with proof that the
message that it returns was sent to that recipient (`cs.operations.bounces.sent_messages`):
anybody can send mail to the mailbox where bounces arrive.
"""

import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO

import msgspec

from cs.domain.mail.bounce import Bounce
from cs.operations.bounces.notifications import rows_of
from cs.operations.bounces.rows import BadRow, bounce_of, columns_of
from cs.operations.bounces.sent_messages import SentMessages
from cs.operations.bounces.status_mail import READ_BYTES, Unproven, bounces_of
from cs.runtime.csv_records import records
from cs.runtime.table_text import (
    DELIMITERS,
    find_header,
    guessed_encoding,
    json_objects,
    open_bounded,
)

Format = Literal["csv", "tsv", "json", "jsonl", "eml", "mbox"]
FORMATS: tuple[Format, ...] = ("csv", "tsv", "json", "jsonl", "eml", "mbox")

#: A larger file, or one of more rows or lines, is no list of bounces.
MOST_BYTES = 1 << 30
MOST_ROWS = 1_000_000
MOST_LINES = 5_000_000
#: A JSON file is read whole; larger ones come as JSON lines.
_LONGEST_JSON = 8 << 20
_LONGEST_LINE = 1 << 16
_BEGINNING = 4096
_NAMES: Mapping[str, Format] = {
    **{f".{name}": name for name in FORMATS},
    ".ndjson": "jsonl",
    ".tab": "tsv",
    ".mbx": "mbox",
}
#: One row: a bounce, what is wrong with it, or ``None``: something else happened.
Row = Bounce | Unproven | str | None
_GIVE_SENT = (
    "give --sent FILE, with a line `message-id,recipient` for each message that you sent; a "
    "list from your own provider (CSV, JSON) needs none"
)
_BROKEN = (OSError, EOFError, zlib.error, UnicodeDecodeError)


class BadFile(Exception):
    """The file tells of no bounces, for a reason that is told."""


class ProofNeeded(BadFile):
    """Mails are given without the messages that were sent."""


class BounceFile:
    """The bounces in *path*, read once and never held.

    Args:
        path: Which file.
        now: When it is read.
        form: What it is, if it is not what its name says.
        sent: The messages that were sent; mails are read only with them.

    Attributes:
        form: What it is.
        columns: By field the column that holds it; of a table, and of the first JSON line.

    Raises:
        BadFile: It cannot be read, or no column of it holds addresses.
        ProofNeeded: It holds mails, and *sent* is ``None``.
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
        self.columns: dict[str, str] = {}
        try:
            with self._opened() as file:
                beginning = file.read(_BEGINNING)
            self._encoding = guessed_encoding(beginning)
            self.form: Format = form or _form_of(path, _as_utf8(beginning, self._encoding))
            self._delimiter, self._skipped = "\t" if self.form == "tsv" else ",", 0
            if self.form in {"csv", "tsv"}:
                self._read_header()
        except (*_BROKEN, ValueError) as error:
            raise BadFile(f"{path}: {_reason(error)}") from error
        if sent is None and self.form in {"eml", "mbox"}:
            raise ProofNeeded(f"{path} holds mails, which anybody can forge: {_GIVE_SENT}")

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield what each row tells with its number, from 1; of mails, of each recipient.

        Raises:
            BadFile: From here on it cannot be read.
        """
        try:
            for count, row in enumerate(self._rows()):
                if count == MOST_ROWS:
                    raise BadFile(f"{self._path}: it has more than {MOST_ROWS} rows: split it")
                yield row
        except _BROKEN as error:
            raise BadFile(f"{self._path}: {_reason(error)}") from error

    def _rows(self) -> Iterator[tuple[int, Row]]:
        with self._opened() as file:
            match self.form:
                case "csv" | "tsv":
                    yield from self._table(file)
                case "json" | "jsonl":
                    yield from self._objects(file)
                case "eml" | "mbox":
                    yield from self._mails(file)

    def _opened(self) -> BinaryIO:
        return open_bounded(self._path, MOST_BYTES, MOST_LINES)

    def _read_header(self) -> None:
        with self._opened() as file, self._text(file, "surrogateescape") as text:
            between = "\t" if self.form == "tsv" else DELIMITERS
            header = find_header(text, _named, between)
        if header is None:
            raise ValueError("it is empty, or its first lines are no table")
        # Other rows may have wrong bytes: they cost no more than a sign.
        "".join(header.cells).encode(errors="surrogateescape").decode()
        self._delimiter, self._skipped = header.delimiter, header.skipped
        self.columns = columns_of(header.cells)
        if "address" not in self.columns:
            raise ValueError("no column is called email, recipient or address")

    def _text(self, file: BinaryIO, errors: str, newline: str = "") -> TextIO:
        utf8 = self._encoding.startswith("utf-8")
        if not utf8 and errors == "surrogateescape":
            errors = "strict"  # the other one knows single bytes
        encoding = "utf-8-sig" if utf8 else self._encoding
        return io.TextIOWrapper(file, encoding, errors=errors, newline=newline)

    def _table(self, file: BinaryIO) -> Iterator[tuple[int, Row]]:
        with self._text(file, "replace") as text:
            found = islice(records(text, self._delimiter), self._skipped, None)
            _, names = next(found)
            for number, (_, cells) in enumerate(found, 1):
                if isinstance(cells, str):
                    yield number, cells
                else:
                    yield number, self._row(dict(zip(names, cells, strict=False)), self.columns)

    def _objects(self, file: BinaryIO) -> Iterator[tuple[int, Row]]:
        for number, item in enumerate(self._items(file), 1):
            if isinstance(item, str):
                yield number, item
                continue
            for row in rows_of(item):
                columns = columns_of(row)
                self.columns = self.columns or columns
                yield number, self._row(row, columns)

    def _items(self, file: BinaryIO) -> Iterator[Mapping[str, Any] | str]:
        if self.form == "json":
            yield from _whole(file, self._encoding)
            return
        with self._text(file, "surrogateescape") as text:
            for _, item in json_objects(text):
                yield item

    def _mails(self, file: BinaryIO) -> Iterator[tuple[int, Row]]:
        mails = _split(file) if self.form == "mbox" else iter([file.read(READ_BYTES)])
        for number, mail in enumerate(mails, 1):
            for row in bounces_of(mail, self._now, self._sent):
                yield number, row

    def _row(self, row: Mapping[str, Any], columns: Mapping[str, str]) -> Row:
        try:
            return bounce_of(row, columns, self._now)
        except BadRow as error:
            return str(error)


def rows_in(body: bytes, now: datetime) -> Iterator[Bounce | str | None]:
    """Yield what each row tells of *body*: a JSON object, or an array of them.

    An object ``{"bounces": [...]}`` stands for its array.

    Raises:
        ValueError: It is neither.
    """
    for item in _objects_in(body):
        if isinstance(item, str):
            yield item
            continue
        for row in rows_of(item):
            try:
                yield bounce_of(row, columns_of(row), now)
            except BadRow as error:
                yield str(error)


def _form_of(path: Path, beginning: bytes) -> Format:
    name = path.name.lower().removesuffix(".gz")
    by_name = _NAMES.get(Path(name).suffix)
    if by_name is not None:
        return by_name
    start = beginning.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"From "):
        return "mbox"
    if start.startswith(b"["):
        return "json"
    if start.startswith(b"{"):
        return "jsonl"
    first = start.partition(b"\n")[0]
    name_of_field = first.partition(b":")[0]
    if b":" in first and name_of_field and not set(b' ,;\t"') & set(name_of_field):
        return "eml"
    return "tsv" if b"\t" in first else "csv"


def _named(cells: Sequence[str]) -> int:
    """Return how many columns *cells* name; 0 if none of them holds addresses."""
    columns = columns_of(cells)
    return len(columns) if "address" in columns else 0


def _as_utf8(data: bytes, encoding: str) -> bytes:
    """Return *data*, which may end within a character."""
    if encoding.startswith("utf-8"):
        return data
    return data.decode(encoding, errors="replace").lstrip("\ufeff").encode(errors="replace")


def _whole(file: BinaryIO, encoding: str) -> Iterator[Mapping[str, Any] | str]:
    data = file.read(_LONGEST_JSON + 1)
    if len(data) > _LONGEST_JSON:
        raise OSError(f"longer than {_LONGEST_JSON >> 20} MiB: write it as JSON lines")
    try:
        yield from _objects_in(_as_utf8(data, encoding).removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        raise OSError(str(error)) from error


def _objects_in(data: bytes) -> Iterator[Mapping[str, Any] | str]:
    try:
        whole = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no JSON: {error}") from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if isinstance(whole, dict) and isinstance(whole.get("bounces"), list):
        whole = whole["bounces"]
    if not isinstance(whole, list | dict):
        raise ValueError("it is no JSON object or array of them")  # noqa: TRY004
    for item in whole if isinstance(whole, list) else [whole]:
        yield item if isinstance(item, dict) else "it is no JSON object"


def _split(file: BinaryIO) -> Iterator[bytes]:
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


def _reason(error: Exception) -> str:
    match error:
        case UnicodeDecodeError(encoding=encoding):
            return f"it is not {'UTF-8' if encoding.startswith('utf-8') else encoding.upper()}"
        case OSError(strerror=str(why)):
            return why
        case _:
            return str(error)
