"""The names of views: a version, made of those of all projections, and builds of it.

A build is a set of tables that holds all rows of one version. Their names carry version and
build, so that one can be filled next to another, of the same version or of a newer one.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from cs.projections.projection import Projection
from cs.projections.rows import Table
from cs.projections.set_aside import ASIDE

#: The rows of streams that are set aside belong to no projection, and have their own version.
_ASIDE_VERSION = "aside1"
_PREFIX = re.compile(r"(view_[0-9a-f]{12}_[0-9]+)_[a-z]+")


class Build(NamedTuple):
    """One set of tables."""

    version: str
    number: int

    @property
    def prefix(self) -> str:
        """What the names of its tables begin with."""
        return _prefix(self.version, self.number)

    def table(self, name: str) -> str:
        """Return the stored name of the table *name*."""
        return f"{self.prefix}_{name}"


@lru_cache(64)  # every read of a row names its table
def _prefix(version: str, number: int) -> str:
    return f"view_{sha256(version.encode()).hexdigest()[:12]}_{number}"


def version_of(projections: Sequence[Projection]) -> str:
    """Return the version of views with *projections*."""
    return "_".join([*(f"{p.name}{p.version}" for p in projections), _ASIDE_VERSION])


def tables_of(projections: Iterable[Projection]) -> list[Table[Any]]:
    """Return all tables of *projections*, and the one that they share."""
    return [*(table for p in projections for table in p.tables), ASIDE]


def prefix_of(table: str) -> str | None:
    """Return the prefix of the build that *table* belongs to, if it belongs to one.

    >>> prefix_of("view_0123456789ab_4_usage")
    'view_0123456789ab_4'
    """
    found = _PREFIX.fullmatch(table)
    return found and found[1]
