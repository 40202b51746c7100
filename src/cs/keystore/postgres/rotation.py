"""Wrapping the keys in PostgreSQL with a new master key (`cs.keystore.rotating`)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from cs.keystore.errors import KeysUnavailable, WrongMasterKey
from cs.keystore.postgres.database import writing
from cs.keystore.postgres.master_in_use import MasterInUse
from cs.keystore.postgres.parts import replace_every_part
from cs.keystore.wrapping import UNNAMED_SIZE, secret_name, version_of
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.lock_retry import WRITE_ANEW_S, retry_while_locked
from cs.postgres.pool import Pool, PooledConnection


class Rotation:
    """Changes *master* in the store behind *pool*; each method may raise `KeysUnavailable`."""

    def __init__(self, pool: Pool, master: MasterInUse) -> None:
        self._pool = pool
        self._master = master

    async def versions(self) -> Sequence[str]:
        async with writing(self._pool) as connection:
            await self._master.read(connection)
            older = await connection.fetch("SELECT proof FROM older_master")
        in_use = self._master.wrapping.version
        return [in_use, *(version_of(row["proof"]) for row in older)]

    async def begin(self, version: str) -> None:
        new = self._master.masters.get(version)
        if new is None:
            raise WrongMasterKey(f"this process does not hold the master key {version}")

        async def begin(connection: PooledConnection) -> None:
            await connection.execute(_NOBODY_WRAPS)
            await self._master.read(connection)
            if self._master.wrapping.version != version:
                await connection.execute(
                    "INSERT INTO older_master VALUES ($1) ON CONFLICT DO NOTHING",
                    self._master.proof,
                )
                await connection.execute("DELETE FROM older_master WHERE proof = $1", new.proof)
            await connection.execute("UPDATE master SET proof = $1, named = true", new.proof)

        await self._run(begin)
        self._master.changed(new)

    async def rewrap(self, after: str, limit: int) -> tuple[str, int]:
        async with writing(self._pool) as connection:
            mark = self._master.wrapping.mark
            rows = await connection.fetch(_OTHERWISE, mark, after, limit)
            names = [row["name"] for row in rows]
            before = [row["wrapped"] for row in rows]
            rewrapped = [
                self._master.wrapped(name, self._master.unwrapped(name, wrapped))
                for name, wrapped in zip(names, before, strict=True)
            ]
            await connection.execute(_REWRAP, names, before, rewrapped)
        return (names[-1] if names else after), len(names)

    async def left(self) -> int:
        async with writing(self._pool) as connection:
            found: int = await connection.fetchval(_LEFT, self._master.wrapping.mark)
        return found

    async def end(self) -> None:
        await self._run(self._rewrap_secrets)
        await replace_every_part(self._pool)
        async with writing(self._pool) as connection:
            await connection.execute("DELETE FROM older_master")

    async def _rewrap_secrets(self, connection: PooledConnection) -> None:
        for row in await connection.fetch("SELECT name, wrapped FROM secret FOR UPDATE"):
            name = secret_name(row["name"])
            wrapped = self._master.wrapped(name, self._master.unwrapped(name, row["wrapped"]))
            await connection.execute(
                "UPDATE secret SET wrapped = $2 WHERE name = $1", row["name"], wrapped
            )

    async def _run(self, step: Callable[[PooledConnection], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(WRITE_ANEW_S):
                await retry_while_locked(self._pool, step)
        except (DatabaseUnavailable, TimeoutError) as error:
            why = str(error) or "a transaction on the table does not end (pg_stat_activity)"
            raise KeysUnavailable(f"the key store: {why}; rotate again") from error


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
