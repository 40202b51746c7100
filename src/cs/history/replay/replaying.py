"""A replay of all of the history, some brands at a time: read, run again, compared, told.

The order is that of the brands' first lookups, and does not depend on who compares how many
of them at once: two replays of the same log are the same to the byte.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from cs.domain.contact import Query
from cs.eventlog.port import EventLog, Where
from cs.history.opening import OpenerKeys
from cs.history.replay.charges import WINDOW, AffectedLookup
from cs.history.replay.difference import AnswerDifference, LookupComparison, Totals, sealed
from cs.history.replay.ranking import compare_ranking
from cs.history.replay.recorded import (
    NEEDED,
    Kind,
    RecordedLookup,
    recorded_lookups,
    topics_of,
)
from cs.history.replay.resolution import compare_resolution
from cs.history.replay.rules import Rules
from cs.history.replay.verdicts import compare_verdicts

#: Events, and brands, that are in memory at once; a brand is not divided.
EVENTS = 400
BRANDS = 64

_COMPARE: dict[Kind, Callable[[RecordedLookup, Rules, Totals], LookupComparison]] = {
    "ranking": compare_ranking,
    "verdicts": compare_verdicts,
    "resolution": compare_resolution,
}


class Chunk(msgspec.Struct, frozen=True):
    """Brands whose lookups are compared in one go: their streams, and the events to read."""

    streams: tuple[str, ...]
    positions: tuple[int, ...]


class ComparedBrand(msgspec.Struct, frozen=True):
    """What comparing the lookups of one brand came to.

    Attributes:
        query: As it was asked for first.
        affected: By lookup: those whose charges would be others, or may be.
    """

    stream: str
    query: Query
    totals: Totals
    differences: tuple[AnswerDifference, ...]
    affected: dict[str, AffectedLookup]


async def brand_streams(log: EventLog, kind: Kind, upto: int) -> dict[str, "array[int]"]:
    """Return the streams of all brands by their first lookups, with the events of each.

    These are the positions, up to *upto*, of what a replay of *kind* reads: eight bytes each.

    Raises:
        LogUnavailable: The log cannot be read now.
    """
    found: defaultdict[str, array[int]] = defaultdict(partial(array, "q"))
    where = Where(topics_of(NEEDED[kind]))
    for after in range(0, upto, WINDOW):
        for position, stream in await log.places(where, after, min(after + WINDOW, upto)):
            found[stream].append(position)
    return found


def chunks(streams: "Mapping[str, Sequence[int]]") -> Iterator[Chunk]:
    """Yield *streams*, as `brand_streams` returns them, in portions that fit into memory."""
    brands: list[str] = []
    events: list[int] = []
    for stream, positions in streams.items():
        if brands and (len(events) + len(positions) > EVENTS or len(brands) == BRANDS):
            yield Chunk(tuple(brands), tuple(events))
            brands, events = [], []
        brands.append(stream)
        events += positions
    if brands:
        yield Chunk(tuple(brands), tuple(events))


class Replay:
    """Runs lookups of *log* again.

    Args:
        log: Where they are.
        keys: What opens their people.
        kind: What is run again.
        rules: That are run.
        reveals: Whether differences say who people are.
    """

    def __init__(
        self,
        log: EventLog,
        keys: OpenerKeys,
        kind: Kind,
        *,
        rules: Rules,
        reveals: bool = False,
    ) -> None:
        self._log = log
        self._keys = keys
        self._kind = kind
        self._rules = rules
        self._reveals = reveals

    async def compare(self, chunk: Chunk) -> list[ComparedBrand]:
        """Return what would be otherwise for the brands of *chunk*, in order.

        Raises:
            LogUnavailable: Log or key store cannot be read now.
            DamagedEvent: An event of one of them is damaged.
            BrokenRules: The rules fail.
        """
        by_stream: dict[str, list[RecordedLookup]] = {stream: [] for stream in chunk.streams}
        for lookup in await recorded_lookups(
            self._log, self._keys, self._kind, chunk.positions
        ):
            by_stream[lookup.stream].append(lookup)
        return [
            self._compared(stream, lookups) for stream, lookups in by_stream.items() if lookups
        ]

    def _compared(self, stream: str, lookups: Sequence[RecordedLookup]) -> ComparedBrand:
        totals = Totals(lookups=len(lookups))
        differences: list[AnswerDifference] = []
        affected: dict[str, AffectedLookup] = {}
        for lookup in lookups:
            compared = _COMPARE[self._kind](lookup, self._rules, totals)
            differences += compared.differences
            if compared.effect is not None:
                affected[lookup.lookup] = AffectedLookup(stream, lookup.query, compared.effect)
        told = differences if self._reveals else map(sealed, differences)
        return ComparedBrand(stream, lookups[0].query, totals, tuple(told), affected)
