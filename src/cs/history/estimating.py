"""The cost of past live runs, from which the cost of a list of brands is estimated."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from cs.domain.brand.events import LookupFinished
from cs.domain.codec import event_of
from cs.domain.source_cost import SourceCost
from cs.domain.source_figures import WEEKS
from cs.eventlog.port import EVERYTHING, EventLog
from cs.history.history import WINDOW, History
from cs.history.opening import DAMAGED


class PastRun(msgspec.Struct, frozen=True):
    """The cost of a live run in millionths of a dollar, and whether it was charged for."""

    micros: int
    verified: bool


class _Costs(msgspec.Struct, frozen=True):
    """The fields of any event that are counted; people in it stay sealed."""

    lookup: str = ""
    costs: tuple[SourceCost, ...] = ()
    verified: Any = None  # a number where a lookup is finished


_decoder = msgspec.json.Decoder(_Costs)


async def past_runs(log: EventLog, now: datetime) -> Sequence[PastRun]:
    """Return the live runs that ended in the last `WEEKS` weeks and recorded their costs.

    Raises:
        LogUnavailable: The log is away.
    """
    after = await History(log).position_at(now - timedelta(weeks=WEEKS))
    upto = await log.head()
    spent = dict[str, int]()
    found = []
    while after < upto:
        end = min(after + WINDOW, upto)
        for row in await log.select(EVERYTHING, after, end):
            if not row.stream.startswith("brand-"):
                continue
            try:
                event = _decoder.decode(row.state)
            except DAMAGED:
                continue
            if event.costs:
                micros = sum(each.micros for each in event.costs)
                spent[event.lookup] = spent.get(event.lookup, 0) + micros
            if event_of(row.topic) is LookupFinished and event.lookup in spent:
                found.append(PastRun(spent.pop(event.lookup), bool(event.verified)))
        after = end
    return found
