"""The directory in a SQLite file (mode 0600) in the data folder.

Another process may import while a service runs: readers see it from then on.
"""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import date
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from cs.directory.errors import DirectoryUnavailable
from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.port import PAGE, Changes, DirectoryStatus, IndexOf
from cs.directory.sealing import WRONG_KEY, DirectorySeal, SealedPerson, print_bytes, upsert
from cs.sqlite.database import LOCK_TIMEOUT_S, FileOnDemand, transaction, wipe

#: Bytes of a keyed hash and of a fingerprint, which stand one behind the other in a row.
_PLACE, _PRINT = 16, 32
#: Memory for pages: what keeps the indexes of a million people quick to write.
_CACHE_KIB = 65_536


P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(
    method: "Callable[Concatenate[SqliteDirectory, P], T]",
) -> "Callable[Concatenate[SqliteDirectory, P], Coroutine[Any, Any, T]]":
    """Let *method* run in the thread of the file, where it may use `_file.db`."""

    @wraps(method)
    async def run(self: "SqliteDirectory", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._file.run(method, self, *args, **kwargs)

    return run


class SqliteDirectory:
    """Use as ``async with``.  The file is made when a person is first stored.

    Args:
        path: Of the file.
        key: Gives the key when it is needed, 32 bytes.  While people are stored that were
            sealed with another one, nothing is read or stored (`WrongDirectoryKey`).
        lock_timeout_s: How long to wait for another process's transaction.
    """

    def __init__(
        self,
        path: Path,
        key: Callable[[], bytes],
        *,
        lock_timeout_s: int = LOCK_TIMEOUT_S,
    ) -> None:
        self._key = key
        self._file = FileOnDemand(
            path,
            _SCHEMA,
            thread="directory",
            secure_delete=True,
            unavailable=lambda error: DirectoryUnavailable(f"{path}: {error}"),
            lock_timeout_s=lock_timeout_s,
        )
        self.has_people = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._file.close()

    @cached_property
    def _seal(self) -> DirectorySeal:
        return DirectorySeal(self._key())

    async def look(self) -> bool:
        self.has_people = await self._file.run(self._look)
        return self.has_people

    def _look(self) -> bool:
        return self._rows(_ANYBODY) == [(1,)]

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what *query* gives; nothing where no file was made yet."""
        return self._file.db.execute(query, values).fetchall() if self._file.exists else []

    def _checked_seal(self) -> DirectorySeal:
        """Return the seal, if it is that of the stored people."""
        if self._rows(_OTHER_KEY, self._seal.proof):
            raise WRONG_KEY
        return self._seal

    @_in_thread
    def people_at(self, places: Iterable[str], *, limit: int) -> Sequence[DirectoryPerson]:
        if not self._look():  # without people no key is needed
            return []
        seal = self._checked_seal()
        rows = (self._rows(_AT, seal.where(place), limit) for place in sorted(set(places)))
        newest = sorted({row for found in rows for row in found})[:limit]
        return [seal.unseal(who, box) for _, who, box in newest]

    @_in_thread
    def status(self) -> DirectoryStatus:
        for people, oldest, newest in self._rows(_STATUS):
            if people:
                first, last = date.fromordinal(oldest), date.fromordinal(newest)
                return DirectoryStatus(people, first, last)
        return DirectoryStatus()

    def _numbers(self, prints: Iterable[str]) -> list[int]:
        rows = (self._rows(_WITH_PRINT, each) for each in print_bytes(frozenset(prints)))
        return sorted({number for found in rows for (number,) in found})

    @_in_thread
    def printed(self, prints: Iterable[str]) -> Sequence[tuple[str, ...]]:
        rows = [self._rows(_ENTRIES, number)[0] for number in self._numbers(prints)]
        return [tuple(map(bytes.hex, _parts(printed, _PRINT))) for *_, printed in rows]

    @_in_thread
    def known_by(self, prints: Iterable[str]) -> Sequence[DirectoryPerson]:
        numbers = self._numbers(prints)
        seal = self._checked_seal()
        rows = [self._rows(_BOX, number)[0] for number in numbers]
        return [seal.unseal(who, box) for who, box in rows]

    @_in_thread
    def put(
        self, rows: Sequence[DirectoryRow], index_of: IndexOf, *, dry_run: bool = False
    ) -> Changes:
        if dry_run:
            return upsert(self._seal, rows, self._stored(rows), index_of)[1]
        with transaction(self._file.db):
            self._file.db.execute(_TAKE_OVER, (self._seal.proof,))
            sealed, changes = upsert(self._seal, rows, self._stored(rows), index_of)
            for person in sealed:
                self._store(person)
        return changes

    def _stored(self, rows: Sequence[DirectoryRow]) -> dict[bytes, bytes]:
        seal = self._checked_seal()
        found = [self._rows(_BY_WHO, seal.who(row.person.known_as)) for row in rows]
        return {who: box for each in found for _, who, box in each}

    def _store(self, person: SealedPerson) -> None:
        for number, *_ in self._rows(_BY_WHO, person.who):
            self._forget(number)
        places, prints = b"".join(person.places), b"".join(person.prints)
        row = (person.who, person.as_of, places, prints, person.box)
        number = self._file.db.execute(_PUT, row).lastrowid
        age = -person.as_of
        self._file.db.executemany(_PUT_PLACE, [(each, age, number) for each in person.places])
        self._file.db.executemany(_PUT_PRINT, [(each, number) for each in person.prints])

    @_in_thread
    def get(self, known_as: str) -> DirectoryPerson | None:
        if not self._look():
            return None
        seal = self._checked_seal()
        for _, who, box in self._rows(_BY_WHO, seal.who(known_as)):
            return seal.unseal(who, box)
        return None

    @_in_thread
    def remove(self, known_as: str) -> bool:
        if not self._file.exists:
            return False
        who = self._checked_seal().who(known_as)
        return self._delete(lambda: [row[0] for row in self._rows(_BY_WHO, who)]) > 0

    @_in_thread
    def erase(self, prints: Iterable[str]) -> int:
        return self._delete(lambda: self._numbers(prints))

    @_in_thread
    def forget_before(self, day: date) -> int:
        before = _BEFORE, day.toordinal(), PAGE
        return self._delete(lambda: [row[0] for row in self._rows(*before)], rewrite=False)

    @_in_thread
    def clear(self) -> int:
        if not self._file.exists:
            return 0
        with transaction(self._file.db):
            ((people, *_),) = self._rows(_STATUS)
            for table in ("person", "place", "print", "directory_key"):
                self._file.db.execute(f"DELETE FROM {table}")  # noqa: S608
        wipe(self._file.db, rewrite=True)
        return int(people)

    def _delete(self, numbers: Callable[[], Sequence[int]], *, rewrite: bool = True) -> int:
        """Forget those with the *numbers*, and wipe also who could not be wiped before."""
        if not self._file.exists:
            return 0
        with transaction(self._file.db):
            gone = numbers()
            for number in gone:
                self._forget(number)
        wipe(self._file.db, rewrite=rewrite)
        return len(gone)

    def _forget(self, number: int) -> None:
        ((as_of, places, prints),) = self._rows(_ENTRIES, number)
        keys = [(each, -as_of, number) for each in _parts(places, _PLACE)]
        self._file.db.executemany(_DROP_PLACE, keys)
        printed = [(each, number) for each in _parts(prints, _PRINT)]
        self._file.db.executemany(_DROP_PRINT, printed)
        self._file.db.execute("DELETE FROM person WHERE number = ?", (number,))


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
)
#: A key may change while there are no people that it would have to open.
_TAKE_OVER = (
    "INSERT INTO directory_key (one, proof) VALUES (1, ?) ON CONFLICT (one) DO UPDATE "
    "SET proof = excluded.proof WHERE NOT EXISTS (SELECT 1 FROM person)"
)
_ANYBODY = "SELECT EXISTS (SELECT 1 FROM person)"
_OTHER_KEY = f"SELECT 1 FROM directory_key WHERE proof <> ? AND ({_ANYBODY})"  # noqa: S608
_AT = (
    "SELECT place.age, who, box FROM (SELECT number, age FROM place "
    "WHERE place = ? ORDER BY age LIMIT ?) AS place JOIN person USING (number)"
)
_STATUS = "SELECT count(*), min(as_of), max(as_of) FROM person"
_WITH_PRINT = "SELECT number FROM print WHERE print = ?"
_BOX = "SELECT who, box FROM person WHERE number = ?"
_BY_WHO = "SELECT number, who, box FROM person WHERE who = ?"
_ENTRIES = "SELECT as_of, places, prints FROM person WHERE number = ?"
_BEFORE = "SELECT number FROM person WHERE as_of < ? ORDER BY as_of LIMIT ?"
_PUT = "INSERT INTO person (who, as_of, places, prints, box) VALUES (?, ?, ?, ?, ?)"
_PUT_PLACE = "INSERT INTO place VALUES (?, ?, ?)"
_PUT_PRINT = "INSERT OR IGNORE INTO print VALUES (?, ?)"
_DROP_PLACE = "DELETE FROM place WHERE place = ? AND age = ? AND number = ?"
_DROP_PRINT = "DELETE FROM print WHERE print = ? AND number = ?"
