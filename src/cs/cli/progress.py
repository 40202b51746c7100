"""What goes on, in one line on a terminal; nothing is shown anywhere else."""

import time
from types import TracebackType
from typing import Self

from rich.progress import Progress as Line
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from cs.cli.foreign_text import harmless
from cs.cli.output import errors

#: A pause from which on it is told.
TOLD_S = 2.0


class Progress:
    """Use as ``with``; the line is gone afterwards."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
        shown = errors.is_terminal
        self._line = Line(
            *columns, TimeElapsedColumn(), console=errors, transient=True, disable=not shown
        )
        self._task = self._line.add_task("calling")
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

    def show(self, text: str) -> None:
        """Say what is done from now on."""
        self._text = " ".join(harmless(text).split())
        self._line.update(self._task, description=self._text)

    def sleep(self, seconds: float) -> None:
        """Let *seconds* go by, and show that it is so."""
        if seconds >= TOLD_S:
            pause = f"{self._text}, next call in {span(seconds)}"
            self._line.update(self._task, description=pause)
        time.sleep(seconds)
        self._line.update(self._task, description=self._text)


def span(seconds: float) -> str:
    """Return *seconds* as people say it.

    >>> span(54.2), span(3700)
    ('54 s', '1 h 2 min')
    """
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
