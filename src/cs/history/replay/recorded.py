"""What the log recorded of the lookups of some brands: as much as a replay needs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
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
from cs.domain.contact import (
    CONTACTS,
    BrandFacts,
    CheckedPerson,
    LeftOut,
    Opinion,
    Person,
    Query,
    RankedPerson,
)
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import EventLog, SealedEvent
from cs.history.opening import Opener, OpenerKeys, names_of, opener
from cs.history.replay.sealed_events import (
    CHECKED,
    OPINION,
    PERSON,
    RANKED,
    AnySealed,
    SealedCheck,
    SealedFindings,
    SealedRanking,
    WhoseCheck,
)

#: What is run again.
Kind = Literal["ranking", "verdicts", "resolution"]

_CHECKS = (MailboxVerified, MailboxNotVerified)
_PEOPLE = (PeopleFound, ContactsDiscovered)
#: The events that each kind of replay reads, and no others.
NEEDED: Mapping[Kind, tuple[type[AnyEvent], ...]] = {
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
        opinions: That it was given on headlines.
        rules: That ranked; ``None``: not recorded.
    """

    ranked: tuple[RankedPerson, ...]
    left_out: tuple[LeftOut, ...]
    erased: int
    rules: str | None
    opinions: tuple[Opinion, ...] = ()


class RecordedCheck(msgspec.Struct, frozen=True):
    """What was found for one person at one mail domain; ``verified``: it was proved."""

    checked: CheckedPerson
    verified: bool


class RecordedLookup(msgspec.Struct, kw_only=True):
    """One lookup; of what a kind of replay does not need there is nothing in it.

    Attributes:
        position: Of its first event.
        people: Everybody found who is not erased, in the order of their numbers.
        limit: Contacts shown at most.
        brand: For a ranking: what is known of the brand.
        resolved: For a resolution: how it ended.
        ranking: ``None``: nobody was ranked.
        verified: For a ranking: who had a mailbox verified, erased people among them.
        checks: For verdicts: in order, without those of erased people.
        erased_verified: Whether somebody who is erased by now had a mailbox verified.
    """

    lookup: str
    stream: str
    query: Query
    position: int
    limit: int
    brand: BrandFacts | None = None
    resolved: BrandResolved | None = None
    people: list[Person] = []
    ranking: RecordedRanking | None = None
    verified: set[str] = set()
    checks: list[RecordedCheck] = []
    erased_verified: bool = False


class _Started(msgspec.Struct, frozen=True):
    """Of a stored *lookup started* event: what a replay needs."""

    lookup: str
    query: Query
    contacts: int = CONTACTS


class _Brand(msgspec.Struct, frozen=True):
    """Of a stored *brand resolved* event: what a ranking needs."""

    lookup: str
    brand: BrandFacts | None = None


def topics_of(events: Iterable[type[AnyEvent]]) -> frozenset[str]:
    """Return what any version of *events* is stored under."""
    meant = set(events)
    return frozenset(topic for topic in shapes() if event_of(topic) in meant)


async def recorded_lookups(
    log: EventLog, keys: OpenerKeys, kind: Kind, positions: Sequence[int]
) -> list[RecordedLookup]:
    """Return the lookups that the events at *positions* are of, in order.

    Raises:
        LogUnavailable: Log or key store cannot be read now.
        DamagedEvent: One of their events is damaged.
    """
    stored = await log.at(positions)
    sealed = {}
    for event in stored:
        shape = _sealed_shape(kind, event.topic)
        if shape is not None:
            sealed[event.position] = _read(event, shape)
    opens = await opener(keys, _key_names(sealed.values()))
    found: dict[str, RecordedLookup] = {}
    for event in stored:
        try:
            _add(found, event, sealed.get(event.position), kind, opens)
        except (InvalidTag, ValueError) as error:
            raise _damaged(event, error) from error
    return list(found.values())


