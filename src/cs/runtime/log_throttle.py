"""A bound on log lines that one cause would otherwise write without end."""

import time
from collections.abc import Callable

from cs.runtime.lru import LruDict

#: Kinds remembered at once; the least recent goes first.
KINDS = 1_000


class LogThrottle:
    """Lets the first lines of each kind through in a period, and counts those left out.

    Args:
        every_s: The period.
        most: Lines of one kind in it.
        monotonic: Returns seconds.

    >>> throttle = LogThrottle(10, monotonic=iter([0, 1, 2, 11]).__next__)
    >>> [throttle.allow() for _ in range(4)]
    [{}, None, None, {'left_out': 2}]
    """

    def __init__(
        self, every_s: float, most: int = 1, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._every_s = every_s
        self._most = most
        self._monotonic = monotonic
        self._periods = LruDict[str, _Period](KINDS)

    def allow(self, kind: str = "") -> dict[str, int] | None:
        """Count a line of *kind*; return its extra fields, or ``None`` to leave it out.

        The extra field is ``left_out``, the number of lines of that kind left out before it.
        """
        now = self._monotonic()
        period = self._periods.use(kind)
        if period is None:
            period = self._periods[kind] = _Period(now)
        elif now - period.began_at >= self._every_s:
            period.began_at, period.lines = now, 0
        period.lines += 1
        if period.lines > self._most:
            period.left_out += 1
            return None
        left_out, period.left_out = period.left_out, 0
        return {"left_out": left_out} if left_out else {}

    def forget(self, kind: str | None = None) -> None:
        """Let the next line of *kind* through, of every kind if ``None``: the cause is gone."""
        if kind is None:
            self._periods.clear()
        else:
            self._periods.pop(kind, None)


class _Period:
    """The lines of one kind since the period began."""

    def __init__(self, began_at: float) -> None:
        self.began_at = began_at
        self.lines = 0
        self.left_out = 0
