"""Tables of text that other tools wrote: opened within bounds, their encoding, their rows."""

import codecs
import gzip
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

import msgspec

from cs.runtime.csv_records import LONGEST_LINE, records

#: Bytes that `guessed_encoding` wants to see.
HEAD_BYTES = 200
#: What may stand between two cells; spreadsheets of half of Europe write semicolons.
DELIMITERS = ",;\t|"
#: Lines in which the columns are named at the latest: some exports have notes above them.
_HEADER_LINES = 10
#: A longer line is no object.
LONGEST_OBJECT = 1 << 20
#: What a packed file may unpack to: so many times its size and a line a byte, or the least.
#: Tables of text come to 30 times and a line in 5 bytes; a file made to fill a disk to 1,000.
_MOST_UNPACKED = 100
_LEAST_UNPACKED = 64 << 20
_LEAST_LINES = 5_000_000
#: Bad rows after which a file of nearly nothing else is given up.
_MOST_BAD = 100_000
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


def find_header(text: TextIO, score: Callable[[Sequence[str]], int]) -> TableHeader | None:
    """Return the line of the first ten that names most columns; ``None``: there is none.

    Args:
        text: At its beginning; read from.
        score: Returns how many columns some cells name, 0 if they are not enough.

    Where none names any it is the first line, parted by what makes most cells of it.
    """
    head = "".join(text.readline(LONGEST_LINE) for _ in range(_HEADER_LINES))
    best: TableHeader | None = None
    for delimiter in DELIMITERS:
        for skipped, (_, cells) in enumerate(records(io.StringIO(head, newline=""), delimiter)):
            if isinstance(cells, str):
                continue
            found = TableHeader(cells, delimiter, skipped, score(cells))
            if best is None or (found.score, len(cells)) > (best.score, len(best.cells)):
                best = found
    return best


def is_hopeless(rows: int, bad: int) -> bool:
    """Return whether so many and nearly all of *rows* are *bad* that reading on is no use."""
    return bad > _MOST_BAD and bad * 10 > rows * 9


class TooLarge(OSError):
    """A file with more bytes or lines than are read."""


def open_bounded(path: Path, most_bytes: int, most_lines: int) -> BinaryIO:
    """Open *path*, unpacked if it is called ``.gz``.

    Reading raises `TooLarge` beyond *most_bytes* or *most_lines*, or where a packed file turns
    out to be far larger than tables are.

    Raises:
        OSError: It cannot be opened.
    """
    if path.suffix.lower() != ".gz":
        return io.BufferedReader(_Bounded(path.open("rb"), most_bytes, most_lines))
    packed = path.stat().st_size
    most_bytes = min(most_bytes, max(_LEAST_UNPACKED, _MOST_UNPACKED * packed))
    most_lines = min(most_lines, max(_LEAST_LINES, packed))
    file = cast("BinaryIO", gzip.open(path))  # noqa: SIM115  a GzipFile reads as one
    return io.BufferedReader(_Bounded(file, most_bytes, most_lines))


class _Bounded(io.RawIOBase):
    """Reads a file up to a number of bytes and of lines."""

    def __init__(self, file: BinaryIO, most_bytes: int, most_lines: int) -> None:
        super().__init__()
        self._file = file
        self._bytes_left = self._most_bytes = most_bytes
        self._lines_left = self._most_lines = most_lines

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._bytes_left -= len(data)
        self._lines_left -= max(data.count(b"\n"), data.count(b"\r"))
        if self._bytes_left < 0:
            raise TooLarge(f"it has more than {self._most_bytes >> 20} MiB: split it")
        if self._lines_left < 0:
            raise TooLarge(f"it has more than {self._most_lines} lines: split it")
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def json_objects(text: TextIO) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Yield the object of each line that is not empty with its number, from 1, or its fault.

    *text* keeps bytes that it cannot decode (``surrogateescape``): they cost their line.
    """
    number = 0
    while line := text.readline(LONGEST_OBJECT):
        number += 1
        if len(line) < LONGEST_OBJECT or line.endswith("\n"):
            if line.strip():
                yield number, _object(line.removeprefix("\ufeff"))
            continue
        while line and not line.endswith("\n"):
            line = text.readline(LONGEST_OBJECT)
        yield number, f"the line has more than {LONGEST_OBJECT} characters"


def _object(line: str) -> Mapping[str, Any] | str:
    try:
        data = line.encode(errors="surrogateescape")
        return msgspec.json.decode(data, type=dict[str, Any])
    except UnicodeError:
        return "it is not in the encoding of the file: save it as UTF-8"
    except RecursionError:
        return "no JSON object: it is nested too deeply"
    except msgspec.DecodeError as error:
        return f"no JSON object: {error}"
