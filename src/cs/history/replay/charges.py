"""Which searches would be charged otherwise: of those that the lookups in question answered."""

from collections.abc import AsyncIterator, Mapping

import msgspec

from cs.domain.contact import Query
from cs.domain.key import SearchSettled
from cs.eventlog.port import EventLog, Where
from cs.history.replay.difference import ChargeDifference, Effect
from cs.history.replay.recorded import topics_of

#: Positions that are looked at in one go.
WINDOW = 20_000


class AffectedLookup(msgspec.Struct, frozen=True):
    """A lookup whose searches would be charged otherwise, or may be."""

    stream: str
    query: Query
    effect: Effect


class SearchCharge(msgspec.Struct, frozen=True):
    """Of a stored *search settled* event: what is needed."""

    search: str
    lookup: str
    charged: bool
    cached: bool = False


_SETTLED = msgspec.json.Decoder(SearchCharge)


async def charge_differences(
    log: EventLog, affected: Mapping[str, AffectedLookup], upto: int
) -> AsyncIterator[tuple[str, ChargeDifference]]:
    """Yield each search, with the stream of its brand, whose charge would or may be another.

    In order of position, of the searches that *affected*, by lookup, answered up to *upto*.

    Raises:
        LogUnavailable: The log cannot be read now.
    """
    if not affected:
        return
    where = Where(topics_of((SearchSettled,)))
    for after in range(0, upto, WINDOW):
        for stored in await log.select(where, after, min(after + WINDOW, upto)):
            settled = _SETTLED.decode(stored.state)
            lookup = affected.get(settled.lookup)
            if lookup is None or lookup.effect.was_charged not in {None, settled.charged}:
                continue
            yield (
                lookup.stream,
                ChargeDifference(
                    change=lookup.effect.change,
                    brand=lookup.query.brand,
                    domain=lookup.query.domain,
                    lookup=settled.lookup,
                    search=settled.search,
                    key=stored.stream.removeprefix("key-"),
                    position=stored.position,
                    cached=settled.cached,
                ),
            )
