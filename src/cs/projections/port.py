"""What views need of the database that they are in; PostgreSQL and SQLite offer it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

from cs.eventlog.errors import LogUnavailable
from cs.projections.builds import Build
from cs.runtime.sql import Rows, Work

T = TypeVar("T")


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

    async def moved(self, look: Callable[[], Awaitable[int]], after: int, build: str) -> int:
        """Return what *look* gives once it is beyond *after*, or after a second.

        Args:
            look: Returns the checkpoint.
            after: The checkpoint that is known.
            build: The build that *after* is of, as notifications name it.
        """

    async def other_rights(
        self, build: Build, other: Build, names: Sequence[str]
    ) -> str | None:
        """Return the owners of *build* if the tables of *other* have other owners or grants."""
