"""What the log says of sources and verifiers: sums of what they cost and gave.  Pure.

A fold whose size goes by the sources and never by the people: every event adds counts to the
row of a stage and a name, and rows of several weeks add up.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import reduce

from cs.domain.brand.events import AttemptFailed, LookupFinished
from cs.domain.source_cost import SourceFigures
from cs.domain.stages.table import closed_work

#: Weeks that count for the order of asking, the current one included: a quarter of a year.
WEEKS = 13


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
