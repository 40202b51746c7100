"""Views as they are stored, for tests that look into them or harm them."""

from cs.projections.catalogue import projections
from cs.projections.generation import generation, table_prefix


def table_of(name: str) -> str:
    """Return what the table *name* of today's generation is called where it is stored."""
    return f"{table_prefix(generation(projections()))}_{name}"
