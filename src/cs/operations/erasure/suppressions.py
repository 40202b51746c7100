"""Who is kept out of later searches: a list, and lifting what was a mistake.

Read from the log: everybody who asked to be erased has a stream of their own.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime

import msgspec

from cs.domain import person
from cs.domain.causation import OperatorCause
from cs.domain.person import LiftSuppression, PersonEvent, PersonSuppressed
from cs.eventlog.damage import read_past
from cs.eventlog.port import RecordedEvent, Where
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.runtime.clock import Clock

#: Streams of people who asked to be erased; of a long log they are few.
PEOPLE = Where(prefixes=frozenset({"person-"}))
#: Positions that are looked at in one go.
WINDOW = 5_000


class SuppressionEntry(msgspec.Struct, frozen=True):
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


class Wish(msgspec.Struct, frozen=True):
    """What is known of one person who was ever suppressed.

    Attributes:
        prints: Every fingerprint that was ever said.
    """

    prints: frozenset[str]
    since: datetime
    by: str | None
    state: person.PersonState = person.INITIAL


class Suppressions:
    """Args: as those of `cs.operations.erasure.person.Erasure`."""

    def __init__(
        self, streams: Streams, keys: KeyStore, clock: Clock, *, by: str | None = None
    ) -> None:
        self._streams = streams
        self._keys = keys
        self._clock = clock
        self._by = by

    async def listed(self, print_: str | None = None) -> list[SuppressionEntry]:
        """Return who is suppressed, the earliest first; with *print_*, only who has it."""
        return [
            SuppressionEntry(
                person_id(stream), wish.since, len(wish.state.erased_from), wish.by
            )
            for stream, wish in (await self.wishes()).items()
            if wish.state.suppressed and (print_ is None or print_ in wish.prints)
        ]

    async def lift(self, people: Iterable[str]) -> int:
        """Let later searches find *people*, ids of `SuppressionEntry`; return how many changed.

        What was erased stays erased.  Fingerprints that somebody else who is suppressed is
        known by as well stay refused.
        """
        wanted = {person_stream(each) for each in people}
        wishes = await self.wishes()
        lifted = wishes.keys() & wanted
        await self.refuse_no_longer(wishes, lifted)
        lift = LiftSuppression(at=self._clock.now(), by=self._by)
        command = OperatorCause(command="people suppressed --lift", who=self._by)
        changed = 0
        for stream in (each for each in wishes if each in lifted):
            events, _ = await self._streams.change(
                stream, lambda s: person.decide(lift, s), caused_by=command
            )
            changed += bool(events)
        return changed

    async def refuse_no_longer(
        self, wishes: Mapping[str, Wish], lifted: AbstractSet[str]
    ) -> None:
        """Let the key store take fingerprints of *lifted* streams, but for those of others."""
        theirs = (wish.prints for stream, wish in wishes.items() if stream in lifted)
        others = (
            wish.prints
            for stream, wish in wishes.items()
            if stream not in lifted and wish.state.suppressed
        )
        await self._keys.unsuppress(frozenset().union(*theirs) - frozenset().union(*others))

    async def wishes(self) -> dict[str, Wish]:
        """Return what everybody who was ever suppressed asked for, by stream."""
        wishes: dict[str, Wish] = {}
        log = self._streams.log
        head = await log.head()
        for after in range(0, head, WINDOW):
            for stored in await log.select(PEOPLE, after, min(after + WINDOW, head)):
                for each in await read_past(log, stored.position - 1, 1):
                    if isinstance(each.event, PersonEvent):
                        wishes[each.stream] = _after(wishes.get(each.stream), each)
        return wishes


def person_stream(id_: str) -> str:
    return f"person-{id_}"


def person_id(stream: str) -> str:
    return stream.removeprefix("person-")


def _after(before: Wish | None, recorded: RecordedEvent) -> Wish:
    """Return what the person of *recorded*, an event of theirs, asked for by then."""
    event = recorded.event
    assert isinstance(event, PersonEvent)
    if before is None:
        before = Wish(frozenset({person_id(recorded.stream)}), event.at, event.by)
    prints = before.prints
    if isinstance(event, PersonSuppressed):
        prints |= frozenset(event.prints)
    kept_out = before.state.suppressed  # else this is when and by whom they are anew
    since, by = (before.since, before.by) if kept_out else (event.at, event.by)
    return Wish(prints, since, by, person.evolve(before.state, event))
