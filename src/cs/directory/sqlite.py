"""The directory in a SQLite file (mode 0600) in the data folder.

Another process may import while a service runs: readers see it from then on.
"""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from cs.directory.store import DirectoryUnavailable, PeopleDirectory, SealedPerson
from cs.runtime.sql import Many, Work
from cs.sqlite.sql import SqliteDatabase

#: Bytes of a keyed hash and of a fingerprint, which a row has joined.
_PLACE, _PRINT = 16, 32
#: Memory for pages, so that the indexes of a million people are quick to write.
_CACHE_KIB = 65_536
#: People that are forgotten in one go by age, so that the file can be read in between.
PAGE = 1_000


class SqliteDirectory(PeopleDirectory):
    """The directory in the file at *path*, made when a person is first stored.

    In memory without a path.
    """

    # The latest known are chosen by the index, so that no more boxes are read than are wanted.
    AT = (
        "number IN (SELECT number FROM place WHERE place = ANY($1::bytea[]) "
        "GROUP BY number ORDER BY min(age) LIMIT $2)"
    )
    PRINTED = "number IN (SELECT number FROM print WHERE print = ANY($1::bytea[]))"
    CLEAR = (
        "DELETE FROM person",
        "DELETE FROM place",
        "DELETE FROM print",
        "DELETE FROM directory_key",
    )

    def __init__(self, path: Path | None, key: Callable[[], bytes]) -> None:
        self._sqlite = SqliteDatabase(
            path,
            _SCHEMA,
            thread="directory",
            secure_delete=True,
            unavailable=lambda error: DirectoryUnavailable(f"{path}: {error}"),
        )
        super().__init__(self._sqlite, key)

    def _store(self, people: Sequence[SealedPerson]) -> Work[None]:
        yield from _forget("who = ANY($1::bytea[])", [who for who, *_ in people])
        for who, as_of, places, prints, box in people:
            day = as_of.toordinal()
            ((number,),) = yield _PUT, who, day, b"".join(places), b"".join(prints), box
            yield Many(_PUT_PLACE, [(place, -day, number) for place in places])
            yield Many(_PUT_PRINT, [(print_, number) for print_ in prints])

    async def _delete(self, condition: str, value: Any, *, rewrite: bool = True) -> int:
        gone = 0
        if self._sqlite.exists:
            gone = await self._database.transact(_forget(condition, value))
        # Also the bytes of people that could not be wiped before.
        await self._sqlite.wipe(rewrite=rewrite)
        return gone

    def _day(self, stored: Any) -> date:
        return date.fromordinal(stored)

    def _prints(self, stored: Any) -> Sequence[bytes]:
        return _parts(stored, _PRINT)

    async def forget_before(self, day: date) -> int:
        return await self._delete(_BEFORE, day.toordinal(), rewrite=False)


def _forget(condition: str, value: Any) -> Work[int]:
    """Delete the people that meet *condition* on *value*, and their index entries."""
    query = f"SELECT number, as_of, places, prints FROM person WHERE {condition}"  # noqa: S608
    people = yield query, value
    for number, as_of, places, prints in people:
        yield Many(_DROP_PLACE, [(each, -as_of, number) for each in _parts(places, _PLACE)])
        yield Many(_DROP_PRINT, [(each, number) for each in _parts(prints, _PRINT)])
        yield "DELETE FROM person WHERE number = $1", number
    return len(people)


def _parts(joined: bytes, size: int) -> list[bytes]:
    return [joined[start : start + size] for start in range(0, len(joined), size)]


_SCHEMA = (
    f"PRAGMA cache_size = -{_CACHE_KIB}",
    (
        "CREATE TABLE IF NOT EXISTS person (number INTEGER PRIMARY KEY, who BLOB NOT NULL "
        "UNIQUE, as_of INTEGER NOT NULL, places BLOB NOT NULL, prints BLOB NOT NULL, "
        "box BLOB NOT NULL)"
    ),
    "CREATE INDEX IF NOT EXISTS person_as_of ON person (as_of)",
    (
        "CREATE TABLE IF NOT EXISTS place (place BLOB, age INTEGER, number INTEGER, "
        "PRIMARY KEY (place, age, number)) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE IF NOT EXISTS print (print BLOB, number INTEGER, "
        "PRIMARY KEY (print, number)) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE IF NOT EXISTS directory_key "
        "(one INTEGER PRIMARY KEY CHECK (one = 1), proof BLOB NOT NULL)"
    ),
    # Its name in the statements for both databases.
    "CREATE TEMP VIEW directory_person AS SELECT * FROM person",
)
_BEFORE = f"""
number IN (SELECT number FROM person WHERE as_of < $1 ORDER BY as_of LIMIT {PAGE})
"""  # noqa: S608
_PUT = """
INSERT INTO person (who, as_of, places, prints, box) VALUES ($1, $2, $3, $4, $5)
RETURNING number
"""
_PUT_PLACE = "INSERT INTO place VALUES ($1, $2, $3)"
_PUT_PRINT = "INSERT INTO print VALUES ($1, $2) ON CONFLICT DO NOTHING"
_DROP_PLACE = "DELETE FROM place WHERE place = $1 AND age = $2 AND number = $3"
_DROP_PRINT = "DELETE FROM print WHERE print = $1 AND number = $2"
