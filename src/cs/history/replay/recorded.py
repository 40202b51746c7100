"""What the log recorded of the lookups of some brands: as much as a replay needs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from cryptography.exceptions import InvalidTag

from cs.domain.brand.events import (
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    PeopleFound,
)
from cs.domain.codec import AnyEvent, decode, event_of, shapes
from cs.domain.contact import BrandFacts, Checked, LeftOut, Person, Query, Ranked
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.key_cache import DataKeyReader
from cs.eventlog.port import EventLog, SealedEvent, Where
from cs.history.replay.opening import (
    CHECKED,
    PERSON,
    RANKED,
    AnySealed,
    Opener,
    SealedCheck,
    SealedPeople,
    SealedRanking,
    SealedValue,
    opener,
)

#: What is run again.
Kind = Literal["ranking", "verdicts", "resolution"]

_CHECKS = (MailboxVerified, MailboxNotVerified)
_PEOPLE = (PeopleFound, ContactsDiscovered)
#: The events that each kind of replay reads, and no others.
_NEEDED: Mapping[Kind, tuple[type[AnyEvent], ...]] = {
    "ranking": (LookupStarted, BrandResolved, *_PEOPLE, ContactsRanked, MailboxVerified),
    "verdicts": (LookupStarted, *_CHECKS),
    "resolution": (LookupStarted, BrandResolved),
}


class RecordedRanking(msgspec.Struct, frozen=True, kw_only=True):
    """A ranking as it was stored, without people who are erased.

    Attributes:
        ranked: Best first.
        left_out: Also of those who are erased: nothing of them is said there.
        erased: How many of those who were shown are erased.
        rules: That ranked; ``None``: not recorded.
    """

    ranked: tuple[Ranked, ...]
    left_out: tuple[LeftOut, ...]
    erased: int
    rules: str | None


class RecordedCheck(msgspec.Struct, frozen=True):
    """What was found for one person at one mail domain; ``verified``: it was proved."""

    checked: Checked
    verified: bool


class RecordedLookup(msgspec.Struct, kw_only=True):
    """One lookup; of what a kind of replay does not need there is nothing in it.

    Attributes:
        position: Of its first event.
        people: Everybody found who is not erased, in the order of their numbers.
        limit: Contacts shown at most.
        resolved: How brand resolution ended.
        ranking: ``None``: nobody was ranked.
        verified: Who had a mailbox verified, erased people among them.
        checks: In order, without those of erased people.
        erased_verified: Whether somebody who is erased by now had a mailbox verified.
    """

    lookup: str
    stream: str
    query: Query
    position: int
    limit: int
    resolved: BrandResolved | None = None
    people: list[Person] = []
    ranking: RecordedRanking | None = None
    verified: set[str] = set()
    checks: list[RecordedCheck] = []
    erased_verified: bool = False

    @property
    def brand(self) -> BrandFacts | None:
        return None if self.resolved is None else self.resolved.brand


def topics_of(events: Iterable[type[AnyEvent]]) -> frozenset[str]:
    """Return what any version of *events* is stored under."""
    meant = set(events)
    return frozenset(topic for topic in shapes() if event_of(topic) in meant)


async def recorded_lookups(
    log: EventLog, keys: DataKeyReader, kind: Kind, streams: Sequence[str], upto: int
) -> list[RecordedLookup]:
    """Return the lookups of the brands *streams* that began up to position *upto*, in order.

    Raises:
        LogUnavailable: Log or key store cannot be read now.
        DamagedEvent: One of their events is damaged.
    """
    where = Where(topics_of(_NEEDED[kind]), frozenset(streams))
    stored = await log.select(where, 0, upto)
    sealed = {}
    for event in stored:
        shape = _sealed_shape(event.topic)
        if shape is not None:
            sealed[event.position] = _read(event, shape)
    open_values = await opener(keys, _wanted(kind, sealed.values()))
    found: dict[str, RecordedLookup] = {}
    for event in stored:
        try:
            _add(found, event, sealed.get(event.position), kind, open_values)
        except (InvalidTag, msgspec.MsgspecError) as error:
            raise _damaged(event, error) from error
    return list(found.values())


def _sealed_shape(topic: str) -> type[AnySealed] | None:
    event = event_of(topic)
    if event in _PEOPLE:
        return SealedPeople
    if event is ContactsRanked:
        return SealedRanking
    return SealedCheck if event in _CHECKS else None


def _read(event: SealedEvent, shape: type[AnySealed]) -> AnySealed:
    try:
        return _DECODERS[shape].decode(event.state)
    except msgspec.MsgspecError as error:
        raise _damaged(event, error) from error


_DECODERS: Mapping[type[AnySealed], msgspec.json.Decoder[AnySealed]] = {
    SealedPeople: msgspec.json.Decoder(SealedPeople),
    SealedRanking: msgspec.json.Decoder(SealedRanking),
    SealedCheck: msgspec.json.Decoder(SealedCheck),
}


def _damaged(event: SealedEvent, error: Exception) -> DamagedEvent:
    why = f"event {event.position}, {event.stream} version {event.version}, is damaged: "
    why += type(error).__name__  # its words may hold some of the event
    return DamagedEvent(event.position, event.stream, event.version, why)


def _wanted(
    kind: Kind, sealed: Iterable[AnySealed]
) -> Iterable[tuple[AnySealed, Sequence[SealedValue]]]:
    """Yield the values that are opened: of a verified mailbox a ranking needs only whose."""
    for event in sealed:
        match event:
            case SealedPeople(people=values) | SealedRanking(ranked=values):
                yield event, values
            case SealedCheck(checked=value) if kind == "verdicts":
                yield event, (value,)
            case _:
                pass


def _add(
    found: dict[str, RecordedLookup],
    event: SealedEvent,
    sealed: AnySealed | None,
    kind: Kind,
    open_values: Opener,
) -> None:
    """Take *event* into the lookup that it is of."""
    if sealed is None:
        plain = decode(event.topic, event.state)
        if isinstance(plain, LookupStarted):
            found[plain.lookup] = RecordedLookup(
                lookup=plain.lookup,
                stream=event.stream,
                query=plain.query,
                position=event.position,
                limit=plain.contacts,
            )
        elif isinstance(plain, BrandResolved) and plain.lookup in found:
            found[plain.lookup].resolved = plain
        return
    lookup = found.get(sealed.lookup)
    if lookup is None:
        return
    match sealed:
        case SealedPeople(people=values):
            opened = (open_values.open(sealed, value, PERSON) for value in values)
            lookup.people += (person for person in opened if person and person.full_name)
        case SealedRanking(ranked=values):
            shown = [open_values.open(sealed, value, RANKED) for value in values]
            ranked = tuple(each for each in shown if each is not None)
            lookup.ranking = RecordedRanking(
                ranked=ranked,
                left_out=sealed.left_out,
                erased=len(shown) - len(ranked),
                rules=sealed.rules,
            )
        case SealedCheck(checked=value):
            verified = event_of(event.topic) is MailboxVerified
            if verified:
                lookup.verified.add(value.person)
            if kind != "verdicts":
                return
            checked = open_values.open(sealed, value, CHECKED)
            if checked is not None:
                lookup.checks.append(RecordedCheck(checked, verified))
            elif verified:
                lookup.erased_verified = True
