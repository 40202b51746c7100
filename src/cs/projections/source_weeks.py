"""What sources and verifiers cost and gave, week by week: one row a week.

The order of asking is made from the last of them (`cs.domain.source_order`).
"""

from datetime import datetime, timedelta
from typing import ClassVar

import msgspec

from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    MailDomainChecked,
    StageDone,
)
from cs.domain.messages import Event
from cs.domain.source_cost import SourceFigures
from cs.domain.source_figures import WEEKS, figures_of, summed, week_of
from cs.eventlog.port import RecordedEvent
from cs.projections.projection import SealBody
from cs.projections.rows import Rows, Table
from cs.projections.views import Views


class WeekRow(msgspec.Struct, frozen=True):
    """The sums of one week, by stage and name."""

    figures: tuple[SourceFigures, ...]


#: By week, as `week_of` names it.
WEEK = Table("costs", WeekRow)


class SourceWeeks:
    name = "costs"
    version = 2
    tables = (WEEK,)
    reads: ClassVar[frozenset[type[Event]] | None] = frozenset(
        {
            AttemptFailed,
            BrandResolved,
            ContactsDiscovered,
            ContactsRanked,
            LookupFinished,
            MailDomainChecked,
            StageDone,
        }
    )

    def apply(self, rows: Rows, recorded: RecordedEvent, seal: SealBody) -> None:
        del seal
        match recorded.event:
            case (
                LookupFinished(at=at)
                | AttemptFailed(at=at)
                | BrandResolved(at=at)
                | ContactsDiscovered(at=at)
                | ContactsRanked(at=at)
                | MailDomainChecked(at=at)
                | StageDone(at=at)
            ):
                more = figures_of(recorded.event)
            case _:
                return
        if more:
            week = week_of(at)
            before = rows.get(WEEK, week)
            figures = more if before is None else (*before.figures, *more)
            rows.put(WEEK, week, WeekRow(summed(figures)))


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
