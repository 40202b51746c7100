"""One item a line from standard input; a bad line is reported and the next one is read."""

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from cs.cli.output import print_json, stop, warn

T = TypeVar("T")

#: One line of input.
LINE_BYTES = 64 * 1024
#: What stands for standard input.
STDIN = "-"


class Items(Generic[T]):
    """The items of one command: the one on the command line, or a line each of stdin.

    Args:
        word: What stood on the command line; ``-`` is standard input.
        one: The item that *word* makes.
        read: Makes an item from a line; ValueError says what is wrong with it.
        form: How a line is written, for who gets it wrong.
        json: Answer a bad line with a row too: ``{"id": …, "error": …}``.
    """

    def __init__(
        self,
        word: str | None,
        one: T,
        read: Callable[[bytes], T],
        *,
        form: str,
        json: bool,
    ) -> None:
        if word is not None and word != STDIN and word.startswith("-") and " " not in word:
            stop(f"there is no option {word}; --help shows what there is", 2)
        self._stdin = word == STDIN
        self._one = one
        self._read = read
        self._form = form
        self._json = json
        self._number = 0
        self._wrong = False

    def __iter__(self) -> Iterator[T]:
        if not self._stdin:
            yield self._one
            return
        # A read that waits for input is not cancelled; Ctrl-C ends us as it ends cat.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for self._number, line in enumerate(_lines(), 1):
            if not line.strip():
                continue
            try:
                item = self._read(_within_limit(line))
            except (ValueError, RecursionError) as error:
                self.refuse(f"{_describe(error)}; a line is {self._form}", {"id": _id(line)})
            else:
                yield item

    def end(self) -> None:
        """End the command with exit code 1 if an item was bad."""
        if self._wrong:
            raise SystemExit(1)

    def refuse(self, why: str, row: Mapping[str, Any]) -> None:
        """Tell that the item last read is bad; the next one is read all the same.

        Args:
            why: For people.
            row: What is printed for it besides the error, where rows are asked for.
        """
        self._wrong = True
        if self._stdin:
            why = f"line {self._number}: {why}"
        warn(why)
        if self._json:
            print_json({**row, "error": why})


def json_line(shape: type[T]) -> Callable[[bytes], T]:
    """Return what reads a line of JSON as *shape*."""

    def read(line: bytes) -> T:
        return msgspec.json.decode(line, type=shape)

    return read


def _lines() -> Iterator[bytes]:
    """Yield the lines of standard input; of one that is too long its beginning."""
    if sys.stdin is None:
        stop("standard input is closed")
    stdin = sys.stdin.buffer
    while line := stdin.readline(LINE_BYTES + 1):
        part = line
        while len(part) > LINE_BYTES and not part.endswith(b"\n"):
            part = stdin.readline(LINE_BYTES + 1) or b"\n"
        yield line


def _within_limit(line: bytes) -> bytes:
    if len(line) > LINE_BYTES:
        raise ValueError(f"it is longer than {LINE_BYTES // 1024} KiB")
    return line


def _describe(error: Exception) -> str:
    match error:
        case RecursionError():
            return "it is nested too deeply"
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case _:
            return str(error)


def _id(line: bytes) -> Any:
    """Return the id in *line* if it can be read."""
    try:
        return msgspec.json.decode(line, type=_LineId).id
    except (ValueError, RecursionError):
        return None


class _LineId(msgspec.Struct):
    id: str | int | None = None
