"""A replay of the log: its runs under other rules, and the charges of their searches."""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec

from cs.eventlog.errors import DamagedEvent, NewerEvent
from cs.eventlog.port import EventLog
from cs.history.history import Progress, unseen
from cs.history.loading import Search, load
from cs.history.replay.comparing import ChargeChange, Difference, Effect, Kind, compare
from cs.history.replay.rules import Rules
from cs.history.runs import Run
from cs.history.selection import Selection
from cs.keystore.port import KeyStore


class ChargeDifference(msgspec.Struct, frozen=True, tag_field="kind", tag="charge"):
    """A settled search whose charge, a unit of its key's quota, would or may be another."""

    change: ChargeChange
    search: Search


class Replay:
    """Applies rules to the runs of a log; use it once.

    Args:
        kind: Which rules are applied.
        rules: Those that are.
        brands: Only the runs of these streams; empty: all runs.
        upto: The last position that is read; ``None``: the log's last.
        reveals: Whether differences say who people are.

    Attributes:
        lookups: Runs.
        replayed: Of them, those that have answers to compare.
        answers: How many were compared, by the rules that gave them.
        missed: Runs and answers that were not compared, by why.
        damaged: Events that cannot be read, by position.
    """

    def __init__(
        self,
        log: EventLog,
        keys: KeyStore,
        kind: Kind,
        rules: Rules,
        *,
        brands: Sequence[str] = (),
        upto: int | None = None,
        reveals: bool = False,
    ) -> None:
        self._log = log
        self._keys = keys
        self.kind: Kind = kind
        self._rules = rules
        self._selection = Selection(brands=tuple(brands), upto=upto)
        self._reveals = reveals
        self._effects: dict[str, Effect] = {}  # by lookup
        self.lookups = self.replayed = 0
        self.answers = Counter[str]()
        self.missed = Counter[str]()
        self.damaged: dict[int, DamagedEvent | NewerEvent] = {}

    async def differences(
        self, progress: Progress = unseen
    ) -> AsyncIterator[Sequence[Difference | ChargeDifference]]:
        """Yield what would differ, in the order of the log, some thousand positions at a time.

        Raises:
            LogUnavailable: The log or the key store cannot be read now.
            BrokenRules: The rules fail.
        """
        async for part in load(
            self._log,
            self._keys,
            self._selection,
            unreadable=self._leave_out,
            progress=progress,
        ):
            yield [
                *(each for run in part.runs for each in self._compared(run)),
                # A search is settled after the run that answers it has ended.
                *(each for search in part.searches for each in self._charge(search)),
            ]

    def _leave_out(self, error: DamagedEvent | NewerEvent) -> None:
        self.damaged[error.position] = error

    def _compared(self, run: Run) -> Sequence[Difference]:
        self.lookups += 1
        if self._is_damaged(run):
            self.missed["one of its events cannot be read"] += 1
            return ()
        compared = compare(run, self.kind, self._rules, reveals=self._reveals)
        self.replayed += bool(compared.answers)
        self.answers.update(compared.answers)
        self.missed.update(compared.missed)
        if compared.effect is not None:
            self._effects[run.lookup] = compared.effect
        return compared.differences

    def _is_damaged(self, run: Run) -> bool:
        """Return whether an event between the first and the last of *run* cannot be read."""
        last = run.finish_position or sys.maxsize
        return any(
            error.stream == run.stream and run.position < position <= last
            for position, error in self.damaged.items()
        )

    def _charge(self, search: Search) -> Iterator[ChargeDifference]:
        effect = self._effects.get(search.lookup)
        if effect is None or search.settled_position is None:
            return
        if effect.was_charged in {None, search.charged}:
            yield ChargeDifference(effect.change, search)
