"""Every projection there is.  A new one is a module and its line here."""

from collections.abc import Sequence

from cs.projections.brands import Brands
from cs.projections.projection import Projection
from cs.projections.returned import ReturnedPeople
from cs.projections.searches import Searches
from cs.projections.source_weeks import SourceWeeks
from cs.projections.usage import Usage


def projections() -> Sequence[Projection]:
    """Return them in the order in which they see an event."""
    return (
        Searches(),
        Usage(),
        Brands(),
        ReturnedPeople(),
        SourceWeeks(),
    )
