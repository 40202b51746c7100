"""Data keys in a PostgreSQL database of their own, wrapped by a master key.

The database is reached by a DSN that only the roles that open personal values have.  What
it stores is useless without the master key, which is in no database.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from cs.keystore.cached_store import CachedKeyStore
from cs.keystore.postgres.database import fetched, read, writing
from cs.keystore.postgres.master_in_use import MasterInUse
from cs.keystore.postgres.parts import replace_parts
from cs.keystore.postgres.rotation import Rotation
from cs.keystore.wrapping import FINGERPRINTS, MasterKeys, secret_name
from cs.metrics.metrics import Metrics
from cs.postgres.pool import Pool


class PostgresKeyStore(CachedKeyStore):
    """Use as ``async with``.

    Args:
        pool: To the key store's own database.
        master: 32 bytes, or two such while the master key is changed.

    Raises:
        KeysUnavailable: On entering: the database is away.
        WrongMasterKey: On entering: the store was made with another master key.
    """

    def __init__(
        self, pool: Pool, master: bytes | MasterKeys, metrics: Metrics | None = None
    ) -> None:
        super().__init__(metrics)
        self._pool = pool
        self._master = MasterInUse(MasterKeys.of(master))
        self._rotation = Rotation(pool, self._master)

    async def __aenter__(self) -> Self:
        async with writing(self._pool) as connection:
            first = self._master.masters.first
            created = await connection.fetchval(_MAKE_MASTER, first.proof)
            await self._master.read(connection)
            older = await connection.fetch("SELECT proof FROM older_master")
            self._master.check_older([row["proof"] for row in older])
            # In this transaction, or another process takes it for a store of before.
            secrets = self._master.wrapping.earlier_secrets()
            if created is not None:
                secrets = {name: os.urandom(32) for name in secrets}
            for name, secret in secrets.items():
                await self._master.keep_secret(connection, name, secret)
        await self.secret(FINGERPRINTS)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.forget()

    async def index(self, entries: Iterable[tuple[str, str]]) -> None:
        await self._indexed((), entries)

    async def ensure_indexed(
        self, names: Iterable[str], entries: Iterable[tuple[str, str]]
    ) -> Mapping[str, bytes]:
        async def make(wanted: Sequence[str]) -> Mapping[str, bytes]:
            return await self._make_missing(wanted, await self._indexed(wanted, entries))

        return await self._ensured(names, make)

    async def _indexed(
        self, names: Sequence[str], entries: Iterable[tuple[str, str]]
    ) -> dict[str, bytes | None]:
        """Index *entries*; return what is stored of *names* after that."""
        rows = sorted(set(entries))  # in one order everywhere, or two callers may deadlock
        if not rows:
            return await self._stored_keys(names) if names else {}
        prints, of = [row[0] for row in rows], [row[1] for row in rows]
        found = await fetched(self._pool, _INDEX, prints, of, list(names))
        destroyed = [row for row in found if row["part"] is not None]
        self._open.drop(row["name"] for row in destroyed)
        await replace_parts(self._pool, destroyed)
        return self._unwrapped(row[:2] for row in found if row["part"] is None)

    async def matching(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._column(_MATCHING, fingerprints)

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        async with writing(self._pool) as connection:
            # Waits for every index under way, so that `matching` is complete afterwards.
            await connection.execute("LOCK TABLE suppressed IN EXCLUSIVE MODE")
            await connection.execute(_SUPPRESS, list(fingerprints))

    async def unsuppress(self, fingerprints: Iterable[str]) -> None:
        async with writing(self._pool) as connection:
            await connection.execute(_UNSUPPRESS, list(fingerprints))

    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._column(_SUPPRESSED, fingerprints)

    async def destroy(self, names: Iterable[str]) -> None:
        unique = sorted(set(names))
        if unique:
            async with writing(self._pool) as connection:
                destroyed = await connection.fetch(_DESTROY, unique)
            await replace_parts(self._pool, destroyed)
        self.forget()

    async def versions(self) -> Sequence[str]:
        """Return the master key in use, then those that keys are wrapped with still."""
        return await self._rotation.versions()

    async def begin_rotation(self, version: str) -> None:
        await self._rotation.begin(version)

    async def rewrap(self, after: str, limit: int) -> tuple[str, int]:
        return await self._rotation.rewrap(after, limit)

    async def left(self) -> int:
        return await self._rotation.left()

    async def end_rotation(self) -> None:
        await self._rotation.end()

    async def _make_keys(self, names: Sequence[str]) -> Mapping[str, bytes]:
        return await self._make_missing(names, await self._stored_keys(names))

    async def _make_missing(
        self, names: Sequence[str], stored: dict[str, bytes | None]
    ) -> Mapping[str, bytes]:
        """Return the keys of *names*; *stored* is what is there of them."""
        while missing := sorted(set(names) - stored.keys()):
            keys = {name: os.urandom(32) for name in missing}
            wrapped = [self._master.wrapped(name, keys[name]) for name in missing]
            in_use = (self._master.proof, self._master.named)
            made = await fetched(self._pool, _MAKE, missing, wrapped, *in_use)
            stored |= {row["name"]: keys[row["name"]] for row in made}
            if not made:  # all are there by now, or another master key is in use
                async with writing(self._pool) as connection:
                    await self._master.read(connection)
            if len(made) < len(missing):
                stored |= await self._stored_keys(missing)
        return {name: key for name, key in stored.items() if key is not None}

    async def _stored_keys(self, names: Sequence[str]) -> dict[str, bytes | None]:
        return self._unwrapped(await read(self._pool, _LOOK, names))

    def _unwrapped(self, rows: Iterable[Any]) -> dict[str, bytes | None]:
        return {
            name: None if wrapped is None else self._master.unwrapped(name, wrapped)
            for name, wrapped in rows
        }

    async def _stored_secret(self, name: str) -> bytes:
        async with writing(self._pool) as connection:
            wrapped = await connection.fetchval(_SECRET, name)
            while wrapped is None:
                await self._master.read(connection)
                await self._master.keep_secret(connection, name, os.urandom(32))
                wrapped = await connection.fetchval(_SECRET, name)
        return self._master.unwrapped(secret_name(name), wrapped)

    async def _column(self, query: str, values: Iterable[str]) -> frozenset[str]:
        return frozenset(row[0] for row in await read(self._pool, query, values))


_INDEX = "SELECT name, wrapped, part FROM index_people($1::text[], $2::text[], $3::text[])"
_MAKE_MASTER = "INSERT INTO master (proof) VALUES ($1) ON CONFLICT DO NOTHING RETURNING one"
_SECRET = "SELECT wrapped FROM secret WHERE name = $1"  # noqa: S105
_MAKE = """
INSERT INTO data_key SELECT * FROM unnest($1::text[], $2::bytea[])
WHERE EXISTS (SELECT FROM master WHERE proof = $3 AND named = $4)
ON CONFLICT DO NOTHING RETURNING name
"""
_LOOK = "SELECT name, wrapped FROM data_key WHERE name = ANY($1)"
_DESTROY = """
INSERT INTO data_key SELECT DISTINCT unnest($1::text[]), NULL::bytea
ON CONFLICT (name) DO UPDATE SET wrapped = NULL
RETURNING tableoid::regclass::text AS part
"""
_MATCHING = "SELECT DISTINCT name FROM person_index WHERE fingerprint = ANY($1)"
_SUPPRESSED = "SELECT fingerprint FROM suppressed WHERE fingerprint = ANY($1)"
_SUPPRESS = """
INSERT INTO suppressed SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING
"""
_UNSUPPRESS = "DELETE FROM suppressed WHERE fingerprint = ANY($1::text[])"
