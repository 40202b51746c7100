"""Erasing people: one who asks for it, and all people of a lookup that is too old.

Suppressed people are read from the log: each person who asked to be erased has a stream of
their own.  A suppression that was a mistake can be lifted.

A person is erased in this order, so that an interrupted erasure is finished by doing it again:

0. The key store's record of erasures names them (`cs.keystore.recovery`), so that a log that is
   restored from a backup of before can be made to forget them again.
1. The person's stream says by which fingerprints they are suppressed; the key store refuses
   them.  From here on nothing new can be stored about them.
2. They are taken out of the operator's own directory.
3. The data keys of their values are destroyed: the log no longer names them.
4. Each lookup they were in goes on, or answers, without them (*contacts erased*).
5. When the views have sealed those results again, the keys of the old ones are destroyed.
   Those of a stream that cannot be read are destroyed at once: what is left of them without
   this person is unknown, so they are not shown until the stream is mended.
6. The remembered answers to paid calls for those lookups are deleted.
7. *Person erased* makes every running service drop what it holds in memory.

Where a store cannot be cleaned, all others are, and the erasure ends with the reason: a stream
is damaged (`DamagedEvent`), or a file that another process reads may keep deleted bytes
(`DeletedDataRemains`).
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from cs.directory.person import DirectoryPerson
from cs.directory.store import DirectoryUnavailable, PeopleDirectory
from cs.domain import person
from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import ContactsErased
from cs.domain.causation import AnyCause, OperatorCause, TimerCause
from cs.domain.codec import to_plain
from cs.domain.person import (
    ErasePerson,
    LiftSuppression,
    PersonCommand,
    PersonEvent,
    SuppressPerson,
)
from cs.eventlog.damage import DamagedStreams, read_past
from cs.eventlog.fingerprints import fingerprints, identities_of
from cs.eventlog.port import DamagedEvent, LogUnavailable, Where
from cs.eventlog.sealing import key_name, personal_values
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore, KeysUnavailable
from cs.keystore.recovery import ErasureEntry
from cs.operations.brand_streams import (
    by_stream,
    leave_out,
    lookups_of,
    people_of,
    possible_result_keys,
)
from cs.operations.restored import LogBehind, look
from cs.paid_calls.errors import CallsUnavailable
from cs.runtime.clock import Clock
from cs.runtime.private_files import DeletedDataRemains

#: The cause of ageing, unless an operator has it done again.
DUE = TimerCause(timer="ageing")
#: Forgets the remembered answers for lookups; returns how many they were.
ForgetCalls = Callable[[Iterable[str]], Awaitable[int]]


class ErasureResult(msgspec.Struct, frozen=True):
    """The result of an erasure.

    Attributes:
        lookups: Lookups that had found the person, those erased before included.
        keys: Data keys destroyed for good, this time or before.
        new: Whether anything was known or open that was not before.
        names: The names of those keys, ``<lookup>#p1``.
        directory: Rows of the operator's own directory that were deleted this time.
    """

    lookups: int
    keys: int
    new: bool
    names: frozenset[str] = frozenset()
    directory: int = 0


class AgeingResult(msgspec.Struct, frozen=True):
    """Lookups whose people are forgotten, and the number of those people.

    Attributes:
        unread: The error of a lookup that is left out; ``None`` if none is.
    """

    lookups: Sequence[str]
    people: int
    unread: DamagedEvent | None = None


#: Streams of people who asked to be erased; of a long log they are few.
PEOPLE = Where(prefixes=frozenset({"person-"}))
#: Positions that are read at once.
WINDOW = 5_000


class SuppressionRecord(msgspec.Struct, frozen=True):
    """A person who was ever suppressed, without their identity.

    Attributes:
        id: The id of the person's stream, a keyed hash.
        prints: Every fingerprint they were suppressed by.
        since: When it was first asked for after it was last lifted.
        last_at: When anything about it was last stored.
        by: The operator who asked for it; ``None`` if that was not stored.
    """

    id: str
    prints: frozenset[str]
    since: datetime
    last_at: datetime
    by: str | None
    state: person.PersonState = person.INITIAL


class _Unfinished:
    """Steps of an erasure that failed: damaged streams, files that keep deleted bytes."""

    def __init__(self, set_aside: DamagedStreams) -> None:
        self._set_aside = set_aside
        self.damaged: DamagedEvent | None = None
        self.files: dict[str, None] = {}

    def note(self, damaged: DamagedEvent) -> None:
        self._set_aside.note(damaged)
        self.damaged = damaged

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Go on after a step that fails."""
        try:
            yield
        except DamagedEvent as error:
            self.note(error)
        except DeletedDataRemains as error:
            self.files.update(dict.fromkeys(error.files))

    def check(self) -> None:
        """Raise `DamagedEvent` or `DeletedDataRemains` unless everything is done."""
        if self.damaged is not None:
            raise self.damaged
        if self.files:
            raise DeletedDataRemains(*self.files)


