"""What goes on: one line that changes on a terminal, a line now and then anywhere else.

Long work of which is known how much there is gets a bar.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Line
from rich.progress import ProgressColumn as Part

from cs.cli.output import errors, harmless

#: A pause from which on it is shown.
SHOWN_S = 2.0
#: How often a line is printed where there is no terminal; a pause as long is printed.
LINE_EVERY_S = 10.0


class Progress:
    """Use as ``with``; the line is gone afterwards.

    Args:
        monotonic: A clock.
        bar: Show how much of the work is done, as `show` is told.
    """

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, *, bar: bool = False
    ) -> None:
        self._monotonic = monotonic
        self._printed_at = monotonic()
        columns: list[Part] = [SpinnerColumn()]
        if bar:
            columns += [BarColumn(bar_width=20), TextColumn("{task.percentage:>3.0f}%")]
        columns.append(TextColumn("{task.description}", markup=False))
        self._shown = errors.is_terminal
        self._line = Line(
            *columns,
            TimeElapsedColumn(),
            console=errors,
            transient=True,
            disable=not self._shown,
        )
        self._task = self._line.add_task("calling", total=1.0)
        self._text = "calling"

    def __enter__(self) -> Self:
        self._line.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.stop()

    def show(self, text: str, done: float | None = None) -> None:
        """Say what is done from now on.

        Args:
            text: For people.
            done: How much of all work is done, 0 to 1.
        """
        self._text = " ".join(harmless(text).split())
        self._line.update(self._task, description=self._text, completed=done)
        share = "" if done is None else f"{done:.0%}, "
        self._print_now_and_then(f"{share}{self._text}")

    def _print_now_and_then(self, text: str) -> None:
        """Print *text* where there is no terminal, unless something was printed just now."""
        now = self._monotonic()
        if not self._shown and now - self._printed_at >= LINE_EVERY_S:
            self._printed_at = now
            errors.print(text)

    def sleep(self, seconds: float) -> None:
        """Let *seconds* go by, and show that it is so."""
        if seconds >= SHOWN_S:
            pause = f"{self._text}, next call in {span(seconds)}"
            self._line.update(self._task, description=pause)
            self._print_now_and_then(pause)
        time.sleep(seconds)
        self._line.update(self._task, description=self._text)


def span(seconds: float) -> str:
    """Return *seconds* in words.

    >>> span(54.2), span(3700), span(3600), span(604_800)
    ('54 s', '1 h 2 min', '1 h', '7 days')
    """
    rounded = round(seconds)
    if rounded < 120:
        return f"{rounded} s"
    hours, minutes = divmod(round(rounded / 60), 60)
    if hours >= 48:
        return f"{round(seconds / 86_400)} days"
    parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes)
    return " ".join(parts)
