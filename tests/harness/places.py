"""The stores of the service in a file or in a database: only here tests name their classes.

A pytest plug-in too, with the fixture `place` for cases that hold of both.
"""

import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Container, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args

import pytest

from cs.assembly.databases import shared_calls
from cs.directory.postgres import PostgresDirectory
from cs.directory.sqlite import SqliteDirectory
from cs.eventlog.audit import Audit, Kind
from cs.eventlog.damage import unreadable_event
from cs.eventlog.port import EventLog, RecordedEvent
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.snapshots import Snapshots
from cs.eventlog.sqlite import SqliteEventLog
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.keystore.postgres import PostgresKeyStore
from cs.keystore.sqlite import SqliteKeyStore
from cs.keystore.wrapping import MasterKeys
from cs.paid_calls.budgets import Budgets, account_away
from cs.paid_calls.register import CallRegister
from cs.pipeline.heartbeats import Heartbeats, MemoryHeartbeats
from cs.postgres.heartbeats import PostgresHeartbeats
from cs.postgres.pool import Pool, connected, open_pool
from cs.postgres.schema import STORES, Store, migrate
from cs.postgres.sql import PostgresDatabase
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from harness.servers.databases import new_database

T = TypeVar("T")
#: The folder of a data folder's files, or a database.
Place: TypeAlias = Path | Pool
KEY = b"k" * 32


@asynccontextmanager
async def open_database(dsn: str, *stores: Store, role: str = "test") -> AsyncIterator[Pool]:
    """Yield connections to a database with the schema of *stores*, or of none."""
    async with open_pool(dsn, role=role) as pool:
        if stores:
            async with connected(pool) as connection:
                for store in stores:
                    await migrate(connection, store)
        yield pool


def kinds(*names: str) -> Any:
    """Return the fixture ``kind``: what `place` is, once each of *names*."""

    @pytest.fixture(
        params=[pytest.param(n, marks=[pytest.mark.slow] * ("postgres" in n)) for n in names]
    )
    def kind(request: pytest.FixtureRequest) -> str:
        return str(request.param)

    return kind


#: Both databases, PostgreSQL of the oldest major version too.
ALL_KINDS = ("sqlite", "postgres", "oldest_postgres")
kind = kinds(*ALL_KINDS)


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Any]:
    """Connections to a database of this test's own with every schema."""
    async with open_database(database, *STORES) as pool:
        yield pool


@pytest.fixture
async def place(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> AsyncIterator[Place]:
    """An empty folder, or a database of this test's own with every schema."""
    if "postgres" not in kind:
        yield tmp_path
        return
    server = request.getfixturevalue(kind)
    async with new_database(server) as dsn, open_database(dsn, *STORES) as pool:
        yield pool


async def sql(place: Place, file: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run *statement* as another process does: on *file* of a folder, or in the database."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place / file, isolation_level=None)) as other:
            named = {str(n): value for n, value in enumerate(values, 1)}
            return list(other.execute(statement, named))
    return [tuple(row) for row in await place.fetch(statement, *values)]


async def stored_bytes(place: Place, file: str, table: str) -> bytes:
    """Return every byte on the disk of *file* with its logs, or of *table* and its indexes."""
    if isinstance(place, Path):
        return b"".join(each.read_bytes() for each in sorted(place.glob(f"{file}*")))
    await place.execute("CHECKPOINT")
    rows = await place.fetch(
        "SELECT pg_read_binary_file(pg_relation_filepath(oid)) AS file FROM pg_class "
        "WHERE relname ~ $1 AND relkind IN ('r', 'i')",
        f"^{table}",
    )
    return b"".join(row["file"] for row in rows)


def log_in(place: Place, keys: KeyStore, **options: Any) -> SqliteEventLog | PostgresEventLog:
    if isinstance(place, Path):
        return SqliteEventLog(place / "log.db", keys, **options)
    return PostgresEventLog(place, keys)


def around_commits(
    log: Any, before: Callable[[], object] = int, after: Callable[[], object] = int
) -> None:
    """Call *before* and *after* around every commit of *log*, a log in a file."""
    recorder = log._recorder
    commit = recorder._commit

    def committing(cursor: sqlite3.Cursor) -> None:
        before()
        commit(cursor)
        after()

    recorder._commit = committing


def keys_in(
    place: Place, masters: Sequence[bytes] = (KEY,), **options: Any
) -> SqliteKeyStore | PostgresKeyStore:
    """Return a store whose master keys are *masters*, which may grow."""
    held = MasterKeys(lambda: masters)
    if isinstance(place, Path):
        return SqliteKeyStore(place / "keys.db", held, **options)
    return PostgresKeyStore(place, held)


def views_in(place: Place | None, *versions: Any) -> Views:
    """Return views of *versions*, of all projections without any; in memory without *place*."""
    shown = versions or projections()
    if isinstance(place, Path | None):
        return sqlite_views(place and place / "views.db", shown)
    return postgres_views(place, shown)


def runner_of(log: EventLog, views: Views, keys: KeyStore) -> ViewRunner:
    return ViewRunner(log, views, keys)


def _waiting(store: T, lock_timeout_s: int) -> T:
    """Return *store*, in a file, that waits so long for another process's transaction."""
    store._database._lock_timeout_s = lock_timeout_s  # type: ignore[attr-defined]
    return store


def directory_in(
    place: Place | None, key: bytes = KEY, lock_timeout_s: int = 10
) -> SqliteDirectory | PostgresDirectory:
    if isinstance(place, Path | None):
        directory = SqliteDirectory(place and place / "directory.db", lambda: key)
        return _waiting(directory, lock_timeout_s)
    return PostgresDirectory(place, key)


def calls_in(place: Place | None, key: bytes = KEY, lock_timeout_s: int = 10) -> CallRegister:
    if isinstance(place, Path | None):
        calls = CallRegister.in_file(place and place / "calls.db", lambda: key)
        return _waiting(calls, lock_timeout_s)
    return shared_calls(place, key)


def budgets_in(place: Place | None, lock_timeout_s: int = 10) -> Budgets:
    if isinstance(place, Path | None):
        return _waiting(Budgets.in_file(place and place / "spending.db"), lock_timeout_s)
    return Budgets(PostgresDatabase(place, account_away))


def heartbeats_in(place: Pool | None) -> Heartbeats:
    return MemoryHeartbeats(time.monotonic) if place is None else PostgresHeartbeats(place)


def streams_of(log: EventLog, snapshots: Snapshots | None = None) -> Streams:
    """Return the folded states of *log* as a process keeps them."""
    return Streams(log, snapshots)


#: Every kind of violation that `audited` finds.
VIOLATIONS: tuple[str, ...] = get_args(Kind)


def audited(events: Iterable[RecordedEvent], damaged: Container[int] = ()) -> set[str]:
    """Return the kinds of violations of a log at rest; those at *damaged* cannot be read."""
    audit, kinds = Audit(), set[str]()
    for each in events:
        gap = unreadable_event(each.position, each.stream, each.version, "is damaged")
        found = audit.check(gap if each.position in damaged else each)
        kinds |= {violation.kind for violation in found}
    return kinds | {violation.kind for violation in audit.end()}
