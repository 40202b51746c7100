"""Work in flight: issued to a stage, as the log has it, and not answered yet."""

from collections.abc import Callable
from dataclasses import dataclass

from cs.domain.stages.work import StageName

#: Lookup, stage, item and number of an attempt.
AttemptId = tuple[str, StageName, str, int]


@dataclass
class Attempt:
    """One attempt at one piece of work."""

    lookup: str
    stage: StageName
    item: str
    attempt: int
    alive_at: float  # monotonic seconds: issued, or last known to be worked on


class InFlightWork:
    """The newest attempt at every open piece of work, and how long each has been silent.

    Args:
        monotonic: Seconds of real time.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._of_lookups: dict[str, dict[tuple[StageName, str], Attempt]] = {}

    def attempts(self) -> frozenset[AttemptId]:
        return frozenset(
            (each.lookup, each.stage, each.item, each.attempt) for each in self._all()
        )

    def issued(
        self, lookup: str, stage: StageName, item: str, attempt: int, ago_s: float = 0.0
    ) -> None:
        """Note that work was issued, *ago_s* seconds ago; it replaces an older attempt."""
        alive_at = self._monotonic() - max(0.0, ago_s)
        work = self._of_lookups.setdefault(lookup, {})
        work[stage, item] = Attempt(lookup, stage, item, attempt, alive_at)

    def answered(self, lookup: str, stage: StageName, item: str = "") -> None:
        """Note that work was answered, or failed and waits for its next attempt."""
        work = self._of_lookups.get(lookup)
        if work is not None:
            work.pop((stage, item), None)
            if not work:
                del self._of_lookups[lookup]

    def finished(self, lookup: str) -> None:
        """Note that *lookup* ended: nothing of it is in flight."""
        self._of_lookups.pop(lookup, None)

    def silent(self, for_s: float) -> list[Attempt]:
        """Return what seems silent for *for_s* seconds, each once in that time."""
        now = self._monotonic()
        found = [each for each in self._all() if now - each.alive_at > for_s]
        for each in found:
            each.alive_at = now
        return found

    def seen_alive(self, attempt: Attempt, ago_s: float) -> None:
        """Note that a heartbeat of *attempt* came *ago_s* seconds ago."""
        attempt.alive_at = self._monotonic() - ago_s

    def _all(self) -> list[Attempt]:
        return [each for work in self._of_lookups.values() for each in work.values()]
