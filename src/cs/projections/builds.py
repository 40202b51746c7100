"""Builds of views, and what they need of the database that they are in.

A build is a set of tables that holds all rows of one version, which is made of those of all
projections. Their names carry version and build, so that one can be filled next to another, of
the same version or of a newer one.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from cs.eventlog.port import LogUnavailable
from cs.projections.set_aside import ASIDE
from cs.projections.table import Projection, Table
from cs.runtime.sql import Rows, Work

T = TypeVar("T")

#: Waits for a commit that another process may make, at most about a second.
Wait: TypeAlias = Callable[[], Awaitable[object]]

#: The rows of streams that are set aside belong to no projection, and have their own version.
_ASIDE_VERSION = "aside1"
_PREFIX = re.compile(r"(view_[0-9a-f]{12}_[0-9]+)_[a-z]+")


class Build(NamedTuple):
    """One set of tables."""

    version: str
    number: int

    @property
    def prefix(self) -> str:
        """The beginning of the names of its tables."""
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


class BuildGone(LogUnavailable):
    """The tables of a build are gone, damaged or replaced."""

    def __init__(self, why: str = "the tables of the views were replaced") -> None:
        super().__init__(why)


class ViewDatabase(Protocol):
    """A place for views, which runs statements as `cs.runtime.sql.Database` does.

    Raises:
        LogUnavailable: From every method: it cannot be used now.
        BuildGone: From every method: a table or column is missing, or the file was damaged.
    """

    @property
    def tables(self) -> str:
        """The statement that returns the names of all tables that begin with ``view_``."""

    async def fetch(self, sql: str, *parameters: Any) -> Rows: ...
    async def transact(self, work: Work[T]) -> T: ...
    async def close(self) -> None: ...

    async def row(self, build: Build, table: str, row_id: str) -> tuple[int, bytes | None]:
        """Return the checkpoint of *build* and one row, both of one moment."""

    async def listen(self) -> Wait:
        """Return what waits for a commit after this call, or for a second."""

    async def other_rights(
        self, build: Build, other: Build, names: Sequence[str]
    ) -> str | None:
        """Return the owners of *build* if the tables of *other* have other owners or grants."""
