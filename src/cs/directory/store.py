"""The operator's directory of people, in either kind of database.

People are sealed as a whole.  They are found by keyed hashes: of who they are, of the places
that they may be looked for at (forms of a company's name, domains), and by the fingerprints
that erasure goes by.  What is stored names no person and no company in clear.
"""

import hmac
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import date, timedelta
from functools import cached_property
from typing import Any, ClassVar, Self

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from structlog import get_logger

from cs.directory.person import DirectoryPerson, DirectoryRow, merged
from cs.domain.cause import fault
from cs.runtime.clock import Clock
from cs.runtime.coordination import in_background
from cs.runtime.private_files import DeletedDataRemains
from cs.runtime.sql import Database, Work

log = get_logger()

#: How often old people are looked for.
EVERY = timedelta(hours=1)
_NONCE = 12
#: Bytes of a keyed hash: of a hundred million texts two are alike once in 10^22 times.
_HASH = 16

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(DirectoryPerson).decode


class DirectoryUnavailable(Exception):
    """The directory cannot be read or written now; the message says why."""


class WrongDirectoryKey(DirectoryUnavailable):
    """The stored people were sealed with another key; trying again does not help."""


class DirectorySeal:
    """The uses of a 32-byte key (AES-256-GCM; a sealed person is bound to their identity).

    Raises:
        ValueError: *key* is not 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError(f"the key of the directory has {len(key)} bytes, not 32")
        own = hmac.digest(key, b"people directory", "sha256")  # the key has other uses, too
        self._box = AESGCM(hmac.digest(own, b"person", "sha256"))
        self._who = hmac.digest(own, b"who", "sha256")
        self._where = hmac.digest(own, b"where", "sha256")
        #: Tells this key from others, and nothing about it.
        self.proof = hmac.digest(own, b"proof", "sha256")

    def who(self, known_as: str) -> bytes:
        """Return the keyed hash of a person's identity."""
        return hmac.digest(self._who, known_as.encode(errors="replace"), "sha256")[:_HASH]

    def where(self, place: str) -> bytes:
        """Return the keyed hash of a place where people are looked for."""
        return hmac.digest(self._where, place.encode(errors="replace"), "sha256")[:_HASH]

    def seal(self, who: bytes, person: DirectoryPerson) -> bytes:
        """Return *person*, who has the keyed hash *who*, sealed."""
        nonce = os.urandom(_NONCE)
        return nonce + self._box.encrypt(nonce, _encode(person), who)

    def unseal(self, who: bytes, box: bytes) -> DirectoryPerson:
        """Return the person in *box*.

        Raises:
            DirectoryUnavailable: It is damaged, or of another person than *who*.
        """
        try:
            return _decode(self._box.decrypt(box[:_NONCE], box[_NONCE:], who))
        except (InvalidTag, msgspec.DecodeError) as error:
            raise DirectoryUnavailable("a sealed person of it is damaged") from error


class IndexEntries(msgspec.Struct, frozen=True):
    """The index entries of one person.

    Attributes:
        places: Texts that say where they work; only their keyed hashes are stored.
        prints: Fingerprints of the key store, in hex; the first one says who it is.
    """

    places: frozenset[str]
    prints: tuple[str, ...]


#: Returns the index entries of a person.
IndexOf = Callable[[DirectoryPerson], IndexEntries]


