"""Data keys in a PostgreSQL database of their own, wrapped by a master key.

The database is reached by a DSN that only the roles that open personal values have.  What
it stores is useless without the master key, which is in no database.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from secrets import token_hex
from typing import Self

import asyncpg

from cs.keystore.errors import KeysUnavailable, WrongMasterKey
from cs.keystore.lost import LostValues
from cs.keystore.open_keys import OpenKeys, ensured
from cs.keystore.wrapping import (
    FINGERPRINTS,
    UNNAMED_SIZE,
    MasterKeys,
    fingerprint,
    secret_name,
    version_of,
)
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.lock_retry import WRITE_ANEW_S, retry_while_locked
from cs.postgres.pool import Pool, PooledConnection, transaction, translate_errors


class PostgresKeyStore:
    """Use as ``async with``.

    Args:
        pool: To the key store's own database.
        master: 32 bytes, or two such while the master key is changed.

    Raises:
        KeysUnavailable: On entering: the database is away.
        WrongMasterKey: On entering: the store was made with another master key.
    """

    def __init__(self, pool: Pool, master: bytes | MasterKeys) -> None:
        self._pool = pool
        self._masters = MasterKeys.of(master)
        self._in_use = self._masters.first
        self._named = False  # how new keys are wrapped: read with which master key is in use
        self._open = OpenKeys()
        self._secrets: dict[str, bytes] = {}
        self.lost = LostValues()

    async def __aenter__(self) -> Self:
        async with self._writing() as connection:
            made = await connection.fetchval(_MAKE_MASTER, self._masters.first.proof)
            await self._look_in_use(connection)
            older = await connection.fetch("SELECT proof FROM older_master")
            self._masters.check_older(_WHERE, [row["proof"] for row in older])
            # In this transaction, or one who opens it beside us takes it for an older store.
            first = self._in_use.earlier_secrets()
            if made is not None:
                first = {name: os.urandom(32) for name in first}
            for name, secret in first.items():
                await self._keep_secret(connection, name, secret)
        await self.secret(FINGERPRINTS)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.forget()

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await ensured(self._open, self.lost, names, self._ensure)

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await self._open.get(names, self._find)

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        held, _ = await self._open.anew(names, self._look)
        return held

    async def index(self, entries: Iterable[tuple[str, str]]) -> None:
        rows = sorted(set(entries))  # in one order everywhere, or two callers may deadlock
        if not rows:
            return
        prints, names = [row[0] for row in rows], [row[1] for row in rows]
        async with self._writing() as connection:
            await connection.execute(_SUPPRESSING)
            await connection.execute(_INDEX, prints, names)
            gone = await connection.fetch(_DESTROY_SUPPRESSED, prints, names)
        if gone:
            self._open.drop(row["name"] for row in gone)
            await self._write_anew(gone)

    async def secret(self, name: str) -> bytes:
        if name not in self._secrets:
            async with self._writing() as connection:
                wrapped = await connection.fetchval(_SECRET, name)
                while wrapped is None:
                    await self._look_in_use(connection)
                    await self._keep_secret(connection, name, os.urandom(32))
                    wrapped = await connection.fetchval(_SECRET, name)
            self._secrets[name] = self._masters.unwrapped(secret_name(name), wrapped)
        return self._secrets[name]

    def fingerprint(self, kind: str, value: str) -> str:
        return fingerprint(self._secrets[FINGERPRINTS], kind, value)

    async def matching(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._column(_MATCHING, fingerprints)

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        async with self._writing() as connection:
            # Waits for every index under way, so that `matching` is complete afterwards.
            await connection.execute("LOCK TABLE suppressed IN EXCLUSIVE MODE")
            await connection.execute(
                "INSERT INTO suppressed SELECT DISTINCT unnest($1::text[]) "
                "ON CONFLICT DO NOTHING",
                list(fingerprints),
            )

    async def unsuppress(self, fingerprints: Iterable[str]) -> None:
        async with self._writing() as connection:
            await connection.execute(
                "DELETE FROM suppressed WHERE fingerprint = ANY($1::text[])", list(fingerprints)
            )

    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._column(_SUPPRESSED, fingerprints)

    async def destroy(self, names: Iterable[str]) -> None:
        gone = sorted(set(names))
        if gone:
            async with self._writing() as connection:
                destroyed = await connection.fetch(_DESTROY, gone)
            await self._write_anew(destroyed)
        self.forget()

    def forget(self) -> None:
        self._open.forget()

    async def versions(self) -> Sequence[str]:
        """Return the master key in use, then those that keys are wrapped with still."""
        async with self._writing() as connection:
            await self._look_in_use(connection)
            older = await connection.fetch("SELECT proof FROM older_master")
        return [self._in_use.version, *(version_of(row["proof"]) for row in older)]

    async def begin_rotation(self, version: str) -> None:
        new = self._masters.get(version)
        if new is None:
            raise WrongMasterKey(f"this process does not hold the master key {version}")

        async def begin(connection: PooledConnection) -> None:
            await connection.execute(_NOBODY_WRAPS)
            await self._look_in_use(connection)
            if self._in_use.version != version:
                await connection.execute(
                    "INSERT INTO older_master VALUES ($1) ON CONFLICT DO NOTHING",
                    self._in_use.proof,
                )
                await connection.execute("DELETE FROM older_master WHERE proof = $1", new.proof)
            await connection.execute("UPDATE master SET proof = $1, named = true", new.proof)

        await self._rotating(begin)
        self._in_use, self._named = new, True

    async def rewrap(self, after: str, limit: int) -> tuple[str, int]:
        async with self._writing() as connection:
            rows = await connection.fetch(_OTHERWISE, self._in_use.mark, after, limit)
            names = [row["name"] for row in rows]
            before = [row["wrapped"] for row in rows]
            anew = [
                self._wrapped(name, self._masters.unwrapped(name, wrapped))
                for name, wrapped in zip(names, before, strict=True)
            ]
            await connection.execute(_REWRAP, names, before, anew)
        return (names[-1] if names else after), len(names)

    async def left(self) -> int:
        async with self._writing() as connection:
            found: int = await connection.fetchval(_LEFT, self._in_use.mark)
        return found

    async def end_rotation(self) -> None:
        async def end(connection: PooledConnection) -> None:
            for row in await connection.fetch("SELECT name, wrapped FROM secret FOR UPDATE"):
                name = secret_name(row["name"])
                wrapped = self._wrapped(name, self._masters.unwrapped(name, row["wrapped"]))
                await connection.execute(
                    "UPDATE secret SET wrapped = $2 WHERE name = $1", row["name"], wrapped
                )

        await self._rotating(end)
        async with self._writing() as connection:
            parts = await connection.fetch(_PARTS)
        await self._write_anew(parts)
        async with self._writing() as connection:
            await connection.execute("DELETE FROM older_master")

    async def _rotating(self, step: Callable[[PooledConnection], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(WRITE_ANEW_S):
                await retry_while_locked(self._pool, step)
        except (DatabaseUnavailable, TimeoutError) as error:
            why = str(error) or "a transaction on the table does not end (pg_stat_activity)"
            raise KeysUnavailable(f"the key store: {why}; rotate again") from error

    async def _keep_secret(
        self, connection: PooledConnection, name: str, secret: bytes
    ) -> None:
        """Store *secret* unless there is one called *name*."""
        wrapped = self._wrapped(secret_name(name), secret)
        await connection.execute(_KEEP_SECRET, name, wrapped, self._in_use.proof, self._named)

    def _wrapped(self, name: str, key: bytes) -> bytes:
        return self._in_use.wrapped(name, key, named=self._named)

    async def _ensure(self, names: Sequence[str]) -> dict[str, bytes]:
        held = await self._look(names)
        while missing := sorted(set(names) - held.keys()):
            made = [self._wrapped(name, os.urandom(32)) for name in missing]
            async with self._writing() as connection:
                stored = await connection.fetchval(
                    _MAKE, missing, made, self._in_use.proof, self._named
                )
                if not stored:  # all are there by now, or another master key is in use
                    await self._look_in_use(connection)
            held |= await self._look(missing)
        return {name: key for name, key in held.items() if key is not None}

    async def _look_in_use(self, connection: PooledConnection) -> None:
        (row,) = await connection.fetch("SELECT proof, named FROM master")
        self._in_use, self._named = self._masters.in_use(_WHERE, row["proof"]), row["named"]

    async def _find(self, names: Sequence[str]) -> dict[str, bytes]:
        held = await self._look(names)
        return {name: key for name, key in held.items() if key is not None}

    async def _look(self, names: Sequence[str]) -> dict[str, bytes | None]:
        return {
            name: None if wrapped is None else self._masters.unwrapped(name, wrapped)
            for name, wrapped in await self._read(_LOOK, names)
        }

    async def _column(self, query: str, values: Iterable[str]) -> frozenset[str]:
        return frozenset(row[0] for row in await self._read(query, values))

    async def _read(self, query: str, values: Iterable[str]) -> Sequence[asyncpg.Record]:
        try:
            with translate_errors():
                return await self._pool.fetch(query, list(values))
        except DatabaseUnavailable as error:
            raise KeysUnavailable(f"the key store: {error}") from error

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[PooledConnection]:
        try:
            async with transaction(self._pool) as connection:
                yield connection
        except DatabaseUnavailable as error:
            raise KeysUnavailable(f"the key store: {error}") from error

    async def _write_anew(self, destroyed: Iterable[asyncpg.Record]) -> None:
        """Put a new table in the place of each part that *destroyed* keys were in.

        A page keeps the bytes of a row that was changed, and so does a part that is
        vacuumed while any transaction is open that could have seen the row; a new table has
        what is there now and nothing else (docs/decisions/0018).  The server's own
        write-ahead log holds them, wrapped, until it is recycled, and so does a backup until
        it is thrown away (docs/operations.md).
        """
        parts = sorted({row["part"] for row in destroyed})
        if not parts:
            return
        try:
            async with asyncio.timeout(WRITE_ANEW_S):
                for part in parts:
                    await retry_while_locked(self._pool, partial(self._replace, part))
                await retry_while_locked(self._pool, self._drop_replaced)
        except (DatabaseUnavailable, TimeoutError) as error:
            why = str(error) or "a transaction on the table does not end (pg_stat_activity)"
            raise KeysUnavailable(
                f"destroyed keys may linger in the key store: {why}; erase again"
            ) from error

    async def _replace(self, part: str, connection: PooledConnection) -> None:
        """Put a copy of *part* in its place.

        Writers wait while it is copied; readers only from the exchange to the commit.
        """
        await connection.execute("LOCK TABLE ONLY data_key IN SHARE ROW EXCLUSIVE MODE")
        bound = await connection.fetchval(_BOUND, part)
        if bound is None:
            return  # another process has replaced it, after the keys were destroyed
        # Another name: a dump that read the old one's finds nothing, instead of no rows.
        new = f"{'_'.join(part.split('_')[:3])}_{token_hex(4)}"
        await connection.execute(f"CREATE TABLE {new} (LIKE {part} INCLUDING ALL)")
        await connection.execute(f"INSERT INTO {new} SELECT * FROM {part}")  # noqa: S608
        await connection.execute(f"ALTER TABLE data_key DETACH PARTITION {part}")
        await connection.execute(f"ALTER TABLE data_key ATTACH PARTITION {new} {bound}")

    async def _drop_replaced(self, connection: PooledConnection) -> None:
        """Drop what was replaced, also by a process that ended before it did so."""
        for row in await connection.fetch(_REPLACED):
            await connection.execute(f"DROP TABLE IF EXISTS {row['part']}")


_WHERE = "the key store's database"
_PARTS = """
SELECT inhrelid::regclass::text AS part FROM pg_inherits WHERE inhparent = 'data_key'::regclass
"""
_BOUND = """
SELECT pg_get_expr(relpartbound, oid) FROM pg_class
WHERE oid = to_regclass($1) AND relispartition
"""
_REPLACED = """
SELECT oid::regclass::text AS part FROM pg_class
WHERE relkind = 'r' AND NOT relispartition AND relname ~ '^data_key_[0-9]+(_|$)'
AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'data_key'::regclass)
"""
#: Nobody suppresses while an index is written; several indexes run beside each other.
_SUPPRESSING = "LOCK TABLE suppressed IN ROW SHARE MODE"
_INDEX = """
INSERT INTO person_index SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING
"""
_MAKE_MASTER = "INSERT INTO master (proof) VALUES ($1) ON CONFLICT DO NOTHING RETURNING one"
#: Nothing is wrapped with a master key that is in use no more, or in a way that is.
_KEEP_SECRET = """
INSERT INTO secret SELECT $1, $2::bytea
WHERE EXISTS (SELECT FROM master WHERE proof = $3 AND named = $4)
ON CONFLICT DO NOTHING
"""  # noqa: S105
_SECRET = "SELECT wrapped FROM secret WHERE name = $1"  # noqa: S105
_MAKE = """
WITH made AS (
    INSERT INTO data_key SELECT * FROM unnest($1::text[], $2::bytea[])
    WHERE EXISTS (SELECT FROM master WHERE proof = $3 AND named = $4)
    ON CONFLICT DO NOTHING RETURNING 1
)
SELECT count(*) FROM made
"""
#: Whoever makes a key now sees the new master key when this has been committed.
_NOBODY_WRAPS = "LOCK TABLE ONLY data_key IN SHARE MODE; LOCK TABLE secret IN SHARE MODE"
#: Before the first rotation an unnamed wrap is one of the master key in use.
_BY_ANOTHER = f"""
wrapped IS NOT NULL AND substring(wrapped FROM 1 FOR 5) <> $1
AND ((SELECT named FROM master) OR length(wrapped) <> {UNNAMED_SIZE})
"""  # noqa: S608
_OTHERWISE = f"""
SELECT name, wrapped FROM data_key WHERE {_BY_ANOTHER} AND name > $2 ORDER BY name LIMIT $3
"""  # noqa: S608
_LEFT = f"SELECT count(*) FROM data_key WHERE {_BY_ANOTHER}"  # noqa: S608
_REWRAP = """
UPDATE data_key SET wrapped = anew.wrapped
FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS anew (name, before, wrapped)
WHERE data_key.name = anew.name AND data_key.wrapped = anew.before
"""
_LOOK = "SELECT name, wrapped FROM data_key WHERE name = ANY($1)"
_DESTROY = """
INSERT INTO data_key SELECT DISTINCT unnest($1::text[]), NULL::bytea
ON CONFLICT (name) DO UPDATE SET wrapped = NULL
RETURNING tableoid::regclass::text AS part
"""
_DESTROY_SUPPRESSED = """
INSERT INTO data_key
SELECT DISTINCT entry.name, NULL::bytea
FROM unnest($1::text[], $2::text[]) AS entry (fingerprint, name)
JOIN suppressed USING (fingerprint)
ON CONFLICT (name) DO UPDATE SET wrapped = NULL
RETURNING name, tableoid::regclass::text AS part
"""
_MATCHING = "SELECT DISTINCT name FROM person_index WHERE fingerprint = ANY($1)"
_SUPPRESSED = "SELECT fingerprint FROM suppressed WHERE fingerprint = ANY($1)"