@cache
def _sealed_shape(kind: Kind, topic: str) -> type[AnySealed] | None:
    """Return what is read of an event of *topic*; a ranking needs only whose a mailbox is."""
    event = event_of(topic)
    if event in _PEOPLE:
        return SealedFindings
    if event is ContactsRanked:
        return SealedRanking
    if event in _CHECKS:
        return SealedCheck if kind == "verdicts" else WhoseCheck
    return None


def _read(event: SealedEvent, shape: type[AnySealed]) -> AnySealed:
    try:
        return _DECODERS[shape].decode(event.state)
    except msgspec.MsgspecError as error:
        raise _damaged(event, error) from error


_STARTED = msgspec.json.Decoder(_Started)
_BRAND = msgspec.json.Decoder(_Brand)
_DECODERS: Mapping[type[AnySealed], msgspec.json.Decoder[AnySealed]] = {
    SealedFindings: msgspec.json.Decoder(SealedFindings),
    SealedRanking: msgspec.json.Decoder(SealedRanking),
    SealedCheck: msgspec.json.Decoder(SealedCheck),
    WhoseCheck: msgspec.json.Decoder(WhoseCheck),
}


def _damaged(event: SealedEvent, error: Exception) -> DamagedEvent:
    why = f"event {event.position}, {event.stream} version {event.version}, is damaged: "
    why += type(error).__name__  # its words may hold some of the event
    return DamagedEvent(event.position, event.stream, event.version, why)


def _key_names(sealed: Iterable[AnySealed]) -> Iterator[str]:
    """Yield the keys of the values that are opened."""
    for event in sealed:
        match event:
            case SealedFindings(people=values):
                yield from names_of(event, values)
            case SealedRanking():
                yield from names_of(event, (*event.ranked, *event.opinions))
            case SealedCheck(checked=value):
                yield from names_of(event, (value,))
            case WhoseCheck():
                pass


def _add(  # noqa: C901 - a match
    found: dict[str, RecordedLookup],
    event: SealedEvent,
    sealed: AnySealed | None,
    kind: Kind,
    opens: Opener,
) -> None:
    """Take *event* into the lookup that it is of."""
    if sealed is None:
        if kind == "ranking" and event_of(event.topic) is BrandResolved:
            named = _BRAND.decode(event.state)
            if named.lookup in found:
                found[named.lookup].brand = named.brand
            return
        if event_of(event.topic) is LookupStarted:
            started = _STARTED.decode(event.state)
            found[started.lookup] = RecordedLookup(
                lookup=started.lookup,
                stream=event.stream,
                query=started.query,
                position=event.position,
                limit=started.contacts,
            )
            return
        plain = decode(event.topic, event.state)
        if isinstance(plain, BrandResolved) and plain.lookup in found:
            found[plain.lookup].resolved = plain
        return
    lookup = found.get(sealed.lookup)
    if lookup is None:
        return
    match sealed:
        case SealedFindings(people=values):
            read = (opens.read(event, sealed, value, PERSON) for value in values)
            lookup.people += (person for person in read if person and person.full_name)
        case SealedRanking(ranked=values):
            shown = [opens.read(event, sealed, value, RANKED) for value in values]
            ranked = tuple(each for each in shown if each is not None)
            said = (opens.read(event, sealed, value, OPINION) for value in sealed.opinions)
            lookup.ranking = RecordedRanking(
                ranked=ranked,
                left_out=sealed.left_out,
                erased=len(shown) - len(ranked),
                rules=sealed.rules,
                opinions=tuple(opinion for opinion in said if opinion is not None),
            )
        case WhoseCheck(checked=whose):
            lookup.verified.add(whose.person)
        case SealedCheck(checked=value):
            verified = event_of(event.topic) is MailboxVerified
            checked = opens.read(event, sealed, value, CHECKED)
            if checked is not None:
                lookup.checks.append(RecordedCheck(checked, verified))
            elif verified:
                lookup.erased_verified = True
