"""The list of suppressed people, and lifting a suppression that was a mistake.

They are read from the log: each person who asked to be erased has a stream of their own.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime

import msgspec
from msgspec.structs import asdict, replace

from cs.directory.person import DirectoryPerson
from cs.domain import person
from cs.domain.causation import OperatorCause
from cs.domain.person import LiftSuppression, PersonEvent
from cs.eventlog.damage import read_past
from cs.eventlog.fingerprints import fingerprints
from cs.eventlog.port import Where
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.runtime.clock import Clock

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
        by: The operator who asked for it; ``None`` if that was not stored.
    """

    id: str
    prints: frozenset[str]
    since: datetime
    by: str | None
    state: person.PersonState = person.INITIAL


class Suppressions:
    """The list of suppressed people.

    Args:
        streams, keys, clock, by: As those of `cs.operations.erasure.Erasure`.
    """

    def __init__(
        self, streams: Streams, keys: KeyStore, clock: Clock, *, by: str | None = None
    ) -> None:
        self._streams = streams
        self._keys = keys
        self._clock = clock
        self._by = by

    async def listed(self, print_: str | None = None) -> list[SuppressionRecord]:
        """Return suppressed people, the earliest first; with *print_*, those who have it."""
        return [
            each
            for each in (await self.records()).values()
            if each.state.suppressed and (print_ is None or print_ in each.prints)
        ]

    async def lift(self, people: Iterable[str]) -> int:
        """Let later searches find *people*, ids of records; return how many changed.

        Erased data stays erased.  Fingerprints of other suppressed people stay refused.
        """
        records = await self.records()
        lifted = records.keys() & set(people)
        await self.unsuppress(records, lifted)
        lift = LiftSuppression(at=self._clock.now(), by=self._by)
        command = OperatorCause(command="people suppressed --lift", who=self._by)
        changed = 0
        for id_ in lifted:
            events, _ = await self._streams.change(
                person_stream(id_), lambda s: person.decide(lift, s), caused_by=command
            )
            changed += bool(events)
        return changed

    async def unsuppress(
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

    async def records(self) -> dict[str, SuppressionRecord]:
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


def person_stream(id_: str) -> str:
    return f"person-{id_}"


def _after(before: SuppressionRecord | None, id_: str, event: PersonEvent) -> SuppressionRecord:
    if before is None:
        before = SuppressionRecord(id_, frozenset({id_}), event.at, event.by)
    state = person.evolve(before.state, event)
    after = replace(before, state=state, prints=before.prints | state.prints)
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
