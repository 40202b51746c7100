"""Records of a CSV file, one by one: a quote that never closes loses one line, not the rest."""

import csv
from collections import deque
from collections.abc import Iterator
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
    lines = _Lines(text)
    while (first := lines.next()) is not None:
        number, line = first
        if isinstance(line, _TooLong):
            yield number, f"the line has more than {LONGEST_LINE} characters"
        elif line.strip():
            yield number, _record(line, lines, delimiter)


class _TooLong:
    """In the place of a line that is not kept."""


class _Lines:
    """Lines with their numbers, from 1; some may be given back.

    Attributes:
        unclosed: How many quotes nothing closed.
    """

    def __init__(self, text: TextIO) -> None:
        self.unclosed = 0
        self._text = text
        self._number = 0
        self._waiting: deque[tuple[int, str | _TooLong]] = deque()

    def next(self) -> tuple[int, str | _TooLong] | None:
        if self._waiting:
            return self._waiting.popleft()
        line = self._text.readline(LONGEST_LINE)
        if not line:
            return None
        self._number += 1
        if len(line) < LONGEST_LINE or line.endswith(("\n", "\r")):
            return self._number, line
        while line and not line.endswith(("\n", "\r")):
            line = self._text.readline(LONGEST_LINE)
        return self._number, _TooLong()

    def back(self, lines: list[tuple[int, str | _TooLong]]) -> None:
        self._waiting.extendleft(reversed(lines))


def _record(line: str, lines: _Lines, delimiter: str) -> list[str] | str:
    if '"' not in line:
        return _cells(line, delimiter)
    taken: list[tuple[int, str | _TooLong]] = []
    try:
        return next(csv.reader(_joined(line, lines, taken), delimiter=delimiter, strict=True))
    except csv.Error as error:
        if not taken and str(error) != _OPEN:
            return _cells(line, delimiter)  # only this line is wrong: read as spreadsheets do
    lines.back(taken)
    lines.unclosed += 1
    return "a quote is opened that nothing closes: close it, or double it"


def _joined(line: str, lines: _Lines, taken: list[tuple[int, str | _TooLong]]) -> Iterator[str]:
    """Yield *line* and the lines into which a cell of it may go on, which *taken* has then."""
    yield line
    size = len(line)
    while (
        size <= LONGEST_LINE
        and len(taken) <= MOST_LINES
        and lines.unclosed < MOST_UNCLOSED
        and (following := lines.next()) is not None
    ):
        taken.append(following)
        if isinstance(following[1], _TooLong):
            return
        size += len(following[1])
        yield following[1]


def _cells(text: str, delimiter: str) -> list[str] | str:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error as error:
        return str(error)
