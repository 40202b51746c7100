"""Every projection there is.  A new one is a module and its line here."""

from collections.abc import Sequence

from cs.projections.brands import BRANDS
from cs.projections.returned import RETURNED
from cs.projections.searches import RESULTS, SEARCHES
from cs.projections.source_weeks import WEEK
from cs.projections.table import Projection
from cs.projections.usage import OLD_SECRETS, USAGE


def projections() -> Sequence[Projection]:
    """Return all projections; other ones, another order or version: other views."""
    return (
        Projection("searches", 4, (SEARCHES, RESULTS)),
        Projection("usage", 6, (USAGE, OLD_SECRETS)),
        Projection("brands", 2, (BRANDS,)),
        Projection("returned", 2, (RETURNED,)),
        Projection("costs", 2, (WEEK,)),
    )
