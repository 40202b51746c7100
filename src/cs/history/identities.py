"""Stable pseudonyms: who, of all lookups, is the same person, without saying who it is.

A lookup numbers its people ``p1``, ``p2``, …, so ``p1`` of one may be ``p4`` of another.
Their records tell (`cs.history.evidence` has the rule, that of an erasure), and a person's
pseudonym, ``person_`` and 16 characters, is the same in all of them.  It is a keyed hash
(HMAC-SHA-256, cut to 80 bits: of 10 million people two share one with a probability of 4 in
10¹¹) under a secret of the key store: nobody without it can make one of a
name, and none leads to a fingerprint in the log.  Of a person without a readable record,
erased or lost, there is none.

With a profile the pseudonym is made of the profile, and never changes.  Without one it is made
of what the earliest record of that person that can be read says; later evidence may show whose
it is.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import ContactsErased
from cs.domain.codec import every_version, shapes, to_plain
from cs.domain.person import PersonErased
from cs.eventlog.errors import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.fingerprints import profile_print
from cs.eventlog.port import NO_STREAM, EventLog, RecordedEvent, Where
from cs.eventlog.sealing import key_name, personal_values
from cs.history.evidence import Findings, IdentityEvidence
from cs.history.findings import (
    NAMING_TOPICS,
    TELLING,
    TELLING_TOPICS,
    findings,
    findings_in,
    profiles_in,
)
from cs.history.history import WINDOW, Progress, unseen
from cs.history.opening import DAMAGED
from cs.keystore.errors import KeysUnavailable
from cs.keystore.port import KeyStore
from cs.runtime.hmac_sha256 import hmac_sha256

#: The secret of the key store that pseudonyms are made with.
PSEUDONYMS = "pseudonyms"
#: As ids are written (`cs.runtime.ids`): two characters for ten bits.
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = tuple(first + second for first in _CROCKFORD for second in _CROCKFORD)
_TENS = range(70, -1, -10)
#: Streams that are read one by one; asked about more, all of the history is read once.
STREAMS = 200
#: Records of those streams in memory, some 150 bytes each; with more, the same.
RECORDS = 50_000
#: Events of a stream read at once.
PAGE = 500

_ERASING_TOPICS = (every_version(PersonErased), every_version(ContactsErased))


@asynccontextmanager
async def identities(
    log: EventLog, keys: KeyStore, progress: Progress = unseen
) -> AsyncIterator["Identities"]:
    """Yield what tells the people in *log* apart.

    Args:
        log: Where they are.
        keys: What opens them.
        progress: Called after every `WINDOW` positions while all of the history is read.

    Raises:
        LogUnavailable: The key store is away.
    """
    try:
        secret = await keys.secret(PSEUDONYMS)
    except KeysUnavailable as error:
        raise LogUnavailable(f"the key store could not be read: {error}") from error
    found = Identities(log, keys, secret, progress)
    try:
        yield found
    finally:
        found.close()


class Identities:
    """Made by `identities`.

    A few people are answered from the streams of their lookups.  Asked about many, or about
    somebody without a profile, it reads what all of the history says about people, and keeps
    that in a file of its own until it is closed: once, as long as everybody has a profile and
    is known by it; with the first who has none, from the beginning with all else that tells
    who somebody is.
    """

    def __init__(
        self, log: EventLog, keys: KeyStore, secret: bytes, progress: Progress
    ) -> None:
        self._log = log
        self._keys = keys
        self._secret = secret
        self._progress = progress
        self._by_profile: dict[str, str | None] = {}  # None: a record without a profile
        self._streams: dict[str, int] = {}  # read one by one, up to this version
        self._evidence: IdentityEvidence | None = None
        self._profiles_tell = True  # who everybody is, as far as all of it was read
        self._read_to = 0  # of all of the history
        self._erased_to: int | None = None  # erasures up to here are known

    def close(self) -> None:
        if self._evidence is not None:
            self._evidence.close()

    async def of(self, people: Iterable[str]) -> Mapping[str, str]:
        """Return the pseudonyms of *people*, ``<lookup>#p1``, by those.

        Who is erased, or of whom nothing can be read, is left out.  Ask for many at once.

        Raises:
            LogUnavailable: Log or key store cannot be read now.
        """
        wanted = dict.fromkeys(people)
        head = await self._log.head()
        await self._forget_erased(head)
        if self._evidence is None and await self._read_streams(wanted):
            found = {name: self._by_profile.get(name, "") for name in wanted}
            if None not in found.values():
                return {name: who for name, who in found.items() if who}
        known = self._all_evidence().who(wanted)
        if len(known) < len(wanted):
            await self._read_on(head)
            known = self._all_evidence().who(wanted)
        if len(known) < len(wanted) and self._profiles_tell:
            self._begin_anew()
            await self._read_on(head)
            known = self._all_evidence().who(wanted)
        self._all_evidence().drop(wanted.keys() - known.keys())  # nothing tells who they are
        return {name: who for name, who in known.items() if who}

    def of_profile(self, url: str) -> str:
        """Return the pseudonym of whoever has the profile *url*, which never changes."""
        return self._pseudonym(profile_print(self._keys, url))

    async def records_of(self, who: str) -> list[str]:
        """Return all records of the person with the pseudonym *who*, ``<lookup>#p1``.

        In order of position.  What all of the history says about people is read for it.

        Raises:
            LogUnavailable: Log or key store cannot be read now.
        """
        head = await self._log.head()
        await self._forget_erased(head)
        await self._read_on(head)
        return self._all_evidence().records(who)

    def _all_evidence(self) -> IdentityEvidence:
        if self._evidence is None:
            self._evidence = IdentityEvidence(self._pseudonym)
        return self._evidence

    def _pseudonym(self, print_: str) -> str:
        digest = hmac_sha256(self._secret, print_.encode())
        bits = int.from_bytes(digest[:10], "big")
        return "person_" + "".join([_PAIRS[bits >> n & 1023] for n in _TENS])

    async def _read_streams(self, people: Iterable[str]) -> bool:
        """Read the streams of those of *people* who are not known.

        Returns ``False`` where that is too much, or where one of them is damaged.
        """
        missing = (name for name in people if name not in self._by_profile)
        streams = {stream_of(name.rpartition("#")[0]) for name in missing}
        if len(self._streams.keys() | streams) > STREAMS:
            return False
        for stream in sorted(streams):
            try:
                await self._read_stream(stream)
            except (DamagedEvent, NewerEvent):
                return False
            if len(self._by_profile) > RECORDS:
                return False
        return True

    async def _read_stream(self, stream: str) -> None:
        version = self._streams.get(stream, NO_STREAM)
        while page := await self._log.read(stream, version, PAGE):
            for each in self._findings(page):
                who = None if each.profile is None else self._pseudonym(each.profile)
                self._by_profile[each.name] = self._by_profile.get(each.name) or who
            version = page[-1].version
            self._streams[stream] = version
            if len(page) < PAGE:
                break

    async def _read_on(self, head: int) -> None:
        """Read what all of the history says about people, on from where that ended.

        As long as everybody has a profile nothing else of them is read: whoever is first named
        is known by that.
        """
        while self._read_to < head:
            end = min(self._read_to + WINDOW, head)
            if self._profiles_tell:
                stored = await self._log.select(_topics_of(NAMING_TOPICS), self._read_to, end)
                found = await profiles_in(self._keys, stored)
                if found is None:
                    self._begin_anew()
                    continue
                self._all_evidence().add(found.findings)
                self._all_evidence().drop(found.unreadable)
            else:
                stored = await self._log.select(_topics_of(TELLING_TOPICS), self._read_to, end)
                self._all_evidence().add(await findings_in(self._keys, stored))
            self._read_to = end
            self._progress(end, head)

    def _begin_anew(self) -> None:
        """Read all of the history with all that tells who somebody is."""
        self.close()
        self._evidence, self._read_to, self._profiles_tell = None, 0, False

    def _findings(self, page: Iterable[RecordedEvent]) -> Iterator[Findings]:
        """Yield what the events of *page* tell of people, those who are erased left out."""
        for recorded in page:
            if isinstance(recorded.event, TELLING):
                plain = to_plain(recorded.event)
                for value in personal_values(plain):
                    name = key_name(recorded.event.lookup, value["person"])
                    if (found := findings(self._keys, name, value)) is not None:
                        yield found

    async def _forget_erased(self, head: int) -> None:
        """Forget everybody who was erased since this was last asked."""
        if self._erased_to is None:
            self._erased_to = head  # who is erased by now cannot be read
        if self._erased_to >= head:
            return
        stored = await self._log.select(_topics_of(_ERASING_TOPICS), self._erased_to, head)
        self._erased_to = head
        if stored:
            self._keys.forget()
        names = {name for event in stored for name in _erased(event.state)}
        self._by_profile.update((name, "") for name in names & self._by_profile.keys())
        if self._evidence is not None:
            self._evidence.drop(names)


def _topics_of(beginnings: tuple[str, ...]) -> Where:
    return Where(topics=frozenset(t for t in shapes() if t.startswith(beginnings)))


class _ErasedPeople(msgspec.Struct):
    """What a stored event that erases somebody says of whom."""

    lookup: str = ""
    people: tuple[str, ...] = ()
    found_in: tuple[str, ...] = ()


_ERASED = msgspec.json.Decoder(_ErasedPeople)


def _erased(state: bytes) -> Iterator[str]:
    """Yield who is erased by the event that is stored as *state*; nobody if it is damaged."""
    with suppress(*DAMAGED):
        said = _ERASED.decode(state)
        yield from said.found_in
        yield from (key_name(said.lookup, person) for person in said.people)
