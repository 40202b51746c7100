"""The directory in the stages' own PostgreSQL database.

Stage workers share the key that seals it, which is in no database; an erasure needs none.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import date

from cs.directory.errors import DirectoryUnavailable
from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.port import Changes, DirectoryStatus, IndexOf
from cs.directory.sealing import WRONG_KEY, DirectorySeal, SealedPerson, print_bytes, upsert
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.parts import replace_parts
from cs.postgres.pool import Pool, PooledConnection, connected

_TABLE = "directory_person"


class PostgresPrints:
    """What erasing a person needs (`cs.directory.port.DirectoryErasure`): no key.

    Args:
        pool: To the stages' database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def printed(self, prints: Iterable[str]) -> Sequence[tuple[str, ...]]:
        async with self._connected() as connection:
            rows = await connection.fetch(_PRINTED, print_bytes(frozenset(prints)))
        return [tuple(map(bytes.hex, row["prints"])) for row in rows]

    async def erase(self, prints: Iterable[str]) -> int:
        return await self._delete("prints && $1::bytea[]", print_bytes(frozenset(prints)))

    async def _delete(self, condition: str, value: object) -> int:
        """Forget the people of whom *condition* is true, and all bytes of them.

        Who is in the way of the exchange of a part keeps all its people: doing it again
        finishes what was interrupted.
        """
        people = 0
        while True:
            parts = await self._parts_with(condition, value)
            people += sum(parts.values())
            try:
                await replace_parts(
                    self._pool, _TABLE, parts, without=condition, values=[value]
                )
            except DatabaseUnavailable as error:
                raise DirectoryUnavailable(
                    f"not all are gone from the directory of people: {error}; do it again"
                ) from error
            if not parts:
                return people

    async def _parts_with(self, condition: str, value: object) -> dict[str, int]:
        """Return the parts with people of whom *condition* is true, and how many each has."""
        async with self._connected() as connection:
            rows = await connection.fetch(f"{_PARTS} WHERE {condition} GROUP BY part", value)
        return {row["part"]: row["people"] for row in rows}

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[PooledConnection]:
        try:
            async with connected(self._pool) as connection:
                yield connection
        except DatabaseUnavailable as error:
            raise DirectoryUnavailable(f"the directory of people: {error}") from error


class PostgresDirectory(PostgresPrints):
    """Args: *pool*: to the stages' database.  *key*: 32 bytes, the same for all workers."""

    def __init__(self, pool: Pool, key: bytes) -> None:
        super().__init__(pool)
        self._seal = DirectorySeal(key)
        self.has_people = False

    async def look(self) -> bool:
        async with self._connected() as connection:
            self.has_people = bool(await connection.fetchval(_ANYBODY))
        return self.has_people

    async def people_at(
        self, places: Iterable[str], *, limit: int
    ) -> Sequence[DirectoryPerson]:
        wanted = [self._seal.where(place) for place in sorted(set(places))]
        async with self._connected() as connection:
            await self._check_key(connection)
            rows = await connection.fetch(_AT, wanted, limit)
        return [self._seal.unseal(row["who"], row["box"]) for row in rows]

    async def status(self) -> DirectoryStatus:
        async with self._connected() as connection:
            row = await connection.fetchrow(_STATUS)
        return DirectoryStatus() if row is None else DirectoryStatus(*row)

    async def put(
        self, rows: Sequence[DirectoryRow], index_of: IndexOf, *, dry_run: bool = False
    ) -> Changes:
        who = sorted({self._seal.who(row.person.known_as) for row in rows})
        async with self._connected() as connection, connection.transaction():
            if not dry_run:
                await connection.execute(_TAKE_OVER, self._seal.proof)
                await connection.execute("SELECT FROM directory_key FOR UPDATE")
            await self._check_key(connection)
            found = await connection.fetch(_BY_WHO, who)
            stored = {row["who"]: row["box"] for row in found}
            sealed, changes = upsert(self._seal, rows, stored, index_of)
            if not dry_run:
                await connection.executemany(_PUT, map(_values, sealed))
        return changes

    async def get(self, known_as: str) -> DirectoryPerson | None:
        async with self._connected() as connection:
            await self._check_key(connection)
            rows = await connection.fetch(_BY_WHO, [self._seal.who(known_as)])
        return self._seal.unseal(rows[0]["who"], rows[0]["box"]) if rows else None

    async def remove(self, known_as: str) -> bool:
        async with self._connected() as connection:
            await self._check_key(connection)
        return await self._delete("who = $1", self._seal.who(known_as)) > 0

    async def clear(self) -> int:
        async with self._connected() as connection, connection.transaction():
            people = await connection.fetchval("SELECT count(*) FROM directory_person")
            await connection.execute("TRUNCATE directory_person, directory_key")
        return int(people)

    async def known_by(self, prints: Iterable[str]) -> Sequence[DirectoryPerson]:
        async with self._connected() as connection:
            await self._check_key(connection)
            rows = await connection.fetch(_KNOWN_BY, print_bytes(frozenset(prints)))
        return [self._seal.unseal(row["who"], row["box"]) for row in rows]

    async def forget_before(self, day: date) -> int:
        return await self._delete("as_of < $1", day)

    async def _check_key(self, connection: PooledConnection) -> None:
        """Pass if the stored people were sealed with this key.

        Raises:
            WrongDirectoryKey: They were not.
        """
        if await connection.fetchval(_OTHER_KEY, self._seal.proof):
            raise WRONG_KEY


def _values(person: SealedPerson) -> tuple[object, ...]:
    as_of = date.fromordinal(person.as_of)
    return person.who, as_of, person.places, person.prints, person.box


#: A key may change while there are no people that it would have to open.
_TAKE_OVER = """
INSERT INTO directory_key (proof) VALUES ($1)
ON CONFLICT (one) DO UPDATE SET proof = excluded.proof
WHERE NOT EXISTS (SELECT FROM directory_person)
"""
_ANYBODY = "SELECT EXISTS (SELECT FROM directory_person)"
_OTHER_KEY = f"""
SELECT EXISTS (SELECT FROM directory_key WHERE proof <> $1) AND ({_ANYBODY})
"""  # noqa: S608
_AT = """
SELECT who, box FROM directory_person WHERE places && $1::bytea[]
ORDER BY as_of DESC, who LIMIT $2
"""
_STATUS = "SELECT count(*), min(as_of), max(as_of) FROM directory_person"
_BY_WHO = "SELECT who, box FROM directory_person WHERE who = ANY($1::bytea[])"
_PUT = """
INSERT INTO directory_person (who, as_of, places, prints, box) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (who) DO UPDATE SET as_of = excluded.as_of, places = excluded.places,
prints = excluded.prints, box = excluded.box
"""
_PRINTED = "SELECT prints FROM directory_person WHERE prints && $1::bytea[]"
_KNOWN_BY = "SELECT who, box FROM directory_person WHERE prints && $1::bytea[] ORDER BY who"
_PARTS = """
SELECT tableoid::regclass::text AS part, count(*) AS people FROM directory_person
"""
