"""Records of a CSV file, one by one: a quote that never closes loses one line, not the rest."""

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TextIO

#: A longer line is no row, and no cell goes over more lines.
LONGEST_LINE = 64 * 1024
MOST_LINES = 50
#: After so many quotes that nothing closes every line of the text is a record of its own:
#: the lines after each of them are read twice.
MOST_UNCLOSED = 100
#: What the reader of CSV says of a quote that is still open.
_OPEN = "unexpected end of data"


def records(text: TextIO, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield each record with the number of its first line, or what is wrong with that line.

    A quoted cell may go over several lines.  Where a quote is opened that nothing closes,
    only the line with it is lost.
    """
    lines, unclosed = _lines(text), 0
    ahead: deque[tuple[int, str | None]] = deque()  # read, and of no record yet
    while (first := ahead.popleft() if ahead else next(lines, None)) is not None:
        number, line = first
        if line is None:
            yield number, f"the line has more than {LONGEST_LINE} characters"
            continue
        if not line.strip():
            continue
        parts = [line]
        while (
            (found := _cells(parts, delimiter)) is None
            and unclosed < MOST_UNCLOSED
            and len(parts) <= MOST_LINES
            and sum(map(len, parts)) <= LONGEST_LINE
        ):
            if len(ahead) < len(parts):
                ahead.extend(islice(lines, 1))
            following = ahead[len(parts) - 1][1] if len(ahead) >= len(parts) else None
            if following is None:
                break
            parts.append(following)
        if found is None:
            unclosed += 1
            yield number, "a quote is opened that nothing closes: close it, or double it"
        else:
            for _ in parts[1:]:
                ahead.popleft()
            yield number, found


def _lines(text: TextIO) -> Iterator[tuple[int, str | None]]:
    """Yield each line with its number, from 1; ``None`` for one that is too long."""
    number = 0
    while line := text.readline(LONGEST_LINE):
        number += 1
        whole = len(line) < LONGEST_LINE or line.endswith(("\n", "\r"))
        yield number, line if whole else None
        while not whole and line and not line.endswith(("\n", "\r")):
            line = text.readline(LONGEST_LINE)


def _cells(parts: Sequence[str], delimiter: str) -> list[str] | str | None:
    """Return the cells of a record, or what is wrong with it; ``None``: a quote is open."""
    try:
        return next(csv.reader(parts, delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        if len(parts) > 1 or str(error) == _OPEN:
            return None
    try:  # only this line is wrong: read as spreadsheets do
        return next(csv.reader(parts, delimiter=delimiter), [])
    except csv.Error as error:
        return str(error)