class Changes(msgspec.Struct):
    """The result of storing rows, in people."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0


class DirectoryStatus(msgspec.Struct, frozen=True):
    """The number of people, and the oldest and newest day of which they are known."""

    people: int = 0
    oldest: date | None = None
    newest: date | None = None


#: A person as stored: the keyed hash of their identity, the day of which they are known, keyed
#: hashes of their places, their fingerprints, and all of it sealed.
SealedPerson = tuple[bytes, date, list[bytes], list[bytes], bytes]


class PeopleDirectory:
    """The people in *database*; use as ``async with``.

    Every method may raise `DirectoryUnavailable`.  Methods that forget people may raise
    `DeletedDataRemains`: the people are not found any more, but bytes are left of them, or of
    others that were forgotten before.

    Args:
        database: With the tables of the directory.
        key: Gives the key when it is needed, 32 bytes; `printed` and `erase` need none.  While
            people are stored that were sealed with another one, nothing is read or stored
            (`WrongDirectoryKey`).

    Attributes:
        has_people: Whether it had people when `look` was last called.
    """

    #: Conditions in SQL: a person is at one of the places $1, or has one of the prints $1.
    AT: ClassVar[str]
    PRINTED: ClassVar[str]
    #: Statements that empty every table.
    CLEAR: ClassVar[Sequence[str]]

    def __init__(self, database: Database, key: Callable[[], bytes]) -> None:
        self._database = database
        self._key = key
        self.has_people = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.close()

    # What differs between the databases.

    def _store(self, people: Sequence[SealedPerson]) -> Work[None]:
        """Store *people*, each in the place of what is stored of them."""
        raise NotImplementedError

    async def _delete(self, condition: str, value: Any) -> int:
        """Forget the people that meet *condition* on *value*, its $1; return how many.

        Their files keep no byte.
        """
        raise NotImplementedError

    def _day(self, stored: Any) -> date:
        """Return the day that is *stored*."""
        raise NotImplementedError

    def _prints(self, stored: Any) -> Sequence[bytes]:
        """Return the fingerprints that are *stored* of a person."""
        raise NotImplementedError

    async def forget_before(self, day: date) -> int:
        """Forget some people known of an earlier day; return how many, 0 if none is left."""
        raise NotImplementedError

    # Reading.

    async def look(self) -> bool:
        """Return whether it has people now."""
        self.has_people = bool(await self._database.fetch(_ANYBODY))
        return self.has_people

    async def status(self) -> DirectoryStatus:
        """Return the number of people, and how old they are."""
        for people, oldest, newest in await self._database.fetch(_STATUS):
            if people:
                return DirectoryStatus(people, self._day(oldest), self._day(newest))
        return DirectoryStatus()

    async def people_at(
        self, places: Iterable[str], *, limit: int
    ) -> Sequence[DirectoryPerson]:
        """Return at most *limit* people at any of *places*, the latest known first."""
        if (seal := await self._seal_in_use()) is None:
            return []
        wanted = [seal.where(place) for place in sorted(set(places))]
        return self._unsealed(
            await self._database.fetch(
                f"{_BOXES} {self.AT} ORDER BY as_of DESC, who LIMIT $2", wanted, limit
            )
        )

    async def known_by(self, prints: Iterable[str]) -> Sequence[DirectoryPerson]:
        """Return all people with any of *prints*."""
        if await self._seal_in_use() is None:
            return []
        wanted = _print_bytes(prints)
        found = await self._database.fetch(f"{_BOXES} {self.PRINTED} ORDER BY who", wanted)
        return self._unsealed(found)

    async def get(self, known_as: str) -> DirectoryPerson | None:
        """Return the person with the identity *known_as*."""
        if (seal := await self._seal_in_use()) is None:
            return None
        found = self._unsealed(await self._database.fetch(_BY_WHO, [seal.who(known_as)]))
        return found[0] if found else None

    async def printed(self, prints: Iterable[str]) -> Sequence[tuple[str, ...]]:
        """Return all fingerprints of each person with any of *prints*."""
        query = f"{_PRINTS} {self.PRINTED} ORDER BY who"
        rows = await self._database.fetch(query, _print_bytes(prints))
        return [tuple(map(bytes.hex, self._prints(stored))) for (stored,) in rows]

    # Changing.

    async def put(
        self, rows: Sequence[DirectoryRow], index_of: IndexOf, *, dry_run: bool = False
    ) -> Changes:
        """Store *rows*, one after the other: all or none.

        Args:
            rows: Each is merged into the stored person (`merged`).
            index_of: Returns their new index entries.
            dry_run: Only return what would change.
        """
        who = sorted({self._seal.who(row.person.known_as) for row in rows})

        def put() -> Work[Changes]:
            yield _TAKE_OVER, self._seal.proof
            # Its row is locked from here on: imports are one after the other.
            self._check((yield (_KEY_IN_USE,)))
            changed, changes = self._upsert(rows, dict((yield _BY_WHO, who)))
            yield from self._store([self._sealed(each, index_of) for each in changed])
            return changes

        if dry_run:
            await self._seal_in_use()
            return self._upsert(rows, dict(await self._database.fetch(_BY_WHO, who)))[1]
        return await self._database.transact(put())

    async def remove(self, known_as: str) -> bool:
        """Forget the person with the identity *known_as*; return whether there was one."""
        seal = await self._seal_in_use()
        return seal is not None and await self._delete("who = $1", seal.who(known_as)) > 0

    async def erase(self, prints: Iterable[str]) -> int:
        """Forget all people with any of *prints*, every byte of them; return how many."""
        return await self._delete(self.PRINTED, _print_bytes(prints))

    async def clear(self) -> int:
        """Forget all people; return how many.  A new key may seal those imported later."""

        def clear() -> Work[None]:
            for statement in self.CLEAR:
                yield (statement,)

        if people := (await self.status()).people:
            await self._database.transact(clear())
        await self._database.wipe(rewrite=True)
        return people

    # The key.

    @cached_property
    def _seal(self) -> DirectorySeal:
        return DirectorySeal(self._key())

    async def _seal_in_use(self) -> DirectorySeal | None:
        """Return the seal; ``None``, without needing a key, if there are no people."""
        found = await self._database.fetch(_KEY_IN_USE)
        self._check(found)
        return self._seal if found else None

    def _check(self, found: Sequence[Any]) -> None:
        if found and found[0][0] != self._seal.proof:
            raise WrongDirectoryKey(
                "its people were sealed with another key: bring that key back, or empty it "
                "with `cs directory clear` and import the files again"
            )

    def _unsealed(self, rows: Iterable[Sequence[Any]]) -> list[DirectoryPerson]:
        return [self._seal.unseal(who, box) for who, box in rows]

    def _upsert(
        self, rows: Sequence[DirectoryRow], stored: Mapping[bytes, bytes]
    ) -> tuple[Sequence[DirectoryPerson], Changes]:
        """Return the people that *rows* change; *stored* has the sealed ones by identity."""
        people = {who: self._seal.unseal(who, box) for who, box in stored.items()}
        changed: set[bytes] = set()
        changes = Changes()
        for row in rows:
            who = self._seal.who(row.person.known_as)
            before = people.get(who)
            after = row.person if before is None else merged(before, row)
            changes.new += before is None
            changes.unchanged += after == before
            changes.updated += before is not None and after != before
            if after != before:
                people[who] = after
                changed.add(who)
        return [people[who] for who in changed], changes

    def _sealed(self, person: DirectoryPerson, index_of: IndexOf) -> SealedPerson:
        who, entries = self._seal.who(person.known_as), index_of(person)
        places = sorted(map(self._seal.where, entries.places))
        prints = list(map(bytes.fromhex, entries.prints))
        return who, person.as_of, places, prints, self._seal.seal(who, person)


def _print_bytes(prints: Iterable[str]) -> list[bytes]:
    """Return fingerprints as they are stored."""
    return [bytes.fromhex(each) for each in set(prints)]


@asynccontextmanager
async def forget_old_people(
    directory: PeopleDirectory, clock: Clock, kept_for: timedelta
) -> AsyncIterator[None]:
    """Forget people known of longer ago than *kept_for*, now and every hour, until left."""

    async def forget() -> None:
        while True:
            try:
                people = 0
                while gone := await directory.forget_before((clock.now() - kept_for).date()):
                    people += gone
                if people:
                    log.info("directory_aged_out", people=people)
            except (DirectoryUnavailable, DeletedDataRemains) as error:
                log.warning("directory_not_aged_out", why=str(error))
            except Exception as error:  # noqa: BLE001  or no person is forgotten until a restart
                # A role that may not replace a table, a schema that is not there, a bug.
                log.warning("directory_not_aged_out", **fault(error))
            await clock.sleep_until(clock.now() + EVERY)

    async with in_background(forget(), "ageing-directory"):
        yield


_ANYBODY = "SELECT 1 FROM directory_person LIMIT 1"
_STATUS = "SELECT count(*), min(as_of), max(as_of) FROM directory_person"
_BOXES = "SELECT who, box FROM directory_person WHERE"
_PRINTS = "SELECT prints FROM directory_person WHERE"
_BY_WHO = f"{_BOXES} who = ANY($1::bytea[])"
_KEY_IN_USE = f"SELECT proof FROM directory_key WHERE EXISTS ({_ANYBODY})"  # noqa: S608
#: A key may change while there are no people that it would have to open.
_TAKE_OVER = f"""
INSERT INTO directory_key (one, proof) VALUES (1, $1)
ON CONFLICT (one) DO UPDATE SET proof = excluded.proof WHERE NOT EXISTS ({_ANYBODY})
"""  # noqa: S608
