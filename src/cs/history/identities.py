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

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import (
    ContactsDiscovered,
    ContactsErased,
    MailboxVerified,
    PeopleFound,
)
from cs.domain.codec import every_version, shapes
from cs.domain.person import PersonErased
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.fingerprints import identities_of, profile_print
from cs.eventlog.port import EventLog, SealedEvent, Where
from cs.eventlog.sealing import key_name
from cs.history.evidence import Findings, IdentityEvidence
from cs.history.history import WINDOW, Progress, unseen
from cs.history.opening import (
    DAMAGED,
    SealedPeople,
    SealedValue,
    names_of,
    opener,
)
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


def _topics_of(*events: type) -> frozenset[str]:
    beginnings = tuple(every_version(event) for event in events)
    return frozenset(topic for topic in shapes() if topic.startswith(beginnings))


#: What is first said about somebody, and mailboxes; later events repeat it.
_TELLING = _topics_of(PeopleFound, ContactsDiscovered, MailboxVerified)
_ERASING = Where(topics=_topics_of(PersonErased, ContactsErased))


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
    that in a file of its own until it is closed.
    """

    def __init__(
        self, log: EventLog, keys: KeyStore, secret: bytes, progress: Progress
    ) -> None:
        self._log = log
        self._keys = keys
        self._secret = secret
        self._progress = progress
        self._by_profile: dict[str, str | None] = {}  # None: a record without a profile
        self._streams: dict[str, int] = {}  # read one by one, up to this position
        self._evidence: IdentityEvidence | None = None
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
        if self._evidence is None and await self._read_streams(wanted, head):
            found = {name: self._by_profile.get(name, "") for name in wanted}
            if None not in found.values():
                return {name: who for name, who in found.items() if who}
        known = self._all_evidence().who(wanted)
        if len(known) < len(wanted):
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

    async def _read_streams(self, people: Iterable[str], head: int) -> bool:
        """Read the streams of those of *people* who are not known; ``False``: too many."""
        missing = (name for name in people if name not in self._by_profile)
        streams = {stream_of(name.rpartition("#")[0]) for name in missing}
        if len(self._streams.keys() | streams) > STREAMS:
            return False
        for stream in sorted(streams):
            where = Where(topics=_TELLING, streams=frozenset({stream}))
            stored = await self._log.select(where, self._streams.get(stream, 0), head)
            for each in await self._findings(stored):
                who = None if each.profile is None else self._pseudonym(each.profile)
                self._by_profile[each.name] = self._by_profile.get(each.name) or who
            self._streams[stream] = head
            if len(self._by_profile) > RECORDS:
                return False
        return True

    async def _read_on(self, head: int) -> None:
        """Read what all of the history says about people, on from where that ended."""
        while self._read_to < head:
            end = min(self._read_to + WINDOW, head)
            stored = await self._log.select(Where(topics=_TELLING), self._read_to, end)
            self._all_evidence().add(await self._findings(stored))
            self._read_to = end
            self._progress(end, head)

    async def _findings(self, events: Sequence[SealedEvent]) -> list[Findings]:
        """Return what *events* tell of who people are, in order, read past all else.

        Nobody is in it who is erased, whose key is lost, or whose event is damaged.
        """
        read: list[tuple[SealedEvent, _Telling]] = []
        for event in events:
            with suppress(*DAMAGED):
                read.append((event, _TOLD.decode(event.state)))
        names = (name for _, said in read for name in names_of(said, said.values))
        opens = await opener(self._keys, names)
        found: list[Findings] = []
        for event, said in read:
            for value in said.values:
                with suppress(*DAMAGED):  # it hides nobody else
                    plain = opens.read(event, said, value, _SAID)
                    if plain is not None and plain.says_anything:
                        found.append(self._found(key_name(said.lookup, value.person), plain))
        return found

    def _found(self, name: str, said: "_IdentityFields") -> Findings:
        prints = list(identities_of(self._keys, msgspec.structs.asdict(said)))
        profiles = [print_ for kind, print_ in prints if kind == "profile"]
        others = tuple(print_ for kind, print_ in prints if kind != "profile")
        return Findings(name, next(iter(profiles), None), others)

    async def _forget_erased(self, head: int) -> None:
        """Forget everybody who was erased since this was last asked."""
        if self._erased_to is None:
            self._erased_to = head  # who is erased by now cannot be read
        if self._erased_to >= head:
            return
        stored = await self._log.select(_ERASING, self._erased_to, head)
        self._erased_to = head
        if stored:
            self._keys.forget()
        names = {name for event in stored for name in _erased(event.state)}
        self._by_profile.update((name, "") for name in names & self._by_profile.keys())
        if self._evidence is not None:
            self._evidence.drop(names)


class _Telling(SealedPeople, frozen=True, kw_only=True):
    """An event that tells of people, as it is stored."""

    people: tuple[SealedValue, ...] = ()
    checked: SealedValue | None = None

    @property
    def values(self) -> tuple[SealedValue, ...]:
        return self.people if self.checked is None else (self.checked,)


class _IdentityFields(msgspec.Struct, gc=False):
    """What says who somebody is, of a personal value."""

    full_name: str | None = None
    company: str | None = None
    linkedin_url: str | None = None
    address: str | None = None

    @property
    def says_anything(self) -> bool:
        return bool(self.full_name or self.linkedin_url or self.address)


_TOLD = msgspec.json.Decoder(_Telling)
_SAID = msgspec.json.Decoder(_IdentityFields)


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
