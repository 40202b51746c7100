"""The lines sent and received while one address was checked, bounded in size."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter

import msgspec

from cs.domain.mail.mailbox import Line

#: Characters stored of one line.
LINE = 512
#: Encoded bytes that the lines of one piece of evidence may take; with its other fields
#: an `Evidence` stays under 8 KiB.
BYTES = 7_000
#: In the place of what there was no room for.
GAP = Line(at_ms=0, who="S", text="[...]")


class Transcript:
    """Collects lines with their time; `begin` starts over for the next address."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._began = monotonic()
        self._lines: list[tuple[float, str, str]] = []
        self._shared: list[tuple[float, str, str]] = []

    def begin(self) -> None:
        self._began = self._monotonic()
        self._lines = []

    def note(self, who: str, text: str) -> None:
        """Add a line that we (``C``) or the server (``S``) sent."""
        self._lines.append((self._monotonic(), who, text[:LINE]))

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Let the lines noted meanwhile stand before every later address's, too.

        For what speaks for all addresses of a domain.  What fails is not.
        """
        before = len(self._lines)
        yield
        self._shared += self._lines[before:]
        del self._lines[before:]

    def lines(self) -> tuple[Line, ...]:
        """Return the lines of this address and the shared ones, in order of time, bounded.

        Their times count from the first of them, or from when the address began if no
        earlier one is shared.
        """
        lines = sorted((*self._shared, *self._lines), key=itemgetter(0))
        began = min([self._began, *(at for at, _, _ in lines)])
        return bounded(
            [
                Line(at_ms=round((at - began) * 1000), who=who, text=text)
                for at, who, text in lines
            ]
        )


def bounded(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return *lines*, or their beginning and end if they take more than `BYTES`.

    The end decides a verdict, so it gets the larger share.
    """
    sizes = [len(msgspec.json.encode(line)) + 1 for line in lines]
    if sum(sizes) <= BYTES:
        return tuple(lines)
    head, room = 0, BYTES // 3
    while sizes[head] <= room:
        room -= sizes[head]
        head += 1
    tail, room = len(lines), BYTES - BYTES // 3 - 100
    while tail > head and sizes[tail - 1] <= room:
        tail -= 1
        room -= sizes[tail]
    return (*lines[:head], GAP, *lines[tail:])
