"""A list of brands as people keep it: CSV out of a spreadsheet, or a name a line."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cs.runtime.csv_records import records

#: A larger file is no list of brands: a key's limits allow so many in four years.
MAX_BYTES = 16 * 1024 * 1024
MAX_LINES = 100_000
_NAMES = ("brand", "domain")


class BadList(Exception):
    """The file cannot be read as a list of brands, or not be searched as it is."""


class Row(msgspec.Struct, frozen=True):
    """One brand of the list; *number* is its line, from 1."""

    number: int
    brand: str | None
    domain: str | None

    @property
    def query(self) -> tuple[str, str]:
        """Return what is the same for rows that ask for the same."""
        return (self.brand or "").casefold(), (self.domain or "").casefold()


def read_rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of *path* that name anything, each query once, in order.

    A first line with ``brand`` or ``domain`` in it names the columns; without one they
    are brand and domain.  Commas, semicolons and tabs separate, as the first line does.
    In a ``.txt`` every line is one brand, whatever is in it.

    Raises:
        BadList: It is no such file, or there is no brand in it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadList(f"{path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise BadList(f"{path} is larger than {MAX_BYTES // 2**20} MiB")
    rows: dict[tuple[str, str], Row] = {}
    try:
        text = data.decode("utf-8-sig")
        for row in _lines(text) if path.suffix.lower() == ".txt" else _records(text):
            rows.setdefault(row.query, row)
    except UnicodeDecodeError as error:
        raise BadList(f"{path} is not UTF-8; save it as CSV UTF-8") from error
    except BadList as error:
        raise BadList(f"{path}, {error}") from error
    if not rows:
        raise BadList(f"{path} names no brand")
    return tuple(rows.values())


def _records(text: str) -> Iterator[Row]:
    """Yield a row for each record of CSV that names anything."""
    separator = max(",;\t", key=text.partition("\n")[0].count)
    columns: dict[str, int] = {}
    for number, cells in records(io.StringIO(text, newline=""), separator):
        _check_number(number)
        if isinstance(cells, str):
            raise BadList(f"line {number}: {cells}")
        words = [" ".join(cell.split()) for cell in cells]
        if not any(words):
            continue
        if not columns:
            titles = [word.casefold() for word in words]
            columns = {name: titles.index(name) for name in _NAMES if name in titles}
            if columns:
                continue
            if any(words[len(_NAMES) :]):
                raise BadList(
                    f"line {number} has {len(cells)} columns, and none is called brand or "
                    "domain; name them in the first line"
                )
            columns = {name: n for n, name in enumerate(_NAMES)}
        named = dict(enumerate(words))
        brand, domain = (named.get(columns.get(name, -1)) or None for name in _NAMES)
        if brand or domain:
            yield Row(number, brand, domain)


def _lines(text: str) -> Iterator[Row]:
    """Yield a row for each line that is not blank."""
    first = True
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        _check_number(number)
        brand = " ".join(line.split())
        if first and set(_NAMES) <= set(re.split(r"\s*[,;\t ]\s*", brand.casefold())):
            raise BadList(f"line {number} names columns; a list with columns is called .csv")
        if brand:
            first = False
            yield Row(number, brand, None)


def _check_number(line: int) -> None:
    if line > MAX_LINES:
        raise BadList(f"it has more than {MAX_LINES} lines: split it")
