"""What the log says of sources and verifiers: sums of what they cost and gave.  Pure.

A fold whose size goes by the sources and never by the people: every event adds counts to the
row of a stage and a name, and rows of several weeks add up.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import reduce

from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    MailDomainChecked,
)
from cs.domain.source_cost import SourceCost, SourceFigures
from cs.domain.stages.work import StageName

#: Weeks that count for the order of asking, the current one included: a quarter of a year.
WEEKS = 13


def figures_of(event: object) -> tuple[SourceFigures, ...]:
    """Return what *event*, of any type, adds."""
    match event:
        case LookupFinished(verified_from=named, verified_by=confirmed):
            if not named and not confirmed:
                return ()  # most: answered by nobody, or of before this was noted
            return (
                *_of_verified("contact-discovery", named.items()),
                *_of_verified("verification", confirmed.items()),
            )
        case AttemptFailed(stage=stage, costs=costs):
            return _of_costs(stage, costs)
        case BrandResolved(costs=costs):
            return _of_costs("brand-resolution", costs)
        case ContactsDiscovered(costs=costs):
            return _of_costs("contact-discovery", costs)
        case ContactsRanked(costs=costs):
            return _of_costs("ranking", costs)
        case MailDomainChecked(costs=costs):
            return _of_costs("verification", costs)
        case _:
            return ()


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


def _of_costs(stage: StageName, costs: Iterable[SourceCost]) -> tuple[SourceFigures, ...]:
    return tuple(
        SourceFigures(
            stage=stage,
            name=each.name,
            asked=each.asked,
            calls=each.calls,
            micros=each.micros,
            found=each.found,
            used=each.used,
        )
        for each in costs
        if each.asked or each.calls or each.micros
    )


def _of_verified(
    stage: StageName, counts: Iterable[tuple[str, int]]
) -> tuple[SourceFigures, ...]:
    return tuple(SourceFigures(stage=stage, name=name, verified=n) for name, n in counts)
