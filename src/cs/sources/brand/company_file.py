"""Large company files, read row by row: CSV, TSV or JSON lines, plain or gzipped."""

import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from cs.runtime.csv_records import records
from cs.runtime.table_text import json_objects, open_bounded
from cs.sources.brand.company_rows import BadRow, Company, columns_of, company_of

#: All companies of the world are fewer.
MOST_BYTES = 32 << 30
MOST_LINES = 50_000_000


class BadFile(Exception):
    """The file holds no companies, for a reason that is told."""


class CompanyFile:
    """The companies in *path*, read once and never held.

    Attributes:
        columns: By field of a company the column that holds it.

    Raises:
        BadFile: It cannot be read, or no column of it holds names.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        name = path.name.lower().removesuffix(".gz")
        self._json = name.endswith((".jsonl", ".ndjson"))
        self._separator = "\t" if name.endswith((".tsv", ".tab")) else ","
        with self._opened() as text:
            self.columns = columns_of(self._header(text))
        if "name" not in self.columns:
            raise BadFile(f"{path}: no column is called name, company name or Entity.LegalName")

    def rows(self) -> Iterator[tuple[int, Company | str]]:
        """Yield each row with its number, from 1: a company, or what is wrong with it."""
        with self._opened() as text:
            for number, row in enumerate(self._read(text), 1):
                yield number, row if isinstance(row, str) else self._company(row)

    def _company(self, row: Mapping[str, Any]) -> Company | str:
        try:
            return company_of(row, self.columns)
        except BadRow as error:
            return str(error)

    @contextmanager
    def _opened(self) -> Iterator[TextIO]:
        errors = "surrogateescape" if self._json else "replace"
        try:
            with (
                open_bounded(self._path, MOST_BYTES, MOST_LINES) as file,
                io.TextIOWrapper(file, "utf-8-sig", errors, newline="") as text,
            ):
                yield text
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or error
            raise BadFile(f"{self._path}: {why}") from error

    def _header(self, text: TextIO) -> list[str]:
        """Return the names of the columns, which are those of the first row."""
        found = json_objects(text) if self._json else records(text, self._separator)
        _, first = next(iter(found), (1, "it is empty"))
        if isinstance(first, str):
            raise BadFile(f"{self._path}: its first line says no columns: {first}")
        return list(first)

    def _read(self, text: TextIO) -> Iterator[Mapping[str, Any] | str]:
        """Yield each row by its columns, or why it is none."""
        if self._json:
            for _, row in json_objects(text):
                yield row
            return
        found = records(text, self._separator)
        _, names = next(found)
        for _, cells in found:
            if isinstance(cells, str):
                yield cells
            else:
                yield dict(zip(names, cells, strict=False))
