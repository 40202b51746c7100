"""The stores of the service in a file or in a database: only here tests name their classes.

A pytest plug-in too, with the fixture `place` for cases that hold of both.
"""

import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args
from urllib.parse import urlsplit
from zlib import crc32

import asyncpg
import pytest

from cs.assembly.databases import shared_calls
from cs.directory.postgres import PostgresDirectory
from cs.directory.sqlite import SqliteDirectory
from cs.eventlog.audit import Audit, Kind
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.port import NO_EVENT, EventLog, RecordedEvent
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.snapshots import Snapshots
from cs.eventlog.sqlite import SqliteEventLog
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.keystore.postgres import PostgresKeyStore
from cs.keystore.sqlite import SqliteKeyStore
from cs.keystore.wrapping import MasterKeys
from cs.paid_calls.budgets import NO_TOTAL, Budgets, TotalCaps, account_away
from cs.paid_calls.register import CallRegister
from cs.pipeline.heartbeats import Heartbeats, MemoryHeartbeats
from cs.postgres.heartbeats import PostgresHeartbeats
from cs.postgres.pool import Pool, connected, open_pool
from cs.postgres.schema import STORES, Store, migrate, migrations
from cs.postgres.sql import PostgresDatabase
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from cs.runtime import failpoints
from cs.sqlite.sql import SqliteDatabase
from harness.servers.databases import new_database

T = TypeVar("T")
#: The folder of a data folder's files, or a database.
Place: TypeAlias = Path | Pool
KEY = b"k" * 32
#: What the test that runs has opened in memory; each keeps a thread until it is closed.
_in_memory: list[SqliteDatabase] = []


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    while _in_memory:
        _in_memory.pop().close_file()


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


kind = kinds("sqlite", "postgres")
#: For a contract whose every test runs on both versions.
EVERY_POSTGRES = ("newest_postgres", "oldest_postgres")


@asynccontextmanager
async def migrated_database(server: str) -> AsyncIterator[str]:
    """Create a database with every schema on *server*, and drop it on leaving."""
    async with new_database(server, await _template(server)) as dsn:
        yield dsn


async def _template(server: str) -> str:
    """Return the name of a database with every schema, which the first that asks makes.

    To copy it takes a quarter of the time that the migrations take.
    """
    steps = "".join(step.digest for store in STORES for step in migrations(store))
    name = f"template_{sha256(steps.encode()).hexdigest()[:16]}"
    if (server, name) in _templates:
        return name
    connection = await asyncpg.connect(server)
    try:
        await connection.execute("SELECT pg_advisory_lock(1)")  # until the connection ends
        if not await connection.fetchval(_IS_TEMPLATE, name):
            await connection.execute(f"DROP DATABASE IF EXISTS {name}")
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
            dsn = urlsplit(server)._replace(path=f"/{name}").geturl()
            async with open_database(dsn, *STORES):
                pass
            await connection.execute(f"ALTER DATABASE {name} IS_TEMPLATE true")
    finally:
        await connection.close()
    _templates.add((server, name))
    return name


_templates: set[tuple[str, str]] = set()
_IS_TEMPLATE = "SELECT datistemplate FROM pg_database WHERE datname = $1"


@pytest.fixture
async def migrated(postgres: str) -> AsyncIterator[str]:
    """DSN of a database of this test's own with every schema."""
    async with migrated_database(postgres) as dsn:
        yield dsn


@pytest.fixture
async def pool(migrated: str) -> AsyncIterator[Any]:
    """Connections to that database."""
    async with open_database(migrated) as pool:
        yield pool


@pytest.fixture
async def place(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> AsyncIterator[Place]:
    """An empty folder, or a database of this test's own with every schema."""
    if "postgres" not in kind:
        yield tmp_path
        return
    if kind == "postgres":  # of one version, by the name of the test
        kind = EVERY_POSTGRES[crc32(request.node.name.encode()) % 2]
    server = request.getfixturevalue(kind.removeprefix("newest_"))
    async with migrated_database(server) as dsn, open_database(dsn) as pool:
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


@contextmanager
def around_commits(
    before: Callable[[], object] = int, after: Callable[[], object] = int
) -> Iterator[None]:
    """Call *before* and *after* around every commit of a log within."""
    calls = {"log.before-commit": before, "log.after-commit": after}

    def reached(point: str) -> None:
        calls.get(point, int)()

    reach, failpoints.reach = failpoints.reach, reached
    try:
        yield
    finally:
        failpoints.reach = reach


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


def _in_sqlite(store: T, place: Path | None, lock_timeout_s: int) -> T:
    """Return *store*, which waits so long for a lock; one in memory ends with the test."""
    database: SqliteDatabase = store._database  # type: ignore[attr-defined]
    database._lock_timeout_s = lock_timeout_s
    if place is None:
        _in_memory.append(database)
    return store


def directory_in(
    place: Place | None, key: bytes = KEY, lock_timeout_s: int = 10
) -> SqliteDirectory | PostgresDirectory:
    if isinstance(place, Path | None):
        directory = SqliteDirectory(place and place / "directory.db", lambda: key)
        return _in_sqlite(directory, place, lock_timeout_s)
    return PostgresDirectory(place, key)


def calls_in(place: Place | None, key: bytes = KEY, lock_timeout_s: int = 10) -> CallRegister:
    if isinstance(place, Path | None):
        calls = CallRegister.in_file(place and place / "calls.db", lambda: key)
        return _in_sqlite(calls, place, lock_timeout_s)
    return shared_calls(place, key)


def budgets_in(
    place: Place | None, lock_timeout_s: int = 10, caps: TotalCaps = NO_TOTAL
) -> Budgets:
    if isinstance(place, Path | None):
        budgets = Budgets.in_file(place and place / "spending.db", caps)
        return _in_sqlite(budgets, place, lock_timeout_s)
    return Budgets(PostgresDatabase(place, account_away), caps)


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
        place = each.position, each.stream, each.version
        gap = UnreadableEvent(*place, NO_EVENT, why="is damaged")
        found = audit.check(gap if each.position in damaged else each)
        kinds |= {violation.kind for violation in found}
    return kinds | {violation.kind for violation in audit.end()}
