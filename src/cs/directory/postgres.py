"""The directory in the stages' own PostgreSQL database.

Stage workers share the key that seals it, which is in no database; an erasure needs none.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any

from cs.directory.store import DirectoryUnavailable, PeopleDirectory, SealedPerson
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.parts import replace_parts
from cs.postgres.pool import Pool
from cs.postgres.sql import PostgresDatabase
from cs.runtime.sql import Many, Work


class PostgresDirectory(PeopleDirectory):
    """The directory behind *pool*, which its owner closes.

    *key* has 32 bytes, the same for all workers; without it people can only be erased.
    """

    AT = "places && $1::bytea[]"
    PRINTED = "prints && $1::bytea[]"
    CLEAR = ("TRUNCATE directory_person, directory_key",)

    def __init__(self, pool: Pool, key: bytes = b"") -> None:
        super().__init__(PostgresDatabase(pool, _away), lambda: key)
        self._pool = pool

    def _store(self, people: Sequence[SealedPerson]) -> Work[None]:
        yield Many(_PUT, people)

    async def _delete(self, condition: str, value: Any) -> int:
        """Replace the parts that hold them by new tables.

        If another process prevents the exchange of a part, all its people stay: doing it
        again finishes the work.
        """
        people = 0
        while True:
            parts = f"{_PARTS} WHERE {condition} GROUP BY part"
            rows = await self._database.fetch(parts, value)
            people += sum(int(number) for _, number in rows)
            try:
                await replace_parts(
                    self._pool,
                    "directory_person",
                    [part for part, _ in rows],
                    without=condition,
                    values=[value],
                )
            except DatabaseUnavailable as error:
                raise DirectoryUnavailable(
                    f"not all are gone from the directory of people: {error}; do it again"
                ) from error
            if not rows:
                return people

    def _day(self, stored: Any) -> date:
        day: date = stored
        return day

    def _prints(self, stored: Any) -> Sequence[bytes]:
        prints: Sequence[bytes] = stored
        return prints

    async def forget_before(self, day: date) -> int:
        return await self._delete("as_of < $1", day)


def _away(error: Exception) -> DirectoryUnavailable:
    return DirectoryUnavailable(f"the directory of people: {error}")


_PUT = """
INSERT INTO directory_person (who, as_of, places, prints, box) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (who) DO UPDATE SET as_of = excluded.as_of, places = excluded.places,
prints = excluded.prints, box = excluded.box
"""
_PARTS = "SELECT tableoid::regclass::text AS part, count(*) FROM directory_person"
