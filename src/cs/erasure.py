"""Erasing a person: everything known of them, now and from now on.

In this order, so that whatever is interrupted is finished by doing it again:

1. The person's stream says by which fingerprints they are suppressed; the key store
   refuses them.  From here on nobody can store anything new about them.
2. The data keys of their values are destroyed: the log no longer tells of them.
3. Each lookup they were in goes on, or answers, without them (*contacts erased*).
4. When the views have sealed those results anew, the keys of the old ones are destroyed.
5. *Person erased* tells every running service to drop what it holds in memory.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import msgspec

from cs.calls.port import CallsUnavailable
from cs.clock import Clock
from cs.domain import brand, person
from cs.domain.brand import stream_of
from cs.domain.brand_events import (
    BrandEvent,
    ContactsErased,
    EraseContacts,
    LookupFinished,
    LookupStarted,
)
from cs.domain.codec import to_plain
from cs.domain.contact import Contact
from cs.domain.person import (
    ErasePerson,
    LiftSuppression,
    PersonCommand,
    PersonEvent,
    PersonSuppressed,
    SuppressPerson,
)
from cs.eventlog.damage import read_past
from cs.eventlog.fingerprints import email_print, name_print, profile_print
from cs.eventlog.port import Append, DamagedEvent, LogUnavailable, Recorded
from cs.eventlog.sealing import key_name, personal_values
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.projections.searches import key_of


class Erased(msgspec.Struct, frozen=True):
    """What an erasure came to.

    Attributes:
        lookups: How many lookups had found them, those erased before included.
        keys: Data keys destroyed for good, this time or before.
        new: Whether anything was known or open that was not before.
    """

    lookups: int
    keys: int
    new: bool


class Suppressed(msgspec.Struct, frozen=True):
    """One person who is kept out of later searches; nothing here says who it is.

    Attributes:
        id: Of the person's stream, a keyed hash.
        since: When it was first asked for, since it was last lifted.
        lookups: How many they were erased from.
        by: Who had it done; ``None`` if that was not stored.
    """

    id: str
    since: datetime
    lookups: int
    by: str | None = None


class AgedOut(msgspec.Struct, frozen=True):
    """Lookups whose people are forgotten, and how many people that is.

    Attributes:
        unread: Why others are left out; ``None`` if none is.
    """

    lookups: Sequence[str]
    people: int
    unread: DamagedEvent | None = None


class _Wish(msgspec.Struct, frozen=True):
    """What is known of one person who was ever suppressed.

    Attributes:
        prints: Every fingerprint that was ever said.
    """

    prints: frozenset[str]
    since: datetime
    by: str | None
    state: person.Person = person.INITIAL


class Erasure:
    """Works beside a running service or without one.

    Args:
        reflected: Returns when the views reflect all that is in the log.
        by: Account or label of who asks for it, which the events will tell.
    """

    def __init__(
        self,
        streams: Streams,
        keys: KeyStore,
        clock: Clock,
        reflected: Callable[[], Awaitable[None]],
        *,
        forget_calls: Callable[[Iterable[str]], Awaitable[int]] | None = None,
        by: str | None = None,
    ) -> None:
        self._streams = streams
        self._keys = keys
        self._clock = clock
        self._reflected = reflected
        self._forget_calls = forget_calls
        self._by = by

    async def erase_mailbox(self, address: str) -> Erased:
        """Erase whoever has the e-mail *address*, and keep them from being found again."""
        return await self.erase(email_print(self._keys, address))

    async def erase_profile(self, url: str) -> Erased:
        """Erase whoever has the profile *url*, in the form the people sources give it."""
        return await self.erase(profile_print(self._keys, url))

    def mailbox_print(self, address: str) -> str:
        """Return by what `erase` and `suppressed` know whoever has the e-mail *address*."""
        return email_print(self._keys, address)

    def page_print(self, url: str) -> str:
        """Return by what they know whoever has the profile *url*."""
        return profile_print(self._keys, url)

    async def foreseen(self, given: str) -> frozenset[str]:
        """Return the data keys that `erase` of *given* would destroy; nothing is changed.

        Those that an erasure before destroyed are left out.
        """
        state: person.Person = (await self._streams.load(f"person-{given}")).state
        prints = await self._known_by(given, {given, *state.prints}, frozenset())
        found = await self._keys.matching(prints)
        return frozenset((await self._keys.find(found - state.erased_from)).keys())

    async def suppressed(self, print_: str | None = None) -> list[Suppressed]:
        """Return who is suppressed, the earliest first; only who has *print_* if given."""
        return [
            Suppressed(
                stream.removeprefix("person-"), wish.since, len(wish.state.erased_from), wish.by
            )
            for stream, wish in (await self._wishes()).items()
            if wish.state.suppressed and (print_ is None or print_ in wish.prints)
        ]

    async def lift(self, people: Iterable[str]) -> int:
        """Let later searches find *people*, ids of `Suppressed`; return how many it changed.

        What was erased stays erased.  Fingerprints that somebody else who is suppressed is
        known by as well stay refused.
        """
        wanted = {f"person-{each}" for each in people}
        wishes = await self._wishes()
        lifted = wishes.keys() & wanted
        await self._refuse_no_longer(wishes, lifted)
        lift = LiftSuppression(at=self._clock.now(), by=self._by)
        return sum([await self._say(stream, lift) for stream in wishes if stream in lifted])

    async def _refuse_no_longer(
        self, wishes: Mapping[str, _Wish], lifted: AbstractSet[str]
    ) -> None:
        """Let the key store take fingerprints of *lifted* streams, but for those of others."""
        theirs = (wish.prints for stream, wish in wishes.items() if stream in lifted)
        others = (
            wish.prints
            for stream, wish in wishes.items()
            if stream not in lifted and wish.state.suppressed
        )
        await self._keys.unsuppress(frozenset().union(*theirs) - frozenset().union(*others))

    async def _wishes(self) -> dict[str, _Wish]:
        """Return what everybody who was ever suppressed asked for, by stream."""
        wishes: dict[str, _Wish] = {}
        position = 0
        while page := await read_past(self._streams.log, position):
            position = page[-1].position
            for each in page:
                if isinstance(each.event, PersonEvent):
                    wishes[each.stream] = _after(wishes.get(each.stream), each)
        return wishes

    async def erase_all_again(self) -> int:
        """Erase everybody who ever was and still is suppressed; return how many there are.

        Who aged out goes too, and what was erased of people who may be found again.

        For a key store that came back from a backup: it has keys that were destroyed, and
        does not know who was suppressed or lifted since.

        Raises:
            LogUnavailable: Do it again.
            DamagedEvent: The same, once the damage is mended.  All others are gone.
        """
        wishes = await self._wishes()
        suppressed = [stream for stream, wish in wishes.items() if wish.state.suppressed]
        lifted = wishes.keys() - set(suppressed)
        await self._refuse_no_longer(wishes, lifted)
        gone = frozenset[str]().union(*(wishes[s].state.erased_from for s in lifted))
        unread = await self._take_out(gone)
        for stream in suppressed:
            try:
                await self.erase(stream.removeprefix("person-"))
            except DamagedEvent as damaged:
                unread = damaged
        if aged_out := await self._aged_out():
            unread = (await self.age_out(aged_out)).unread or unread
        if unread is not None:
            raise unread
        return len(suppressed)

    async def _aged_out(self) -> tuple[str, ...]:
        """Return the lookups whose people have aged out."""
        found: dict[str, None] = {}
        position = 0
        while page := await read_past(self._streams.log, position):
            position = page[-1].position
            for recorded in page:
                if isinstance(recorded.event, ContactsErased) and recorded.event.aged_out:
                    found[recorded.event.lookup] = None
        return tuple(found)

    async def erase(
        self, given: str, prints: Iterable[str] = (), names: Iterable[str] = ()
    ) -> Erased:
        """Erase the person with the fingerprint *given*.

        Args:
            given: Names the person's stream.
            prints: By what else this person is known.
            names: Of data keys that are this person's, wherever they are indexed.

        Raises:
            LogUnavailable: Do it again; it goes on from where it was.
            DamagedEvent: The same, once a stream with something of them is mended.  From
                all others they are gone.
        """
        stream = f"person-{given}"
        before: person.Person = (await self._streams.load(stream)).state
        told = {given, *prints, *before.prints}
        all_prints = await self._known_by(given, told, frozenset(names))
        said = await self._say(stream, self._suppress(all_prints))
        await self._keys.suppress(all_prints)
        found = frozenset(names) | before.erased_from | await self._keys.matching(all_prints)
        unread = await self._take_out(found)
        if unread is not None:
            raise unread
        erase = ErasePerson(found_in=tuple(sorted(found)), by=self._by, at=self._clock.now())
        done = await self._say(stream, erase)
        return Erased(len(_lookups_of(found)), len(found), bool(said or done))

    async def _take_out(self, found: frozenset[str]) -> DamagedEvent | None:
        """Destroy the data keys *found*, and take those they are of out of their lookups.

        Returns what could not be read: of that stream nobody was left out.
        """
        await self._keys.destroy(found)
        old: list[str] = []
        unread: DamagedEvent | None = None
        for group in _by_stream(found).items():
            try:
                old += await self._leave_out(*group)
            except DamagedEvent as damaged:
                self._streams.set_aside.note(damaged)
                unread = damaged
        if old:
            await self._reflected()
            await self._keys.destroy(old)
        if found:
            await self._forget(_lookups_of(found))
        return unread

    def _suppress(self, prints: tuple[str, ...]) -> SuppressPerson:
        return SuppressPerson(prints=prints, by=self._by, at=self._clock.now())

    async def age_out(self, lookups: Sequence[str]) -> AgedOut:
        """Forget everybody whom *lookups*, which have ended, found.

        Nobody is suppressed: a later search may find them anew.  What is told of each lookup
        comes last, so that whatever is interrupted is done again.  A lookup whose stream is
        damaged is set aside and left out.

        Raises:
            LogUnavailable: Do it again.
        """
        people: dict[str, tuple[str, ...]] = {}
        gone: list[str] = []
        unread: DamagedEvent | None = None
        for lookup in lookups:
            try:
                refs = await self._people_of(lookup)
                gone += await self._bodies_of(lookup)
            except DamagedEvent as damaged:
                self._streams.set_aside.note(damaged)
                unread = damaged
            else:
                people[lookup] = refs
                gone += (key_name(lookup, ref) for ref in refs)
        await self._keys.destroy(gone)
        await self._forget(people)
        for lookup, refs in list(people.items()):
            try:
                await self._leave_out(stream_of(lookup), {lookup: refs}, aged_out=True)
            except DamagedEvent as damaged:
                self._streams.set_aside.note(damaged)
                unread = damaged
                del people[lookup]
        await self._reflected()
        return AgedOut(tuple(people), sum(map(len, people.values())), unread)

    async def _people_of(self, lookup: str) -> tuple[str, ...]:
        """Return everybody of *lookup*, shown or not, erased or not."""
        found: set[str] = set()
        for recorded in await self._streams.log.read(stream_of(lookup)):
            plain = to_plain(recorded.event)
            if plain.get("lookup") == lookup:
                found.update(value["person"] for value in personal_values(plain))
        return tuple(sorted(found))

    async def _bodies_of(self, lookup: str) -> list[str]:
        recorded = await self._streams.log.read(stream_of(lookup))
        return [key for each in _results(recorded, lookup) if (key := key_of(each)) is not None]

    async def _forget(self, lookups: Iterable[str]) -> None:
        if self._forget_calls is not None:
            try:
                await self._forget_calls(lookups)
            except CallsUnavailable as error:
                raise LogUnavailable(f"answers of paid calls: {error}") from error

    async def _say(self, stream: str, command: PersonCommand) -> bool:
        events, _ = await self._streams.change(stream, lambda s: person.decide(command, s))
        return bool(events)

    # Who it is.

    async def _known_by(
        self, given: str, prints: Iterable[str], names: frozenset[str]
    ) -> tuple[str, ...]:
        """Return all fingerprints of the person, with what their records tell of them.

        A record of another profile that shares only an address or a name is a
        namesake's: nothing is learned from it.
        """
        known = set(prints)
        theirs = names | await self._keys.matching([given])
        left, seen = names | await self._keys.matching(known), set[str]()
        while left:
            for name, values in (await self._values(left)).items():
                told = list(self._identities(values))
                profiles = {print_ for kind, print_ in told if kind == "profile"}
                if name in theirs or profiles <= known:
                    known.update(print_ for _, print_ in told)
            seen |= left
            left = await self._keys.matching(known) - seen
        return tuple(sorted(known))

    async def _values(self, names: Iterable[str]) -> dict[str, list[Mapping[str, Any]]]:
        """Return the personal values sealed under each of *names*, opened."""
        values: dict[str, list[Mapping[str, Any]]] = {name: [] for name in names}
        for stream in _by_stream(values):
            try:
                events = await self._streams.log.read(stream)
            except DamagedEvent as damaged:  # nothing is learned from it
                self._streams.set_aside.note(damaged)
                continue
            for recorded in events:
                plain = to_plain(recorded.event)
                for value in personal_values(plain):
                    name = f"{plain.get('lookup')}#{value['person']}"
                    if name in values:
                        values[name].append(value)
        return values

    def _identities(self, values: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
        """Yield (kind, fingerprint): profile, verified mailbox, and name with company.

        An address that a source only named proves nothing; a team may share it.
        """
        for value in values:
            if url := value.get("linkedin_url"):
                yield "profile", profile_print(self._keys, url)
            if address := value.get("email") or value.get("address"):
                yield "email", email_print(self._keys, address)
            if (name := value.get("full_name")) and (company := value.get("company")):
                yield "name", name_print(self._keys, name, company)

    # Where they were.

    async def _leave_out(
        self, stream: str, people: Mapping[str, tuple[str, ...]], *, aged_out: bool = False
    ) -> list[str]:
        """Leave *people* of each lookup out; return the keys of results that hold them."""

        async def attempt() -> None:
            recorded = await self._streams.log.read(stream)
            events = self._decided(recorded, people, aged_out=aged_out)
            if events:
                await self._streams.log.append([Append(stream, recorded[-1].version, events)])

        async with self._streams.holding(stream):
            await self._streams.retrying(attempt)
        recorded = await self._streams.log.read(stream)
        old = [result for lookup in people for result in _results(recorded, lookup)[:-1]]
        return [key for result in old if (key := key_of(result)) is not None]

    def _decided(
        self,
        recorded: Sequence[Recorded],
        people: Mapping[str, tuple[str, ...]],
        *,
        aged_out: bool,
    ) -> list[BrandEvent]:
        events: list[BrandEvent] = []
        state = _folded(recorded)
        there = {e.event.lookup for e in recorded if isinstance(e.event, LookupStarted)}
        for lookup in sorted(there & people.keys()):
            results = _results(recorded, lookup)
            command = EraseContacts(
                lookup=lookup,
                people=people[lookup],
                contacts=_contacts(results[-1]) if results else (),
                aged_out=aged_out,
                at=self._clock.now(),
            )
            new = brand.decide(command, state)
            state = brand.fold(new, state)
            events += new
        return events


def _after(before: _Wish | None, recorded: Recorded) -> _Wish:
    """Return what the person of *recorded*, an event of theirs, asked for by then."""
    event = recorded.event
    assert isinstance(event, PersonEvent)
    if before is None:
        before = _Wish(frozenset({recorded.stream.removeprefix("person-")}), event.at, event.by)
    prints = before.prints
    if isinstance(event, PersonSuppressed):
        prints |= frozenset(event.prints)
    kept_out = before.state.suppressed  # else this is when and by whom they are anew
    since, by = (before.since, before.by) if kept_out else (event.at, event.by)
    return _Wish(prints, since, by, person.evolve(before.state, event))


def _lookups_of(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.rpartition("#")[0] for name in names)


def _by_stream(names: Iterable[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the people that *names* stand for: by brand stream, by lookup."""
    streams: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in sorted(names):
        lookup, _, ref = name.rpartition("#")
        lookups = streams.setdefault(stream_of(lookup), {})
        lookups[lookup] = (*lookups.get(lookup, ()), ref)
    return streams


def _folded(recorded: Iterable[Recorded]) -> brand.Brand:
    """Return the state of a brand after *recorded*, its whole stream.

    Raises:
        DamagedEvent: One of them can be read, but nobody can have written it there.
    """
    state = brand.INITIAL
    for each in recorded:
        try:
            assert isinstance(each.event, BrandEvent), "a brand's stream"
            state = brand.evolve(state, each.event)
        except Exception as error:
            name = type(error).__name__
            why = f"event {each.position}, {each.stream} version {each.version}: {name}"
            raise DamagedEvent(each.position, each.stream, each.version, why) from error
    return state


def _results(recorded: Iterable[Recorded], lookup: str) -> list[Recorded]:
    """Return the events that hold the result of *lookup*, oldest first; none while it runs."""
    results: list[Recorded] = []
    for each in recorded:
        match each.event:
            case LookupFinished(lookup=of) if of == lookup:
                results.append(each)
            case ContactsErased(lookup=of) if of == lookup and results:
                results.append(each)
            case _:
                pass
    return results


def _contacts(result: Recorded) -> tuple[Contact, ...]:
    assert isinstance(result.event, LookupFinished | ContactsErased)
    return result.event.contacts
