"""What views need of the database that they are in; PostgreSQL and SQLite offer it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from cs.eventlog.errors import LogUnavailable
from cs.projections.builds import Build
from cs.projections.rows import ChangedRow

T = TypeVar("T")


class BuildGone(LogUnavailable):
    """The tables of a build are gone, damaged or replaced."""

    def __init__(self, why: str = "the tables of the views were replaced") -> None:
        super().__init__(why)


class Session(Protocol):
    """A connection, in a transaction or for one statement.

    Attributes:
        in_thread: Whether its methods are called in a thread of their own and never wait for
            the event loop.
    """

    in_thread: bool

    async def fetch(self, statement: str, *values: object) -> Sequence[Any]:
        """Run *statement*, written for PostgreSQL, and return its rows."""

    async def write(self, build: Build, changes: Iterable[ChangedRow]) -> None:
        """Insert or replace rows, each once."""

    async def lock(self) -> None:
        """Let one session at a time make or drop tables, until the transaction ends."""

    async def tables(self) -> set[str]:
        """Return the names of all tables that begin with ``view_``."""

    async def other_rights(
        self, build: Build, other: Build, names: Sequence[str]
    ) -> str | None:
        """Return the owners of *build* if the tables of *other* have other owners or grants."""


class ViewDatabase(Protocol):
    """A place for views.

    Raises:
        LogUnavailable: From every method: it cannot be used now.
        BuildGone: From every method: a table or column is missing, or the file was damaged.
    """

    async def run(self, work: Callable[[Session], Awaitable[T]], *, writing: bool = False) -> T:
        """Run *work* in a transaction that sees one moment, or may write if *writing*."""

    async def fetch(self, statement: str, *values: object) -> Sequence[Any]:
        """Run one statement, written for PostgreSQL, that only reads."""

    async def row(self, build: Build, table: str, row_id: str) -> tuple[int, bytes | None]:
        """Return the checkpoint of *build* and one row, both of one moment."""

    async def moved(self, look: Callable[[], Awaitable[int]], after: int, build: str) -> int:
        """Return what *look* gives once it is beyond *after*, or after a second.

        Args:
            look: Returns the checkpoint.
            after: The checkpoint that is known.
            build: The build that *after* is of, as notifications name it.
        """

    async def close(self) -> None: ...
