"""Views as they are stored, for tests that look into them or harm them."""

from cs.projections.builds import Build, version_of
from cs.projections.catalogue import projections


def table_of(name: str, number: int = 1) -> str:
    """Return the stored name of the table *name* of build *number*."""
    return Build(version_of(projections()), number).table(name)
