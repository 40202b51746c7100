"""Files of people, read row by row: CSV, JSON lines or Parquet, the first two also gzipped."""

import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from cs.runtime.csv_records import records
from cs.runtime.table_text import (
    HEAD_BYTES,
    find_header,
    guessed_encoding,
    json_objects,
    open_bounded,
)
from cs.sources.people_directory.columns import BadColumns, columns_of, lacking
from cs.sources.people_directory.parquet_rows import BadParquet, names_of, rows_of

#: A larger file is no list of people that one operator has.
MOST_BYTES = 8 * 2**30
MOST_ROWS = 10_000_000
#: Rows of JSON whose names are the columns.
_JSON_ROWS = 100


class BadFile(Exception):
    """The file holds no people, for a reason that is told."""


class PeopleFile:
    """The people in *path*, read once and never held.

    Args:
        path: Of the file; what it is, its name says.
        chosen: By field the column that somebody named for it (`columns_of`).
        encoding: Of text; guessed if ``None``: UTF-8, or UTF-16 where the bytes say so.

    Attributes:
        columns: By field of a person the column that holds it.
        unused: The other columns.
        form: What it is read as, for people.

    Raises:
        BadFile: It cannot be read, or no person can be read from its columns.
    """

    def __init__(
        self,
        path: Path,
        chosen: Mapping[str, str] | None = None,
        encoding: str | None = None,
    ) -> None:
        self._path = path
        name = path.name.lower().removesuffix(".gz")
        with self._told():
            if path.stat().st_size > MOST_BYTES:
                raise BadFile(f"{path} is larger than {MOST_BYTES // 2**30} GiB")
            self._kind = self._kind_of(name)
            self._encoding = encoding or self._guessed_encoding()
            self._delimiter, self._skipped = ",", 0
            header = self._header(chosen)
            self.columns = columns_of(header, chosen)
            self.unused = [each for each in header if each not in self.columns.values()]
            self.form = self._form()
        if missing := lacking(self.columns):
            raise BadFile(
                f"{path} lacks {missing}; of its {len(header)} columns these are known: "
                f"{', '.join(self.columns.values()) or 'none'}"
            )

    def rows(self) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
        """Yield each row with its line, from 1: by column what is there, or what is wrong.

        Raises:
            BadFile: From here on it cannot be read.
        """
        with self._told():
            for count, row in enumerate(self._rows()):
                if count == MOST_ROWS:
                    raise BadFile(f"{self._path} has more than {MOST_ROWS} rows: split it")
                yield row

    def _rows(self) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
        match self._kind:
            case "parquet":
                yield from enumerate(rows_of(self._path, list(self.columns.values())), 1)
            case "json":
                yield from self._json_rows()
            case _:
                yield from self._csv_rows()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (BadColumns, BadParquet) as error:
            raise BadFile(f"{self._path}: {error}") from error
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadFile(f"{self._path}: {why}") from error
        except (LookupError, UnicodeError) as error:
            raise BadFile(
                f"{self._path}: {error}; say its encoding, such as --encoding cp1252"
            ) from error

    def _kind_of(self, name: str) -> str:
        with self._opened() as file:
            head = file.read(4)
        if not head:
            raise BadFile(f"{self._path} is empty")
        if name.endswith((".xlsx", ".xls", ".ods")) or head in (
            b"PK\x03\x04",
            b"\xd0\xcf\x11\xe0",
        ):
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

    def _guessed_encoding(self) -> str:
        with self._opened() as file:
            return guessed_encoding(file.read(HEAD_BYTES))

    def _text(self, file: BinaryIO) -> TextIO:
        # Wrong bytes are kept as such, so that only the rows with them are refused.
        errors = "surrogateescape" if self._encoding.startswith("utf-8") else "replace"
        return io.TextIOWrapper(file, self._encoding, errors=errors, newline="")

    def _form(self) -> str:
        if self._kind == "parquet":
            return "Parquet"
        if self._kind == "json":
            return f"JSON lines, {self._encoding}"
        between = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
        return f"CSV with {between[self._delimiter]}, {self._encoding}"

    def _header(self, chosen: Mapping[str, str] | None) -> Sequence[str]:
        match self._kind:
            case "parquet":
                return names_of(self._path)
            case "json":
                names: dict[str, None] = {}
                for _, row in islice(self._json_rows(), _JSON_ROWS):
                    names |= dict.fromkeys(() if isinstance(row, str) else row)
                return list(names)
            case _:
                return self._csv_header(chosen)

    def _csv_header(self, chosen: Mapping[str, str] | None) -> Sequence[str]:
        """Return the line that names the columns: the one that a person can be read from.

        Else the first one.
        """
        with self._opened() as file, self._text(file) as text:
            header = find_header(text, lambda cells: _recognized(cells, chosen))
        if header is None:
            raise BadFile(f"{self._path}: its first lines name no columns")
        self._delimiter, self._skipped = header.delimiter, header.skipped
        return [cell.strip().lstrip("\ufeff") for cell in header.cells]

    def _csv_rows(self) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
        with self._opened() as file, self._text(file) as text:
            found = islice(records(text, self._delimiter), self._skipped, None)
            _, header = next(found)
            names = [cell.strip().lstrip("\ufeff") for cell in header]
            for line, cells in found:
                if isinstance(cells, str):
                    yield line, cells
                elif len(cells) > len(names) and any(
                    each.strip() for each in cells[len(names) :]
                ):
                    yield line, f"{len(cells)} cells for {len(names)} columns: quote the commas"
                elif any(each.strip() for each in cells):
                    yield line, dict(zip(names, cells, strict=False))

    def _json_rows(self) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
        with self._opened() as file, self._text(file) as text:
            yield from json_objects(text)


def _recognized(cells: Sequence[str], chosen: Mapping[str, str] | None) -> int:
    """Return how many fields of a person *cells* name; 0 if they are not enough."""
    header = [cell.strip() for cell in cells]
    try:
        found = columns_of(header, chosen)
    except BadColumns:
        return 0
    return 0 if lacking(found) else len(found)
