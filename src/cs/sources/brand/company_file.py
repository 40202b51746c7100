"""Large company files, read row by row: CSV, TSV or JSON lines, plain or gzipped."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from cs.sources.brand.company_rows import BadRow, Company, columns_of, company_of

#: The first lines tell the columns; a longer line is no row of a company.
_HEADER_BYTES = 1 << 20
_LONGEST_LINE = 1 << 20


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
        with self._opened() as file:
            self.columns = columns_of(self._header(file))
        if "name" not in self.columns:
            raise BadFile(f"{path}: no column is called name, company name or Entity.LegalName")

    def rows(self) -> Iterator[tuple[int, Company | str]]:
        """Yield each row with its number, from 1: a company, or what is wrong with it."""
        with self._opened() as file:
            try:
                for number, row in enumerate(self._read(file), 1):
                    yield number, row if isinstance(row, str) else self._company(row)
            except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
                raise BadFile(f"{self._path}: {error}") from error

    def _company(self, row: Mapping[str, Any]) -> Company | str:
        try:
            return company_of(row, self.columns)
        except BadRow as error:
            return str(error)

    def _opened(self) -> BinaryIO:
        try:
            packed = self._path.suffix.lower() == ".gz"
            opened = gzip.open(self._path) if packed else self._path.open("rb")  # noqa: SIM115
        except OSError as error:
            raise BadFile(f"{self._path}: {error.strerror or error}") from error
        return opened  # type: ignore[return-value]  # a GzipFile reads as one

    def _header(self, file: BinaryIO) -> list[str]:
        try:
            line = file.readline(_HEADER_BYTES).decode("utf-8-sig")
            if self._json:
                return list(msgspec.json.decode(line, type=dict[str, Any]))
            (header, *_) = csv.reader([line], delimiter=self._separator)
        except (
            OSError,
            EOFError,
            zlib.error,
            csv.Error,
            RecursionError,
            UnicodeDecodeError,
            msgspec.DecodeError,
            ValueError,
        ) as error:
            raise BadFile(f"{self._path}: its first line says no columns: {error}") from error
        return header

    def _read(self, file: BinaryIO) -> Iterator[Mapping[str, Any] | str]:
        """Yield each row by its columns, or why it is none."""
        if self._json:
            yield from map(_object, _lines(file))
            return
        with io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="") as text:
            reader = csv.DictReader(text, delimiter=self._separator)
            while True:
                try:
                    row = next(reader, None)
                except csv.Error as error:
                    yield str(error)
                    continue
                if row is None:
                    return
                yield row


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE):
        if line.strip():
            yield line


def _object(line: bytes) -> Mapping[str, Any] | str:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"no JSON object: {error}"
