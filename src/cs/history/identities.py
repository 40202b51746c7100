"""Stable pseudonyms: the records of all lookups that are of one person, without names.

A lookup numbers its people ``p1``, ``p2``, …, so ``p1`` of one may be ``p4`` of another.  What
one lookup found out about one person, ``<lookup>#p1``, is a record, and two records are of one
person (docs/analysts.md, "The same person"):

* with profiles, if it is the same profile;
* without, if they share a verified mailbox, or name and company, directly or through others
  without a profile.  Such a group belongs to the one profile whose records share a mailbox
  or a name with it; if there are several, it belongs to none of them.

A pseudonym, ``person_`` and 16 characters, is a keyed hash (HMAC-SHA-256, cut to 80 bits: of 10
million people two share one with a probability of 4 in 10¹¹) under a secret of the key store,
so none can be made of a name without that secret, and none leads to a fingerprint in the log.
With a profile it is made of the profile and never changes.  Without one it is made of what the
earliest record of that person says; later evidence may show whose it is.  A person without a
readable record, erased or with a lost key, has none.
"""

import hmac
import json
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from msgspec.structs import asdict

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import (
    ContactsDiscovered,
    MailboxVerified,
    PeopleFound,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import CheckedPerson, Person
from cs.eventlog.fingerprints import identities_of
from cs.eventlog.port import EventLog, LogUnavailable, Where
from cs.eventlog.sealing import key_name
from cs.history.history import WINDOW, Progress, opened, pass_over, unseen
from cs.keystore.port import KeyStore, KeysUnavailable
from cs.projections.reading import topics_of

#: The secret of the key store that pseudonyms are made with.
PSEUDONYMS = "pseudonyms"
#: As ids are written (`cs.runtime.ids`).
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


#: Events with the identity of a person: a profile, a name, or a verified mailbox.
_TELLING = topics_of(PeopleFound, ContactsDiscovered, MailboxVerified)

_SCHEMA = """
PRAGMA cache_size = -32000; -- KiB
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE record (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    profile TEXT, -- the pseudonym made of the profile
    own TEXT, -- what the pseudonym is made of without a profile
    first INTEGER, -- without a profile: the id of the first record of the same person
    who TEXT -- without a profile: the pseudonym
);
CREATE TABLE said (print TEXT NOT NULL, record INTEGER NOT NULL);
"""
_ADD = """
INSERT INTO record (name, profile, own) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE
SET profile = coalesce(profile, excluded.profile), own = coalesce(own, excluded.own)
"""
_ADD_PRINT = "INSERT INTO said SELECT ?, id FROM record WHERE name = ?"
_WHO = """
SELECT name, coalesce(profile, who) FROM record
WHERE name IN (SELECT value FROM json_each(?))
"""
_RECORDS = "SELECT name FROM record WHERE coalesce(profile, who) = ? ORDER BY id"
_BEGIN_GROUPING = """
DROP TABLE IF EXISTS loose;
CREATE TABLE loose AS
SELECT print, record FROM said JOIN record ON id = record WHERE profile IS NULL;
CREATE INDEX loose_print ON loose (print, record);
CREATE INDEX loose_record ON loose (record, print);
UPDATE record SET first = id WHERE profile IS NULL;
"""
#: Repeated until it changes nothing: each record joins the first one that shares a print.
_GROUP = """
UPDATE record SET first = shared.first
FROM (
    SELECT loose.record, min(least.first) AS first FROM loose JOIN (
        SELECT print, min(first) AS first FROM loose JOIN record ON id = record GROUP BY print
    ) AS least USING (print) GROUP BY loose.record
) AS shared
WHERE id = shared.record AND shared.first < record.first
"""
#: A group that one profile claims is of its person; one that several claim, of no other's.
_END_GROUPING = (
    """
    UPDATE record SET who = pseudonym(coalesce(earliest.own, earliest.name))
    FROM record AS earliest WHERE earliest.id = record.first
    """,
    """
    UPDATE record SET who = claim.profile
    FROM (
        SELECT record.first, min(claimed.profile) AS profile
        FROM (
            SELECT DISTINCT print, profile FROM said JOIN record ON id = said.record
            WHERE profile IS NOT NULL AND print IN (SELECT print FROM loose)
        ) AS claimed
        JOIN loose USING (print) JOIN record ON record.id = loose.record
        GROUP BY record.first HAVING count(DISTINCT claimed.profile) = 1
    ) AS claim
    WHERE claim.first = record.first
    """,
)


@asynccontextmanager
async def identities(
    log: EventLog, keys: KeyStore, progress: Progress = unseen
) -> AsyncIterator["Identities"]:
    """Yield the pseudonyms of the people in *log*.

    *progress* is called after every `WINDOW` positions while all of the history is read.

    Raises:
        LogUnavailable: The key store is away.
    """
    with _as_log_unavailable():
        secret = await keys.secret(PSEUDONYMS)
    found = Identities(log, keys, secret, progress)
    try:
        yield found
    finally:
        found.close()


class Identities:
    """The pseudonyms of people, made by `identities`.

    People with a profile are answered from the streams of their lookups.  For a person without
    one it reads the events about people of all of the history.  Fingerprints and pseudonyms
    are in a temporary SQLite file without a name, some 300 bytes a record.
    """

    def __init__(
        self, log: EventLog, keys: KeyStore, secret: bytes, progress: Progress
    ) -> None:
        self._log = log
        self._keys = keys
        self._secret = secret
        self._progress = progress
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.create_function("pseudonym", 1, self._pseudonym, deterministic=True)
        self._database.executescript(_SCHEMA)
        self._streams: dict[str, int] = {}  # read one by one, up to this position
        self._read_to = 0  # of all of the history

    def close(self) -> None:
        self._database.close()

    async def of(self, people: Iterable[str]) -> Mapping[str, str]:
        """Return the pseudonyms of *people*, ``<lookup>#p1``, by those.

        Erased people, and people of which nothing can be read, are left out.  Ask for many
        at once.

        Raises:
            LogUnavailable: Log or key store cannot be read now.
        """
        wanted = await self._not_erased(people)
        head = await self._log.head()
        streams = {stream_of(name.rpartition("#")[0]) for name in wanted}
        if not self._read_to:
            for stream in sorted(streams):
                only = Where(topics=_TELLING, streams=frozenset({stream}))
                await self._read(only, self._streams.get(stream, 0), head)
                self._streams[stream] = head
        found = self._who(wanted)
        if None in found.values() or (self._read_to and len(found) < len(wanted)):
            await self._read_on(head)
            found = self._who(wanted)
        if None in found.values():
            self._group()
            found = self._who(wanted)
        return {name: who for name, who in found.items() if who}

    async def records_of(self, who: str) -> list[str]:
        """Return all records of the person with the pseudonym *who*, ``<lookup>#p1``.

        In order of position.  What all of the history says about people is read for it.

        Raises:
            LogUnavailable: Log or key store cannot be read now.
        """
        await self._read_on(await self._log.head())
        self._group()
        names = [name for (name,) in self._database.execute(_RECORDS, (who,))]
        alive = await self._not_erased(names)
        return [name for name in names if name in alive]

    def _pseudonym(self, print_: str) -> str:
        bits = int.from_bytes(hmac.digest(self._secret, print_.encode(), "sha256")[:10], "big")
        return "person_" + "".join(_CROCKFORD[bits >> n & 31] for n in range(75, -1, -5))

    def _who(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return by name the pseudonyms of *names* that were read; ``None``: to be grouped."""
        return dict(self._database.execute(_WHO, (json.dumps([*names]),)))

    async def _read_on(self, head: int) -> None:
        """Read the events about people that were appended since the last reading."""
        if not self._read_to:  # records are kept in order of position
            self._database.executescript("DELETE FROM record; DELETE FROM said")
        while self._read_to < head:
            end = min(self._read_to + WINDOW, head)
            await self._read(Where(topics=_TELLING), self._read_to, end)
            self._read_to = end
            self._progress(end, head)

    async def _read(self, where: Where, after: int, upto: int) -> None:
        """Store the fingerprints of people in events; damaged events are left out."""
        stored = await self._log.select(where, after, upto)
        records: list[tuple[str, str | None, str | None]] = []
        said: list[tuple[str, str]] = []
        for recorded in await opened(self._keys, stored, pass_over):
            for name, person in _people(recorded.event):
                prints = dict(identities_of(self._keys, asdict(person)))
                url = prints.pop("profile", None)
                who = None if url is None else self._pseudonym(url)
                records.append((name, who, next(iter(prints.values()), None)))
                said += ((print_, name) for print_ in prints.values())
        self._database.execute("BEGIN")
        self._database.executemany(_ADD, records)
        self._database.executemany(_ADD_PRINT, said)
        self._database.execute("COMMIT")

    def _group(self) -> None:
        """Find out which person each record without a profile belongs to."""
        self._database.executescript(_BEGIN_GROUPING)
        while self._database.execute(_GROUP).rowcount:
            pass
        for statement in _END_GROUPING:
            self._database.execute(statement)

    async def _not_erased(self, names: Iterable[str]) -> set[str]:
        """Return those of *names* whose data key was not destroyed, by any process."""
        wanted = set(names)
        with _as_log_unavailable():
            keys = await self._keys.look(wanted)
        return {name for name in wanted if keys.get(name, b"") is not None}


@contextmanager
def _as_log_unavailable() -> Iterator[None]:
    try:
        yield
    except KeysUnavailable as error:
        raise LogUnavailable(f"the key store could not be read: {error}") from error


def _people(event: AnyEvent) -> Iterator[tuple[str, Person | CheckedPerson]]:
    """Yield the people in *event*, by the names of their records."""
    match event:
        case PeopleFound() | ContactsDiscovered():
            people: list[Person | CheckedPerson] = [
                each for each in event.people if each.full_name or each.linkedin_url
            ]
        case MailboxVerified():
            people = [event.checked] if event.checked.address else []
        case _:
            return
    for person in people:
        yield key_name(event.lookup, person.person), person
