"""A file of people or companies: its columns, and its rows one by one.

CSV and JSON lines may be gzipped.  A row that cannot be read costs itself alone, and no message
repeats a cell.
"""

import io
import re
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, TypeVar

from cs.runtime.csv_records import records
from cs.runtime.table_text import (
    HEAD_BYTES,
    find_header,
    guessed_encoding,
    json_objects,
    open_bounded,
)
from cs.sources.tables.parquet import BadParquet, parquet_columns, parquet_rows

#: The largest open company files have fewer rows.
MOST_BYTES = 32 << 30
MOST_ROWS = 50_000_000
#: Rows of JSON whose names are the columns.
_JSON_ROWS = 100
_SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_WORDS_MEET = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = re.compile(r"[\s_\-./]+")
_BETWEEN_CELLS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

#: By kind of file and field, the names of its column (`columns.toml`).
FIELDS: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(
    Path(__file__).with_name("columns.toml").read_text()
)

Cells = Mapping[str, Any]
T = TypeVar("T")


class BadFile(Exception):
    """The file cannot be read, or not as what it is asked for."""


class BadRow(ValueError):
    """A row of no use; the message says what to do and repeats no cell."""


class TableKind(NamedTuple):
    """The kind of rows that a file should hold.

    Attributes:
        fields: By field, the names that its column may have.
        lacking: Returns which column is missing that a row needs; ``None``: none is.
    """

    fields: Mapping[str, Sequence[str]]
    lacking: Callable[[Mapping[str, str]], str | None]


class TableFile:
    """The rows of *path*, read once and never held.

    Args:
        path: Of the file; its name and first bytes say what it is.
        kind: The kind of rows that it should hold.
        chosen: By field the column that the operator named for it; empty: none.
        encoding: Of text; guessed if ``None``: UTF-8, or UTF-16 where the bytes say so.

    Attributes:
        columns: By field the column that holds it.
        unused: The other columns.
        form: The format it is read as, for people.

    Raises:
        BadFile: It cannot be read, or lacks a column that every row needs.
    """

    def __init__(
        self,
        path: Path,
        kind: TableKind,
        chosen: Mapping[str, str] | None = None,
        encoding: str | None = None,
    ) -> None:
        self._path, self._kind = path, kind
        self._delimiter, self._skipped = ",", 0
        header: Sequence[str]
        with self._translated():
            if path.stat().st_size > MOST_BYTES:
                raise BadFile(f"{path} is larger than {MOST_BYTES // 2**30} GiB")
            form = self._format_of(path.name.lower().removesuffix(".gz"))
            with self._opened() as file:
                self._encoding = encoding or guessed_encoding(file.read(HEAD_BYTES))
            match form:
                case "parquet":
                    header, self.form = parquet_columns(path), "Parquet"
                    self._read_rows = self._parquet_rows
                case "json":
                    names = (
                        () if isinstance(row, str) else row
                        for _, row in islice(self._json_rows(), _JSON_ROWS)
                    )
                    header = list(dict.fromkeys(chain.from_iterable(names)))
                    self.form = f"JSON lines, {self._encoding}"
                    self._read_rows = self._json_rows
                case _:
                    header = self._csv_header(chosen)
                    self.form = f"CSV with {_BETWEEN_CELLS[self._delimiter]}, {self._encoding}"
                    self._read_rows = self._csv_rows
            self.columns = columns_of(header, kind.fields, chosen)
        self.unused = [each for each in header if each not in self.columns.values()]
        if missing := kind.lacking(self.columns):
            raise BadFile(
                f"{path} lacks {missing}; of its {len(header)} columns these are known: "
                f"{', '.join(self.columns.values()) or 'none'}"
            )

    def read(self, parse: Callable[[Cells], T]) -> Iterator[tuple[int, T | str]]:
        """Yield each row with its line, from 1: what *parse* makes of it, or what is wrong.

        Args:
            parse: Gets the cells by field; raises `BadRow`.

        Raises:
            BadFile: From here on the file cannot be read.
        """
        for line, row in self.rows():
            if isinstance(row, str):
                yield line, row
                continue
            given = {field: row.get(column) for field, column in self.columns.items()}
            try:
                yield line, parse(given)
            except BadRow as error:
                yield line, str(error)

    def rows(self) -> Iterator[tuple[int, Cells | str]]:
        """Yield each row with its line, from 1: its cells by column, or what is wrong with it.

        Raises:
            BadFile: From here on the file cannot be read.
        """
        with self._translated():
            for count, row in enumerate(self._read_rows()):
                if count == MOST_ROWS:
                    raise BadFile(f"{self._path} has more than {MOST_ROWS} rows: split it")
                yield row

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (_BadColumns, BadParquet) as error:
            raise BadFile(f"{self._path}: {error}") from error
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadFile(f"{self._path}: {why}") from error
        except (LookupError, UnicodeError) as error:
            raise BadFile(
                f"{self._path}: {error}; say its encoding, such as --encoding cp1252"
            ) from error

    def _format_of(self, name: str) -> str:
        with self._opened() as file:
            head = file.read(4)
        if not head:
            raise BadFile(f"{self._path} is empty")
        if name.endswith((".xlsx", ".xls", ".ods")) or head in _SPREADSHEETS:
            raise BadFile(f"{self._path} is a spreadsheet: save it as CSV UTF-8")
        if head == b"PAR1":
            if self._path.suffix.lower() == ".gz":
                raise BadFile(f"{self._path}: unpack it first, Parquet is packed by itself")
            return "parquet"
        if name.endswith(".parquet"):
            raise BadFile(f"{self._path} is no Parquet file")
        if head[:1] == b"[" and name.endswith(".json"):
            raise BadFile(f"{self._path} is one array: write an object a line (jq -c '.[]')")
        if name.endswith((".jsonl", ".ndjson", ".json")) or head[:1] == b"{":
            return "json"
        return "csv"

    def _opened(self) -> BinaryIO:
        return open_bounded(self._path, MOST_BYTES, MOST_ROWS)

    @contextmanager
    def _text(self) -> Iterator[TextIO]:
        # Undecodable bytes are kept as such, so that only the rows with them are refused.
        errors = "surrogateescape" if self._encoding.startswith("utf-8") else "replace"
        with (
            self._opened() as file,
            io.TextIOWrapper(file, self._encoding, errors=errors, newline="") as text,
        ):
            yield text

    def _csv_header(self, chosen: Mapping[str, str] | None) -> Sequence[str]:
        """Return the line that names enough columns, else the first one."""

        def recognized(cells: Sequence[str]) -> int:
            try:
                found = columns_of(map(_heading, cells), self._kind.fields, chosen)
            except _BadColumns:
                return 0
            return 0 if self._kind.lacking(found) else len(found)

        with self._text() as text:
            header = find_header(text, recognized)
        if header is None:
            raise BadFile(f"{self._path}: its first lines name no columns")
        self._delimiter, self._skipped = header.delimiter, header.skipped
        return [_heading(cell) for cell in header.cells]

    def _csv_rows(self) -> Iterator[tuple[int, Cells | str]]:
        with self._text() as text:
            found = islice(records(text, self._delimiter), self._skipped, None)
            _, header = next(found)
            names = [_heading(cell) for cell in header]
            for line, cells in found:
                if isinstance(cells, str):
                    yield line, cells
                elif any(each.strip() for each in cells[len(names) :]):
                    yield line, f"{len(cells)} cells for {len(names)} columns: quote the commas"
                elif any(each.strip() for each in cells):
                    yield line, dict(zip(names, cells, strict=False))

    def _json_rows(self) -> Iterator[tuple[int, Cells | str]]:
        with self._text() as text:
            yield from json_objects(text)

    def _parquet_rows(self) -> Iterator[tuple[int, Cells | str]]:
        yield from enumerate(parquet_rows(self._path, list(self.columns.values())), 1)


