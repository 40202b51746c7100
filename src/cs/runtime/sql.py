"""Statements that run on SQLite and on PostgreSQL alike, so that a store is written once.

Both databases know ``$1`` parameters, ``ON CONFLICT``, ``RETURNING`` and ``FILTER``.  Times are
seconds since 1970: the SQLite driver (`cs.sqlite.sql`) provides PostgreSQL's functions
``clock_timestamp()``, ``to_timestamp($1)`` and ``date_part('epoch', column)`` for that, and
translates ``= ANY($1::text[])`` and ``= ANY($1::bytea[])``.  ``LOCK TABLE`` is for PostgreSQL:
a transaction of SQLite has the file for itself.

A transaction is a generator: it yields statements and is sent the rows of each.  SQLite runs
all of it in one go in a thread; PostgreSQL sends one statement after the other.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

T = TypeVar("T")


class Many(NamedTuple):
    """A statement that is run with the parameters of each row."""

    sql: str
    rows: Sequence[Sequence[Any]]


#: A statement and its parameters, or one for many rows.
Statement: TypeAlias = tuple[Any, ...] | Many
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

    async def fetch_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> Rows:
        """Run *sql* with the parameters of each of *rows*, as one transaction."""

    async def transact(self, work: Work[T]) -> T:
        """Run *work* as one transaction, which is durable on return."""

    async def transact_locking(self, work: Callable[[], Work[T]]) -> T:
        """Run *work*, which locks tables, as one transaction.

        While another transaction uses the tables it is given up and begun again, so that
        others do not queue behind it.
        """

    async def purge(self, table: str, column: str, values: Sequence[str]) -> int:
        """Delete the rows of *table* with *column* in *values*; return how many.

        No byte of them is left in the files of the table.

        Raises:
            DeletedDataRemains: They are deleted, but another process reads the file.
        """

    async def wipe(self, *, rewrite: bool = False) -> None:
        """Overwrite what was deleted before, where the database leaves it in its files.

        Args:
            rewrite: Also the copies that rows which moved between pages have left.

        Raises:
            DeletedDataRemains: Another process reads the file.
        """

    async def wipe_parts(
        self, table: str, column: str, values: Sequence[str] | None = None
    ) -> None:
        """Leave no byte of what changed rows of *table* held before.

        Args:
            table: One that PostgreSQL has in parts.
            column: By which the rows are known.
            values: Of the rows that were changed; ``None``: all rows may be among them.

        Raises:
            DeletedDataRemains: Another process reads the file.
        """

    async def close(self) -> None:
        """Close what this opened."""
