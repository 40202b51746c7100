"""Costs and results of sources and verifiers: one row a week.

The order of asking is made from the last of them (`cs.domain.source_order`).  A row grows with
the number of sources, not of people.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import reduce

import msgspec

from cs.domain.brand.events import EVENT_TOPICS, AttemptFailed, LookupFinished
from cs.domain.messages import Event
from cs.domain.source_cost import SourceFigures
from cs.domain.stages.table import closed_work
from cs.eventlog.port import RecordedEvent
from cs.projections.table import Table
from cs.projections.views import Views

#: Weeks that count for the order of asking, the current one included: a quarter of a year.
WEEKS = 13


class WeekRow(msgspec.Struct, frozen=True):
    """The sums of one week, by stage and name."""

    figures: tuple[SourceFigures, ...]


async def figures_until(views: Views, now: datetime) -> tuple[SourceFigures, ...]:
    """Return the sums of the `WEEKS` weeks that end with the one of *now*.

    Raises:
        LogUnavailable: The views cannot be read.
    """
    figures: list[SourceFigures] = []
    for n in range(WEEKS):
        row = await views.get(WEEK, week_of(now - timedelta(weeks=n)))
        figures += row.figures if row is not None else ()
    return summed(figures)


def figures_of(event: object) -> tuple[SourceFigures, ...]:
    """Return what *event*, of any type, adds."""
    match event:
        case LookupFinished(verified_from=named, verified_by=confirmed):
            people = [
                SourceFigures("contact-discovery", n, verified=v) for n, v in named.items()
            ]
            mailboxes = [
                SourceFigures("verification", n, verified=v) for n, v in confirmed.items()
            ]
            return (*people, *mailboxes)
        case AttemptFailed(stage=stage, costs=costs):
            pass
        case _:
            closed = closed_work(event)
            if closed is None:
                return ()
            stage, costs = closed.stage, getattr(event, "costs", ())
    return tuple(
        SourceFigures(stage, c.name, c.asked, c.calls, c.micros, c.found, c.used)
        for c in costs
        if c.asked or c.calls or c.micros
    )


def summed(figures: Iterable[SourceFigures]) -> tuple[SourceFigures, ...]:
    """Return one row for each stage and name, in that order."""
    rows: dict[tuple[str, str], list[SourceFigures]] = {}
    for each in figures:
        rows.setdefault((each.stage, each.name), []).append(each)
    return tuple(reduce(SourceFigures.__add__, rows[key]) for key in sorted(rows))


def week_of(at: datetime) -> str:
    """Return the week of ISO 8601 that *at* is in, as text that sorts by time.

    >>> from datetime import UTC
    >>> week_of(datetime(2027, 1, 3, tzinfo=UTC))
    '2026-W53'
    """
    year, week, _ = at.isocalendar()
    return f"{year:04}-W{week:02}"


def _fold(before: WeekRow | None, recorded: RecordedEvent) -> WeekRow | None:
    more = figures_of(recorded.event)
    if not more:
        return before
    return WeekRow(summed(more if before is None else (*before.figures, *more)))


#: By week, as `week_of` names it.  Read of events that say what was paid, or who is verified
#: thanks to which source.
WEEK = Table(
    "costs",
    WeekRow,
    frozenset[type[Event]](
        shape
        for shape in EVENT_TOPICS.values()
        if not {"costs", "verified_from"}.isdisjoint(shape.__struct_fields__)
    ),
    lambda recorded: week_of(recorded.event.at),
    _fold,
)