class Erasure:
    """Erases people, while a service runs or not.

    Every method that changes something raises, unless it says otherwise:

    * `LogUnavailable`: A store is away.  Do it again; it goes on from where it was.
    * `DamagedEvent`: The same, once a stream with data of them is mended.  They are not shown
      any more, and are gone from all other streams.
    * `DeletedDataRemains`: The same, once no other process reads the files: they are gone from
      everything that is read, but bytes of them are left.

    Args:
        reflected: Returns when the views reflect all that is in the log.
        forget_calls: Forgets remembered answers to paid calls; ``None`` if there are none.
        directory: The operator's own people; ``None`` if the settings do not name it.
        by: The account or label of the operator, which is stored in the events.
    """

    def __init__(
        self,
        streams: Streams,
        keys: KeyStore,
        clock: Clock,
        reflected: Callable[[], Awaitable[None]],
        *,
        forget_calls: ForgetCalls | None = None,
        directory: PeopleDirectory | None = None,
        by: str | None = None,
    ) -> None:
        self._streams = streams
        self._keys = keys
        self._clock = clock
        self._reflected = reflected
        self._forget_calls = forget_calls
        self._directory = directory
        self._by = by

    async def foresee(self, print_: str) -> ErasureResult:
        """Return the result that `erase` of *print_* would have now; nothing is changed.

        Keys that an earlier erasure destroyed are left out.
        """
        state, prints = await self._known_by(print_)
        found = await self._keys.matching(prints)
        names = frozenset((await self._keys.find(found - state.erased_from)).keys())
        rows = 0 if self._directory is None else len(await self._directory.printed(prints))
        return ErasureResult(len(lookups_of(names)), len(names), True, names, rows)

    async def erase(
        self,
        print_: str,
        prints: Iterable[str] = (),
        names: Iterable[str] = (),
        *,
        caused_by: AnyCause | None = None,
        at: datetime | None = None,
    ) -> ErasureResult:
        """Erase the person with the fingerprint *print_*, and suppress them.

        Args:
            print_: Names the person's stream.
            prints: Other fingerprints of this person.
            names: Data keys of this person, wherever they are indexed.
            caused_by: The cause, if not an operator's ``cs people erase``.
            at: When it was asked for, the same at each try; ``None``: now.
        """
        prints, names = frozenset(prints), frozenset(names)
        at = at or self._clock.now()
        entry = ErasureEntry(print_, at, tuple(sorted(prints)), tuple(sorted(names)))
        await self._note([entry])  # 0.
        done = await self._erase(print_, prints, names, caused_by=caused_by)
        with suppress(LogBehind), _as_log_unavailable():
            await look(self._streams.log, self._keys, self._clock)  # it has this erasure
        return done

    async def _erase(
        self,
        print_: str,
        prints: Iterable[str] = (),
        names: Iterable[str] = (),
        *,
        caused_by: AnyCause | None = None,
    ) -> ErasureResult:
        """Do steps 1 to 7 of `erase`."""
        unfinished = _Unfinished(self._streams.set_aside)
        caused_by = caused_by or OperatorCause(command="people erase", who=self._by)
        stream = person_stream(print_)
        before, every_print = await self._known_by(print_, prints, frozenset(names))
        # 1. Suppress the person.
        suppress = SuppressPerson(prints=every_print, by=self._by, at=self._clock.now())
        suppressed = await self._append(stream, suppress, caused_by)
        await self._keys.suppress(every_print)
        # 2. Take them out of the directory.
        gone = 0
        if self._directory is not None:
            with unfinished.noted(), _as_log_unavailable():
                gone = await self._directory.erase(frozenset(every_print))
        # 3. to 6. Destroy their keys, and take them out of the lookups.
        found = frozenset(names) | before.erased_from | await self._keys.matching(every_print)
        await self._take_out(found, caused_by, unfinished)
        # 7. Also if a step failed: running services have to drop the keys they hold.
        erase = ErasePerson(found_in=tuple(sorted(found)), by=self._by, at=self._clock.now())
        erased = await self._append(stream, erase, caused_by)
        unfinished.check()
        new = suppressed or erased or gone > 0
        return ErasureResult(len(lookups_of(found)), len(found), new, found, gone)

    async def age_out(self, lookups: Sequence[str], caused_by: AnyCause = DUE) -> AgeingResult:
        """Forget all people that *lookups*, which have ended, found.

        They are not suppressed: a later search may find them again.  The event of each lookup
        comes last, so that an interrupted run is repeated.  A lookup whose stream is damaged
        is set aside and left out, without an error.
        """
        people: dict[str, tuple[str, ...]] = {}
        gone: list[str] = []
        unread = _Unfinished(self._streams.set_aside)
        for lookup in lookups:
            with unread.noted():
                people[lookup], bodies = await people_of(self._streams, lookup)
                gone += [*bodies, *(key_name(lookup, ref) for ref in people[lookup])]
        await self._keys.destroy(gone)
        await self._forget_answers(people)
        done: dict[str, tuple[str, ...]] = {}
        for lookup, refs in people.items():
            with unread.noted():
                await leave_out(
                    self._streams,
                    stream_of(lookup),
                    {lookup: refs},
                    caused_by,
                    clock=self._clock,
                    aged_out=True,
                )
                done[lookup] = refs
        await self._reflected()
        return AgeingResult(tuple(done), sum(map(len, done.values())), unread.damaged)

    async def reapply(self) -> int:
        """Erase all suppressed people again; return how many they are.

        For a key store that was restored from a backup: it has keys that were destroyed since,
        and its suppressions are old.  Lookups that were aged out are aged out again, and data
        that was erased of people whose suppression was lifted is erased again.  Erasures and
        lifts that a restored log does not know are first done on it.
        """
        command = OperatorCause(command="people reapply", who=self._by)
        unfinished = _Unfinished(self._streams.set_aside)
        await self._catch_up(command, unfinished)
        records = await self._records()
        suppressed = [id_ for id_, each in records.items() if each.state.suppressed]
        lifted = records.keys() - set(suppressed)
        await self._unsuppress(records, lifted)
        gone = frozenset[str]().union(*(records[id_].state.erased_from for id_ in lifted))
        await self._take_out(gone, command, unfinished)
        for id_ in suppressed:
            with unfinished.noted():
                await self._erase(id_, caused_by=command)
        if lookups := await self._aged_out():
            with unfinished.noted():
                aged_out = await self.age_out(lookups, command)
                unfinished.damaged = aged_out.unread or unfinished.damaged
        unfinished.check()
        return len(suppressed)

    async def unknown(self) -> Mapping[str, Sequence[ErasureEntry]]:
        """Return the recorded erasures of each person that the log does not know, by id.

        Raises:
            LogUnavailable: The key store or the file of erasures cannot be read.
        """
        with _as_log_unavailable():
            recovery = self._keys.recovery
            every = {*await recovery.erasures(), *await recovery.unknown_erasures()}
        found: dict[str, list[ErasureEntry]] = {}
        for entry in sorted(every, key=lambda entry: entry.at):
            found.setdefault(entry.id, []).append(entry)
        records = await self._records()
        return {
            id_: entries
            for id_, entries in found.items()
            if id_ not in records or not _has(records[id_], entries)
        }

    async def _catch_up(self, command: OperatorCause, unfinished: _Unfinished) -> None:
        """Do the recorded erasures and lifts that the log does not know."""
        for id_, entries in (await self.unknown()).items():
            prints = frozenset[str]().union(*(entry.prints for entry in entries))
            names = frozenset[str]().union(*(entry.names for entry in entries))
            with unfinished.noted():
                await self._erase(id_, prints, names, caused_by=command)
            if entries[-1].lifted:
                with unfinished.noted():
                    await self._lift([id_], command)
        with _as_log_unavailable():
            await self._keys.recovery.keep(await self._keys.recovery.unknown_erasures())

    async def _note(self, entries: Iterable[ErasureEntry]) -> None:
        with _as_log_unavailable():
            await self._keys.recovery.note(entries)

    async def suppressed(self, print_: str | None = None) -> list[SuppressionRecord]:
        """Return suppressed people, the earliest first; with *print_*, those who have it."""
        return [
            each
            for each in (await self._records()).values()
            if each.state.suppressed and (print_ is None or print_ in each.prints)
        ]

    async def lift(self, people: Iterable[str]) -> int:
        """Let later searches find *people*, ids of records; return how many changed.

        Erased data stays erased.  Fingerprints of other suppressed people stay refused.
        """
        lifted, now = list(people), self._clock.now()
        await self._note(ErasureEntry(id_, now, lifted=True) for id_ in lifted)
        command = OperatorCause(command="people suppressed --lift", who=self._by)
        return await self._lift(lifted, command)

    async def _lift(self, people: Iterable[str], command: OperatorCause) -> int:
        records = await self._records()
        lifted = records.keys() & set(people)
        await self._unsuppress(records, lifted)
        lift = LiftSuppression(at=self._clock.now(), by=self._by)
        return sum([await self._append(person_stream(id_), lift, command) for id_ in lifted])

    async def _unsuppress(
        self, records: Mapping[str, SuppressionRecord], lifted: AbstractSet[str]
    ) -> None:
        """Let the key store accept the fingerprints of *lifted* that no other record has."""
        theirs = (records[id_].prints for id_ in lifted)
        others = (
            each.prints
            for id_, each in records.items()
            if id_ not in lifted and each.state.suppressed
        )
        await self._keys.unsuppress(frozenset().union(*theirs) - frozenset().union(*others))

    async def _records(self) -> dict[str, SuppressionRecord]:
        """Return all people who were ever suppressed, by id."""
        records: dict[str, SuppressionRecord] = {}
        log = self._streams.log
        head = await log.head()
        for after in range(0, head, WINDOW):
            for stored in await log.select(PEOPLE, after, min(after + WINDOW, head)):
                for each in await read_past(log, stored.position - 1, 1):
                    if isinstance(each.event, PersonEvent):
                        id_ = each.stream.removeprefix("person-")
                        records[id_] = _after(records.get(id_), id_, each.event)
        return records

    async def _forget_answers(self, lookups: Iterable[str]) -> None:
        if self._forget_calls is not None:
            with _as_log_unavailable():
                await self._forget_calls(lookups)

    async def _take_out(
        self, names: frozenset[str], caused_by: AnyCause, unfinished: _Unfinished
    ) -> None:
        """Do steps 3 to 6 for the data keys *names*."""
        with unfinished.noted():  # 3.
            await self._keys.destroy(names)
        stale: list[str] = []  # 4.
        closed: set[str] = set()
        for stream, people in by_stream(names).items():
            try:
                stale += await leave_out(
                    self._streams, stream, people, caused_by, clock=self._clock
                )
            except DamagedEvent as damaged:
                unfinished.note(damaged)
                closed |= await possible_result_keys(self._streams, stream, people)
        if closed:  # 5.
            # Only keys that exist: a lookup that runs on once its stream is mended has none
            # yet, and would never get one.
            with unfinished.noted():
                await self._keys.destroy((await self._keys.find(closed)).keys())
        if stale:
            await self._reflected()
            with unfinished.noted():
                await self._keys.destroy(stale)
        if names:  # 6.
            with unfinished.noted():
                await self._forget_answers(lookups_of(names))

    async def _known_by(
        self, print_: str, prints: Iterable[str] = (), names: frozenset[str] = frozenset()
    ) -> tuple[person.PersonState, tuple[str, ...]]:
        """Return the state of the person *print_*, and all their fingerprints.

        A record of another profile that shares only an address or a name is a namesake's:
        nothing is learned from it.  A row of the operator's own directory is this person's if
        it has *print_* itself, or is of one of their profiles.  The arguments are those of
        `erase`.
        """
        state: person.PersonState = (await self._streams.load(person_stream(print_))).state
        known = {print_, *prints, *state.prints}
        if self._directory is not None:
            with _as_log_unavailable():
                rows = await self._directory.printed(known)
            known = known.union(*[row for row in rows if print_ in row or row[0] in known])
        theirs = names | await self._keys.matching([print_])
        left, seen = names | await self._keys.matching(known), set[str]()
        while left:
            for name, values in (await self._values(left)).items():
                identities = [
                    each for value in values for each in identities_of(self._keys, value)
                ]
                profiles = {found for kind, found in identities if kind == "profile"}
                if name in theirs or profiles <= known:
                    known.update(found for _, found in identities)
            seen |= left
            left = await self._keys.matching(known) - seen
        return state, tuple(sorted(known))

    async def _values(self, names: Iterable[str]) -> dict[str, list[Mapping[str, Any]]]:
        """Return the personal values sealed under each of *names*, opened."""
        values: dict[str, list[Mapping[str, Any]]] = {name: [] for name in names}
        for stream in by_stream(values):
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

    async def _aged_out(self) -> tuple[str, ...]:
        """Return the lookups whose people have aged out, according to the log."""
        found: dict[str, None] = {}
        position = 0
        while page := await read_past(self._streams.log, position):
            position = page[-1].position
            for recorded in page:
                if isinstance(recorded.event, ContactsErased) and recorded.event.aged_out:
                    found[recorded.event.lookup] = None
        return tuple(found)

    async def _append(self, stream: str, command: PersonCommand, caused_by: AnyCause) -> bool:
        events, _ = await self._streams.change(
            stream, lambda s: person.decide(command, s), caused_by=caused_by
        )
        return bool(events)


