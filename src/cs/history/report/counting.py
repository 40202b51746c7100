"""Counting in bounded memory: durations by their quantiles, and who occurs most often."""

from collections import Counter
from datetime import timedelta

from cs.history.report.figures import Timing

#: Names whose counts are exact while there are no more than twice as many.
NAMES = 10_000


def three_digits(number: int) -> int:
    """Return *number*, not negative, rounded to three digits.

    >>> [three_digits(n) for n in (7, 999, 1234, 1235, 99950)]
    [7, 999, 1230, 1240, 100000]
    """
    unit: int = 10 ** max(0, len(str(number)) - 3)
    return (number + unit // 2) // unit * unit


class Durations:
    """Durations, counted by milliseconds in three digits: some 900 counters a decade.

    Rounding keeps their order, so a quantile is the exact one in three digits.
    """

    def __init__(self) -> None:
        self._counts = Counter[int]()

    def add(self, duration: timedelta) -> None:
        """Count *duration*; a negative one, of clocks that differ, is 0."""
        milliseconds = max(duration // timedelta(milliseconds=1), 0)
        self._counts[three_digits(milliseconds)] += 1

    def timing(self) -> Timing:
        """Return what was counted; quantiles by nearest rank."""
        ordered = sorted(self._counts.items())
        count = self._counts.total()

        def at(percent: int) -> float | None:
            rank, seen = -(-count * percent // 100), 0
            for milliseconds, times in ordered:
                seen += times
                if seen >= rank:
                    return milliseconds / 1000
            return None

        return Timing(count=count, p50_s=at(50), p95_s=at(95), max_s=at(100))


class BusiestNames:
    """Names by how often they occur, with further counts of each.

    Misra and Gries, "Finding repeated elements" (1982), in batches: of more than twice *names*
    the least frequent are dropped, and what the first dropped one had is taken from all.  So
    a count is too low by `missing` at most; it is exact while nothing was dropped.

    Args:
        names: Kept at least.
    """

    def __init__(self, names: int = NAMES) -> None:
        self._names = names
        self._counts: dict[str, list[int]] = {}
        self.missing = 0

    def add(self, name: str, *counts: int) -> None:
        """Add *counts* to those of *name*; the first says how busy it is."""
        found = self._counts.get(name)
        if found is None:
            self._counts[name] = list(counts)
            if len(self._counts) > 2 * self._names:
                self._drop()
            return
        for n, count in enumerate(counts):
            found[n] += count

    def top(self, names: int) -> list[tuple[str, list[int]]]:
        """Return the first *names* with their counts, busiest first, then by name."""
        ordered = sorted(self._counts.items(), key=lambda item: (-item[1][0], item[0]))
        return ordered[:names]

    def _drop(self) -> None:
        by_count = sorted((counts[0] for counts in self._counts.values()), reverse=True)
        taken = by_count[self._names]
        self.missing += taken
        self._counts = {
            name: [counts[0] - taken, *counts[1:]]
            for name, counts in self._counts.items()
            if counts[0] > taken
        }
