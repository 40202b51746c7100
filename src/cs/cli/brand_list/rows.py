"""A list of brands as people keep it: CSV out of a spreadsheet, or a name a line."""

import csv
import io
import re
from pathlib import Path

import msgspec

#: A file of more bytes or lines is no list of brands: a key's limits let so many through in
#: four years.
MAX_BYTES = 16 * 1024 * 1024
MAX_LINES = 100_000
_NAMES = ("brand", "domain")
#: What separates columns.
_BETWEEN = re.compile(r"\s*[,;\t ]\s*")
#: What the reader of CSV says, as people would.
_TOLD = {"unexpected end of data": "a quote is opened that nothing closes"}


class BadList(Exception):
    """The file cannot be read as a list of brands."""


class Row(msgspec.Struct, frozen=True):
    """One brand of the list; *number* is its line, from 1."""

    number: int
    brand: str | None
    domain: str | None

    @property
    def wish(self) -> tuple[str, str]:
        """Return what is the same for rows that ask for the same."""
        return (self.brand or "").casefold(), (self.domain or "").casefold()


def read_rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of *path* that name anything, each wish once, in order.

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
    if max(data.count(b"\n"), data.count(b"\r")) > MAX_LINES:
        raise BadList(f"{path} has more than {MAX_LINES} lines: split it")
    try:
        text = data.decode("utf-8-sig")
        rows = rows_of_lines(text) if path.suffix.lower() == ".txt" else rows_of(text)
    except UnicodeDecodeError as error:
        raise BadList(f"{path} is not UTF-8; save it as CSV UTF-8") from error
    except BadList as error:
        raise BadList(f"{path}, {error}") from error
    if not rows:
        raise BadList(f"{path} names no brand")
    return rows


def rows_of(text: str) -> tuple[Row, ...]:
    r"""Return the rows of a file that holds *text*; raises what `read_rows` raises.

    >>> [(row.number, row.brand, row.domain) for row in rows_of("Domain;Brand\nx.com;X Co\n")]
    [(2, 'X Co', 'x.com')]
    """
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    # Strictly, or a quote that nobody closed makes one brand of all that follows.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    places = {"brand": 0, "domain": 1}
    rows: dict[tuple[str, str], Row] = {}
    line, begun = 1, False
    try:
        for cells in reader:
            number, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            names = [cell.strip().casefold() for cell in cells]
            if not begun and set(_NAMES) & set(names):
                places = {name: names.index(name) for name in _NAMES if name in names}
            elif not begun and any(names[len(_NAMES) :]):
                raise BadList(
                    f"line {number} has {len(cells)} columns, and none is called brand or "
                    "domain; name them in the first line"
                )
            else:
                row = Row(number, _cell(cells, places, "brand"), _cell(cells, places, "domain"))
                if row.brand or row.domain:
                    rows.setdefault(row.wish, row)
            begun = True
    except csv.Error as error:
        raise BadList(f"line {line}: {_TOLD.get(str(error), error)}") from error
    return tuple(rows.values())


def rows_of_lines(text: str) -> tuple[Row, ...]:
    r"""Return a row for each line of *text*, one brand a line.

    >>> [(row.number, row.brand) for row in rows_of_lines("Mars, Inc.\n\nAcme; Co\n")]
    [(1, 'Mars, Inc.'), (3, 'Acme; Co')]

    Raises:
        BadList: The first line names columns.
    """
    rows: dict[tuple[str, str], Row] = {}
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        brand = " ".join(line.split())
        if not rows and len(set(_NAMES) & set(_BETWEEN.split(brand.casefold()))) > 1:
            raise BadList(f"line {number} names columns; a list with columns is called .csv")
        if brand:
            row = Row(number, brand, None)
            rows.setdefault(row.wish, row)
    return tuple(rows.values())


def _cell(cells: list[str], places: dict[str, int], name: str) -> str | None:
    place = places.get(name, len(cells))
    return " ".join(cells[place].split()) or None if place < len(cells) else None
