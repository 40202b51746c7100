"""Bounds on waiting: a caller is answered also while the log or the views are away.

All are seconds of real time: neither a log that is away nor a caller's network goes by the
service's clock.
"""

import asyncio
from types import TracebackType

import msgspec

from cs.eventlog.errors import LogUnavailable

#: For the body of a request, once its head is read: 16 KiB at most.
BODY_S = 10.0
#: For a slot among the calls of the same key: 60 may wait before it.
WAIT_S = 10.0
#: For deciding on a search and storing it.
ADMIT_S = 5.0
#: For what a stored search is answered with, beyond its hold; then admission answers.
ANSWER_S = 2.0
#: For a status or usage check, its wait for a slot included, and for looking up a key.
READ_S = 5.0
#: For uncounting a check after that.
UNCOUNT_S = 0.5


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long each part of a call may take."""

    body_s: float = BODY_S
    wait_s: float = WAIT_S
    admit_s: float = ADMIT_S
    answer_s: float = ANSWER_S
    read_s: float = READ_S
    uncount_s: float = UNCOUNT_S


TIME_LIMITS = TimeLimits()


class TimeLimit:
    """`asyncio.timeout`, and what it raises told as a log that is away.

    By itself, since every search enters some and most end before a timer is of any use: it
    takes a third of the time.  A cancellation by anybody else stays one, as there.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._expired = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "it is awaited"
        self._task, self._cancelling = task, task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        late = error
        if self._expired:
            ours_alone = self._task.uncancel() <= self._cancelling
            if ours_alone and isinstance(error, asyncio.CancelledError):
                late = TimeoutError()
                late.__cause__ = error
        if isinstance(late, TimeoutError):
            raise LogUnavailable(f"no answer within {self._seconds:g} s") from late


def within(seconds: float) -> TimeLimit:
    """Bound what is done inside; enter it at once.

    Raises:
        LogUnavailable: It took longer.
    """
    return TimeLimit(seconds)