@contextmanager
def _as_log_unavailable() -> Iterator[None]:
    try:
        yield
    except (DirectoryUnavailable, KeysUnavailable) as error:
        raise LogUnavailable(str(error)) from error
    except CallsUnavailable as error:
        raise LogUnavailable(f"answers of paid calls: {error}") from error


def _has(record: SuppressionRecord, entries: Sequence[ErasureEntry]) -> bool:
    """Return whether the *record* of a person in the log covers *entries*, all of theirs."""
    state = record.state
    return entries[-1].at <= record.last_at or (  # doing it twice stores nothing more
        state.suppressed
        and not entries[-1].lifted
        and all(record.prints.issuperset(each.prints) for each in entries)
        and all(state.erased_from.issuperset(each.names) for each in entries)
    )


def person_stream(id_: str) -> str:
    return f"person-{id_}"


def _after(before: SuppressionRecord | None, id_: str, event: PersonEvent) -> SuppressionRecord:
    if before is None:
        before = SuppressionRecord(id_, frozenset({id_}), event.at, event.at, event.by)
    state = person.evolve(before.state, event)
    prints = before.prints | state.prints
    after = replace(before, state=state, prints=prints, last_at=event.at)
    # After a lift, suppression begins again.
    return after if before.state.suppressed else replace(after, since=event.at, by=event.by)


class DirectoryPrints:
    """The fingerprints by which people of the operator's own directory are erased.

    Args:
        keys: The key store, which has the secret of fingerprints and the suppressions.
    """

    def __init__(self, keys: KeyStore) -> None:
        self._keys = keys

    def of(self, person: DirectoryPerson) -> tuple[str, ...]:
        """Return the fingerprints of *person*, that of their profile or mailbox first."""
        every = fingerprints(self._keys, {**asdict(person), "linkedin_url": person.profile})
        found = tuple(every)
        # The profile comes last there.
        return found if person.profile is None else tuple(dict.fromkeys(found[::-1]))

    async def suppressed(self, prints: frozenset[str]) -> frozenset[str]:
        """Return those of *prints* whose people are suppressed."""
        return await self._keys.suppressed(prints)
