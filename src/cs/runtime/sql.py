"""Statements that run on SQLite and on PostgreSQL alike, so that a store is written once.

Both databases know ``$1`` parameters, ``ON CONFLICT``, ``RETURNING`` and ``FILTER``.  Times are
seconds since 1970: the SQLite driver (`cs.sqlite.sql`) provides PostgreSQL's functions
``clock_timestamp()``, ``to_timestamp($1)`` and ``date_part('epoch', column)`` for that.

A transaction is a generator: it yields statements and is sent the rows of each.  SQLite runs
all of it in one go in a thread; PostgreSQL sends one statement after the other.
"""

from collections.abc import Generator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")

#: A statement and its parameters.
Statement: TypeAlias = tuple[Any, ...]
#: Rows, each a sequence of its columns; none of a statement that returns nothing.
Rows: TypeAlias = Sequence[Any]
#: A transaction that returns *T*.  What it raises undoes all of it.
Work: TypeAlias = Generator[Statement, Rows, T]

#: Seconds since 1970, by the clock of the database.
NOW = "SELECT date_part('epoch', clock_timestamp())"


class Database(Protocol):
    """A connection to a store's tables.

    Every method raises the error that the store gave for a database that is away.
    """

    async def fetch(self, sql: str, *parameters: Any) -> Rows:
        """Run one statement, which is durable on return.

        Where no file was made yet it makes none, and returns nothing.
        """

    async def transact(self, work: Work[T]) -> T:
        """Run *work* as one transaction, which is durable on return."""

    async def purge(self, table: str, column: str, values: Sequence[str]) -> int:
        """Delete the rows of *table* with *column* in *values*; return how many.

        No byte of them is left in the files of the table.

        Raises:
            DeletedDataRemains: They are deleted, but another process reads the file.
        """

    async def wipe(self) -> None:
        """Overwrite what was deleted before, where the database leaves it in its files.

        Raises:
            DeletedDataRemains: Another process reads the file.
        """

    async def close(self) -> None:
        """Close what this opened."""
