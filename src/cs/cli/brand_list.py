"""A list of brands as people keep it: CSV out of a spreadsheet, or a name a line."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

#: A file of more bytes or lines is no list of brands: a key's limits let so many through in
#: four years.
MAX_BYTES = 16 * 1024 * 1024
MAX_LINES = 100_000
_NAMES = ("brand", "domain")
#: What the reader of CSV says, as people would.
_TOLD = {"unexpected end of data": "a quote is opened that nothing closes"}


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
    # Strict: else an unclosed quote makes one brand of all that follows.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    places: dict[str, int] = {}
    rows: list[Row] = []
    line = 1
    try:
        for cells in reader:
            number, line = line, reader.line_num + 1
            words = [" ".join(cell.split()) for cell in cells]
            if not any(words):
                continue
            if not places:
                titles = [word.casefold() for word in words]
                places = {name: titles.index(name) for name in _NAMES if name in titles}
                if places:
                    continue
                if any(words[len(_NAMES) :]):
                    raise BadList(
                        f"line {number} has {len(cells)} columns, and none is called brand or "
                        "domain; name them in the first line"
                    )
                places = {name: n for n, name in enumerate(_NAMES)}
            named = dict(enumerate(words))
            brand, domain = (named.get(places.get(name, -1)) or None for name in _NAMES)
            rows.append(Row(number, brand, domain))
    except csv.Error as error:
        raise BadList(f"line {line}: {_TOLD.get(str(error), error)}") from error
    return tuple(_once(row for row in rows if row.brand or row.domain))


def rows_of_lines(text: str) -> tuple[Row, ...]:
    r"""Return a row for each line of *text*, one brand a line.

    >>> [(row.number, row.brand) for row in rows_of_lines("Mars, Inc.\n\nAcme; Co\n")]
    [(1, 'Mars, Inc.'), (3, 'Acme; Co')]

    Raises:
        BadList: The first line names columns.
    """
    lines = [" ".join(line.split()) for line in io.StringIO(text, newline=None)]
    rows = [Row(number, line, None) for number, line in enumerate(lines, 1) if line]
    first = (rows[0].brand or "").casefold() if rows else ""
    if set(_NAMES) <= set(re.split(r"\s*[,;\t ]\s*", first)):
        raise BadList(
            f"line {rows[0].number} names columns; a list with columns is called .csv"
        )
    return tuple(_once(rows))


def _once(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the first of the *rows* that ask for the same."""
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if row.query not in seen:
            seen.add(row.query)
            yield row
