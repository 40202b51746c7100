"""The schema: numbered steps, forward only, each applied once under a lock.

Steps are files ``migrations/<store>/NNNN_name.sql``.  Each must be safe while the version
before it still runs: it adds, and a later release removes what is no longer used.  A
step that was applied never changes; its digest is kept and compared.

No writer is kept waiting for long.  A step is one transaction, which gives up the locks
it asks for after `LOCK_WAIT_S` and is tried again: those queued behind it wait no longer.
An index on a table that may be large is a step of its own, ``CREATE INDEX CONCURRENTLY``,
outside a transaction.
"""

import asyncio
import re
import time
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Literal, TypeAlias

import asyncpg
import msgspec

from cs.postgres.errors import WrongSchema
from cs.postgres.pool import Connection, PooledConnection, translate_errors

#: Of ``pg_advisory_lock``: one migration at a time in a database.
LOCK = 0x63735F64

#: A step may read a large table; another migration waits as long.
TAKES_S = 3600.0

#: A lock that is asked for stops everything that comes after, also while it is not given.
LOCK_WAIT_S = 1.0
#: Between two tries for it: longer, so that who queued behind the first is through.
LOCK_PAUSE_S = 2.0
#: Between two looks whether another migration has ended.
TURN_PAUSE_S = 0.2


AnyConnection: TypeAlias = Connection | PooledConnection
Store = Literal["service", "keys", "stages"]
#: Every store: what the service keeps, the key store, and the stages' own.
STORES: tuple[Store, ...] = ("service", "keys", "stages")

#: A step that is one statement, which builds an index while others write.
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON [^;]+;")
_COMMENT = re.compile(r"--[^\n]*")
_FORMERLY = re.compile(r"^-- Formerly ([0-9a-f]{64})$", re.MULTILINE)


class Migration(msgspec.Struct, frozen=True):
    number: int  # from 1, without gaps
    name: str
    sql: str

    @property
    def digest(self) -> str:
        return sha256(self.sql.encode()).hexdigest()

    @property
    def digests(self) -> Sequence[str]:
        """Digests of this step, and of what it was before: that came to the same."""
        return (self.digest, *_FORMERLY.findall(self.sql))

    @property
    def index(self) -> str | None:
        """The index that this step builds outside a transaction; ``None``: it does no such."""
        found = _INDEX.fullmatch(_COMMENT.sub("", self.sql).strip())
        return found[1] if found else None


def migrations(store: Store) -> Sequence[Migration]:
    """Return the steps of *store* in order."""
    folder = files("cs.postgres") / "migrations" / store
    found = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda entry: entry.name,
    )
    return [
        Migration(int(entry.name[:4]), entry.name[5:-4], entry.read_text()) for entry in found
    ]


async def migrate(connection: AnyConnection, store: Store) -> Sequence[Migration]:
    """Bring the database up to this version; return the steps that were applied.

    Several may run this at once: the others wait, then find nothing to do.

    Raises:
        WrongSchema: A step that was applied is not the one of this version.
        DatabaseUnavailable: PostgreSQL cannot be reached.
    """
    steps = migrations(store)
    with translate_errors():
        await connection.execute("SET lock_timeout = 0; SET statement_timeout = 0")
        await _take_turn(connection)
        try:
            await connection.execute(_TABLE)
            applied = await _applied(connection, store)
            _compare(store, steps, applied)
            lacking = [step for step in steps if step.number not in applied]
            for step in lacking:
                if step.index is None:
                    await _apply(connection, store, step)
                else:
                    await _build(connection, step, step.index)
                    await _keep(connection, store, step)
            return lacking
        finally:
            await connection.execute("SELECT pg_advisory_unlock($1)", LOCK)
            await connection.execute("RESET lock_timeout; RESET statement_timeout")


async def _take_turn(connection: AnyConnection) -> None:
    """Take the lock, asking for it again and again.

    A statement that waits keeps a snapshot, and building an index waits for every process that
    has one: each would wait for the other.
    """
    until = time.monotonic() + TAKES_S
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK):
        if time.monotonic() > until:
            raise TimeoutError("another migration of this database goes on")
        await asyncio.sleep(TURN_PAUSE_S)


async def _apply(connection: AnyConnection, store: Store, step: Migration) -> None:
    until = time.monotonic() + TAKES_S
    while True:
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_S * 1000:.0f}")
                await connection.execute(step.sql, timeout=TAKES_S)
                await _keep(connection, store, step)
        except asyncpg.LockNotAvailableError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(LOCK_PAUSE_S)
        else:
            return


async def _build(connection: AnyConnection, step: Migration, index: str) -> None:
    """Build *index*, unless that was done and only not noted; an unfinished one again."""
    valid = await connection.fetchval(_INDEX_IS_VALID, index)
    if valid is False:
        await connection.execute(f"DROP INDEX CONCURRENTLY {index}", timeout=TAKES_S)
    if not valid:
        await connection.execute(step.sql, timeout=TAKES_S)


async def _keep(connection: AnyConnection, store: Store, step: Migration) -> None:
    await connection.execute(
        "INSERT INTO schema_steps (store, number, name, digest) VALUES ($1, $2, $3, $4)",
        store,
        step.number,
        step.name,
        step.digest,
    )


async def missing(connection: AnyConnection, store: Store) -> Sequence[Migration]:
    """Return the steps of this version that the database lacks; newer ones are no harm.

    Raises:
        WrongSchema: A step is not the one of this version.
        DatabaseUnavailable: PostgreSQL cannot be reached.
    """
    steps = migrations(store)
    with translate_errors():
        there = await connection.fetchval("SELECT to_regclass('schema_steps') IS NOT NULL")
        applied = await _applied(connection, store) if there else {}
    _compare(store, steps, applied)
    return [step for step in steps if step.number not in applied]


async def check(connection: AnyConnection, store: Store) -> None:
    """Check that the database has every step of this version.

    Raises:
        WrongSchema: A step is missing, or is not the one of this version.
        DatabaseUnavailable: PostgreSQL cannot be reached.
    """
    lacking = await missing(connection, store)
    if lacking:
        raise WrongSchema(
            f"the {store} database lacks step {lacking[0].number} ({lacking[0].name}) of its "
            "schema; run `cs db migrate`"
        )


async def _applied(connection: AnyConnection, store: Store) -> dict[int, str]:
    rows = await connection.fetch(
        "SELECT number, digest FROM schema_steps WHERE store = $1", store
    )
    return {row["number"]: row["digest"] for row in rows}


def _compare(store: Store, steps: Sequence[Migration], applied: dict[int, str]) -> None:
    for step in steps:
        if applied.get(step.number, step.digest) not in step.digests:
            raise WrongSchema(
                f"step {step.number} ({step.name}) of the {store} database is not the one of "
                "this version: the database belongs to another build; name another database"
            )


_TABLE = """
CREATE TABLE IF NOT EXISTS schema_steps (
    store TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (store, number)
)
"""

_INDEX_IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