class _BadColumns(ValueError):
    """The operator chose a field or a column that does not exist."""


def columns_of(
    header: Iterable[str],
    fields: Mapping[str, Sequence[str]],
    chosen: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return by field the column of *header* that holds it; fields without one are left out.

    >>> columns_of(["First Name", "Person Linkedin Url", "# Employees"], FIELDS["people"])
    {'first_name': 'First Name', 'profile': 'Person Linkedin Url'}
    """
    columns = [column for column in header if column]
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(_plain(column), column)
    for column in columns:  # "LinkedIn" is one word, "profileUrl" is two
        by_name.setdefault(_plain(_WORDS_MEET.sub(" ", column)), column)
    found = {
        field: by_name[name]
        for field, names in fields.items()
        if (name := next((each for each in names if each in by_name), None)) is not None
    }
    for field, column in (chosen or {}).items():
        if field not in fields:
            raise _BadColumns(f"no field is called {field}; there are {', '.join(fields)}")
        if not column:
            found.pop(field, None)
            continue
        known = {each.strip(): each for each in columns} | {each: each for each in columns}
        named = known.get(column) or by_name.get(_plain(column))
        if named is None:
            raise _BadColumns(f"none of the {len(columns)} columns is called {column}")
        found[field] = named
    return found


def batches(found: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield *found* in lists of *size*, the last with what is left."""
    left = iter(found)
    while batch := list(islice(left, size)):
        yield batch


def cell_text(value: object) -> str:
    """Return the text of a cell on one line.

    Raises:
        BadRow: It is not one text.
    """
    if value is None:
        return ""
    if isinstance(value, dict | list | tuple | bytes):
        raise BadRow("a cell holds a list, an object or bytes: give one text")
    text = value.isoformat() if isinstance(value, date) else str(value)
    return " ".join(_CONTROLS.sub(" ", text).split())


def as_url(text: str) -> str:
    """Return *text*, an address with or without its scheme, as an address."""
    return text if "://" in text or not text else f"https://{text}"


def _plain(column: str) -> str:
    """Return *column* as `FIELDS` has it.

    >>> _plain("LinkedIn_URL"), _plain("E-mail Address ")
    ('linkedin url', 'e mail address')
    """
    return _BETWEEN.sub(" ", _heading(column)).strip().lower()


def _heading(cell: str) -> str:
    return cell.strip().lstrip("\ufeff").strip()
