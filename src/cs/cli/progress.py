"""Progress: one changing line on a terminal, a line every ten seconds anywhere else."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Self

from rich.status import Status
from rich.text import Text

from cs.cli.output import errors, harmless
from cs.runtime.durations import in_words

#: A pause from which on it is shown.
SHOWN_S = 2.0
#: How often a line is printed where there is no terminal; a pause as long is printed.
LINE_EVERY_S = 10.0


class Progress(AbstractContextManager["Progress"]):
    """Use as ``with``; the line is gone afterwards."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._printed_at = monotonic()
        self._text = "calling"
        self._line = Status(self._text, console=errors)

    def __enter__(self) -> Self:
        if errors.is_terminal:
            self._line.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._line.stop()

    def show(self, text: str, done: float | None = None) -> None:
        """Show what is being done from now on.

        Args:
            text: For people.
            done: How much of all work is done, 0 to 1.
        """
        share = "" if done is None else f"{done:.0%}, "
        self._text = share + " ".join(harmless(text).split())
        self._print(self._text)

    def sleep(self, seconds: float) -> None:
        """Sleep for *seconds*, and show a longer pause."""
        if seconds >= SHOWN_S:
            self._print(f"{self._text}, next call in {in_words(seconds)}")
        time.sleep(seconds)
        self._line.update(Text(self._text))

    def _print(self, text: str) -> None:
        self._line.update(Text(text))
        now = self._monotonic()
        if not errors.is_terminal and now - self._printed_at >= LINE_EVERY_S:
            self._printed_at = now
            errors.print(text)


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what shows how far the log was read for *what*."""
    with Progress() as progress:
        yield lambda position, upto: progress.show(
            f"{what}: {position} of {upto} positions read"
        )
