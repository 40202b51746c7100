"""When a stream that was set aside is taken up again, if that was tried in vain.

What can be read may still be what nobody can have written.  Whoever takes it up finds that
out at some cost, and finds the same as long as it is stored as it is.
"""

import time
from collections.abc import Callable
from hashlib import sha256

import msgspec

from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import NO_STREAM, EventLog

#: Longest wait: what makes an event senseless may stand far away from it, and be mended there.
MOST_S = 300.0
#: Events that are looked at for a change, half of them before the one that makes no sense.
WINDOW = 500


class _VainTry(msgspec.Struct, frozen=True):
    """A vain try: of what, and when the next one is due."""

    seen: bytes
    wait_s: float
    next_at: float


class RetrySchedule:
    """Decides for each stream by itself; in seconds of *monotonic*."""

    def __init__(
        self, events: EventLog, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._events = events
        self._monotonic = monotonic
        self._tried: dict[str, _VainTry] = {}

    async def seen(self, damaged: DamagedEvent) -> bytes:
        """Return a fingerprint of what is stored where *damaged* is, and around it.

        Raises:
            LogUnavailable: It cannot be read now.
        """
        try:
            if damaged.stream:
                after = max(NO_STREAM, damaged.version - 1 - WINDOW // 2)
                found = await self._events.read(damaged.stream, after, WINDOW)
            else:
                found = await self._events.tail(damaged.position - 1, 1)
        except DamagedEvent as still:
            return f"{still.position} {still.version}".encode()
        return sha256(repr(found).encode(errors="backslashreplace")).digest()

    def is_due(self, place: str, seen: bytes) -> bool:
        """Return whether *place* is to be tried: *seen* is new, or it was long ago."""
        tried = self._tried.get(place)
        return tried is None or tried.seen != seen or self._monotonic() >= tried.next_at

    def tried(self, place: str, seen: bytes, least_s: float) -> None:
        """Take note that *place* was tried: next in *least_s*, or in twice the last wait."""
        now = self._monotonic()
        self._tried = {p: t for p, t in self._tried.items() if now < t.next_at + MOST_S}
        tried = self._tried.get(place)
        again = tried is not None and tried.seen == seen
        wait_s = min(2 * tried.wait_s, MOST_S) if tried and again else least_s
        self._tried[place] = _VainTry(seen, wait_s, now + wait_s)
