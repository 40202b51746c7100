"""Tables of text that other tools wrote: their encoding, and where their columns are named."""

import codecs
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TextIO

from cs.runtime.csv_records import LONGEST_LINE, records

#: Bytes that `guessed_encoding` wants to see.
HEAD_BYTES = 200
#: What may stand between two cells; spreadsheets of half of Europe write semicolons.
DELIMITERS = ",;\t|"
#: Lines in which the columns are named at the latest: some exports have notes above them.
_HEADER_LINES = 10
_BOMS: Mapping[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class TableHeader(NamedTuple):
    """The line that names the columns.

    Attributes:
        cells: As they stand there.
        delimiter: Between two of them.
        skipped: Records above it.
        score: What *score* of `find_header` made of it.
    """

    cells: list[str]
    delimiter: str
    skipped: int
    score: int


def guessed_encoding(head: bytes) -> str:
    """Return the encoding of a text that begins with *head*.

    What its byte order mark says, UTF-16 where every other byte is zero, else UTF-8.

    >>> guessed_encoding("email;état".encode("utf-16-le")), guessed_encoding(b"email")
    ('utf-16-le', 'utf-8')
    """
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    zeros = Counter(index % 2 for index, byte in enumerate(head[:HEAD_BYTES]) if byte == 0)
    if sum(zeros.values()) > len(head[:HEAD_BYTES]) // 4:
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    return "utf-8"


def find_header(
    text: TextIO, score: Callable[[Sequence[str]], int], delimiters: str = DELIMITERS
) -> TableHeader | None:
    """Return the line of the first ten that names most columns; ``None``: there is none.

    Args:
        text: At its beginning; read from.
        score: Returns how many columns some cells name, 0 if they are not enough.
        delimiters: Each that may stand between two cells.

    Where none names any it is the first line, parted by what makes most cells of it.
    """
    head = "".join(text.readline(LONGEST_LINE) for _ in range(_HEADER_LINES))
    best: TableHeader | None = None
    for delimiter in delimiters:
        for skipped, (_, cells) in enumerate(records(io.StringIO(head, newline=""), delimiter)):
            if isinstance(cells, str):
                continue
            found = TableHeader(cells, delimiter, skipped, score(cells))
            if best is None or (found.score, len(cells)) > (best.score, len(best.cells)):
                best = found
    return best
