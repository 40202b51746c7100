"""What a list of brands will cost before it runs, from the log's own figures.

Of each live run of the last 13 weeks is read what it cost, how long it took and whether
anybody was verified: no person is opened.  A sum over *n* new runs is taken to be normal with
the mean *n m* and the variance *n s² + n² s²/N*: that of the runs themselves, and that of a
mean that only *N* runs tell.  Its 10th and 90th percentile are `TENTH` deviations away, never
below 0.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import fmean, variance

import msgspec

from cs.domain.brand import events as brand
from cs.domain.codec import AnyEvent, event_of
from cs.domain.source_cost import SourceCost, SourceFigures
from cs.domain.source_figures import WEEKS, summed
from cs.eventlog.port import EVERYTHING, EventLog
from cs.history.history import WINDOW, History
from cs.history.opening import DAMAGED

#: Runs with recorded costs below which the log is said to know too little.
ENOUGH_RUNS = 20
#: The newest runs of the 13 weeks: more would say the same.
MOST_RUNS = 10_000
#: Standard deviations from the mean to the 10th percentile of a normal distribution.
TENTH = 1.2816


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One live run that has ended.

    Attributes:
        took_s: From its start to its finish; ``None``: its start was not read.
        verified: Whether anybody was, so that it was charged.
        recorded: Whether its events say what it cost.
        figures: What whom it asked cost.
    """

    took_s: float | None
    verified: bool
    recorded: bool
    figures: tuple[SourceFigures, ...] = ()


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """What is expected, and between what it is in four of five cases."""

    expected: float
    p10: float
    p90: float


class ExpectedUse(msgspec.Struct, frozen=True, kw_only=True):
    """What one source or verifier is expected to be asked, and to cost in US dollars."""

    stage: str
    name: str
    calls: Spread
    usd: Spread


def spread(values: Sequence[float], times: int) -> Spread:
    """Return the sum of *times* further values like *values*, of which there is one at least.

    >>> spread([2.0, 2.0, 2.0], 10)
    Spread(expected=20.0, p10=20.0, p90=20.0)
    """
    mean, count = fmean(values), len(values)
    own = variance(values) if count > 1 else 0.0
    away = TENTH * math.sqrt(times * own + times * times * own / count)
    return Spread(
        expected=round(mean * times, 4),
        p10=round(max(mean * times - away, 0.0), 4),
        p90=round(mean * times + away, 4),
    )


def expected_uses(past: Sequence[PastRun], times: int, micros: int) -> list[ExpectedUse]:
    """Return what whom *past* runs paid is expected to cost in *times* further ones.

    Args:
        past: Runs that say what they cost, one at least.
        times: Live runs to come.
        micros: In a US dollar.
    """
    by_run = [{(f.stage, f.name): f for f in run.figures} for run in past]
    every = summed(figures for run in past for figures in run.figures)
    uses = []
    for key in ((each.stage, each.name) for each in every if each.calls or each.micros):
        rows = [run.get(key) for run in by_run]
        uses.append(
            ExpectedUse(
                stage=key[0],
                name=key[1],
                calls=spread([row.calls if row else 0 for row in rows], times),
                usd=spread([row.micros / micros if row else 0.0 for row in rows], times),
            )
        )
    return uses


# Of the events only what is counted is decoded: whoever was found stays sealed.
class _Started(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str


class _Ended(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str
    verified: int = 0


class _Attempt(msgspec.Struct, frozen=True):
    lookup: str
    stage: str = ""
    costs: tuple[SourceCost, ...] = ()


_STAGE_OF: dict[type[AnyEvent], str] = {
    brand.AttemptFailed: "",
    brand.BrandResolved: "brand-resolution",
    brand.ContactsDiscovered: "contact-discovery",
    brand.ContactsRanked: "ranking",
    brand.MailDomainChecked: "verification",
}
_started = msgspec.json.Decoder(_Started)
_ended = msgspec.json.Decoder(_Ended)
_attempt = msgspec.json.Decoder(_Attempt)


async def past_runs(log: EventLog, now: datetime) -> list[PastRun]:
    """Return the live runs that ended in the last `WEEKS` weeks, at most the newest 10,000.

    Raises:
        LogUnavailable: The log is away.
    """
    history = History(log)
    after = await history.position_at(now - timedelta(weeks=WEEKS))
    upto = await log.head()
    begun = dict[str, datetime]()
    spent = dict[str, list[SourceFigures]]()
    recorded = set[str]()
    found = deque[PastRun](maxlen=MOST_RUNS)
    while after < upto:
        end = min(after + WINDOW, upto)
        for row in await log.select(EVERYTHING, after, end):
            kind = event_of(row.topic)
            try:
                if kind is brand.LookupStarted:
                    started = _started.decode(row.state)
                    begun[started.lookup] = started.at
                elif kind in _STAGE_OF:
                    said = _attempt.decode(row.state)
                    if said.costs:
                        recorded.add(said.lookup)
                    figures = _figures(_STAGE_OF[kind] or said.stage, said.costs)
                    spent.setdefault(said.lookup, []).extend(figures)
                elif kind is brand.LookupFinished:
                    over = _ended.decode(row.state)
                    started_at = begun.pop(over.lookup, None)
                    took = None if started_at is None else over.at - started_at
                    found.append(
                        PastRun(
                            took_s=None if took is None else took.total_seconds(),
                            verified=over.verified > 0,
                            recorded=over.lookup in recorded,
                            figures=summed(spent.pop(over.lookup, ())),
                        )
                    )
                    recorded.discard(over.lookup)
            except DAMAGED:
                continue
        after = end
    return list(found)


def _figures(stage: str, costs: Iterable[SourceCost]) -> list[SourceFigures]:
    return [
        SourceFigures(stage=stage, name=c.name, asked=c.asked, calls=c.calls, micros=c.micros)
        for c in costs
    ]
