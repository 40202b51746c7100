"""The ledger of a key: every reservation, charge and release, with the balance after it.

One unit is reserved while a search runs (contract L11); it is charged or
released when the search is settled.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import ContactBounced, MailboxVerified
from cs.domain.key import (
    INITIAL,
    Key,
    KeyEvent,
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
    evolve,
)
from cs.eventlog.port import RecordedEvent
from cs.history.history import History
from cs.runtime.lru import LruDict

#: Runs whose people are remembered: one answers the searches of many.
_LOOKUPS_KNOWN = 1_000

#: After a charge: mail that came back later says nothing of what was charged for.
BOUNCED_WITHIN = timedelta(days=30)

Movement = Literal["issued", "granted", "reserved", "charged", "released"]


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One movement of units, and the balance after it.

    Attributes:
        position: Of its event in the log.
        at: When it happened, UTC.
        what: The quota the key was issued with, a grant, or what became of a search's unit.
        units: Searches: added to the quota (negative: taken away), reserved, charged or
            released.
        search: The search, if it was for one.
        brand: As the caller wrote it.
        lookup: The run that answered the search.
        outcome: How a settled search ended.
        reused: Whether a settled search was answered from an earlier run.
        earned_by: Of a charge: the people with a verified e-mail, ``<lookup>#p1``; they are
            sealed.  Erased ones stay counted.
        bounced: Of a charge: those of them from whose mailboxes mail came back for good within
            `BOUNCED_WITHIN` after it.  The charge stands; it is for the operator to see.
        who: Their pseudonyms over all lookups, in that order, if they were asked for;
            ``None``: of an erased one.
        quota, used, reserved, remaining: Searches; ``remaining`` is what ``GET /usage`` says,
            quota less used.
    """

    position: int
    at: datetime
    what: Movement
    units: int
    search: str | None = None
    brand: str | None = None
    lookup: str | None = None
    outcome: str | None = None
    reused: bool | None = None
    earned_by: tuple[str, ...] = ()
    bounced: tuple[str, ...] = ()
    who: tuple[str | None, ...] = ()
    quota: int
    used: int
    reserved: int
    remaining: int


async def with_earners(
    history: History, entries: Iterable[LedgerEntry]
) -> AsyncIterator[LedgerEntry]:
    """Yield *entries*, the charges with the people whose verified e-mails earned them.

    Raises:
        LogUnavailable, DamagedEvent, NewerEvent: The run of a charge cannot be read.
    """
    known = LruDict[str, _Earners](_LOOKUPS_KNOWN)
    for entry in entries:
        if entry.what != "charged" or entry.lookup is None:
            yield entry
            continue
        earners = known.get(entry.lookup)
        if earners is None:
            earners = known[entry.lookup] = await _earners(history, entry.lookup)
        until = entry.at + BOUNCED_WITHIN
        told = earners.bounced_at.items()
        bounced = tuple(who for who, at in told if entry.at <= at < until)
        yield msgspec.structs.replace(entry, earned_by=earners.people, bounced=bounced)


class _Earners(NamedTuple):
    """Who has a verified e-mail in a lookup, and of whom it came back when."""

    people: tuple[str, ...]
    bounced_at: Mapping[str, datetime]


async def _earners(history: History, lookup: str) -> _Earners:
    people: list[str] = []
    bounced_at: dict[str, datetime] = {}
    async for recorded in history.stream(stream_of(lookup)):
        event = recorded.event
        if isinstance(event, MailboxVerified) and event.lookup == lookup:
            people.append(f"{lookup}#{event.checked.person}")
        elif isinstance(event, ContactBounced) and event.lookup == lookup:
            bounced_at[f"{lookup}#{event.bounced.person}"] = event.bounced_at
    return _Earners(tuple(people), bounced_at)


def ledger(events: Iterable[RecordedEvent]) -> Iterator[LedgerEntry]:
    """Yield what the *events* of one key, from the first on, did to its units."""
    key, brands = INITIAL, dict[str, str]()
    for recorded in events:
        event = recorded.event
        assert isinstance(event, KeyEvent)
        key = evolve(key, event)
        if isinstance(event, SearchAdmitted):
            brands[event.search] = event.brand
        entry = _entry(recorded.position, event, key)
        if entry is None:
            continue
        if isinstance(event, SearchSettled):
            entry = msgspec.structs.replace(entry, brand=brands.pop(event.search, None))
        yield entry


def _entry(position: int, event: KeyEvent, key: Key) -> LedgerEntry | None:
    def moved(what: Movement, units: int) -> LedgerEntry:
        return LedgerEntry(
            position=position,
            at=event.at,
            what=what,
            units=units,
            quota=key.quota,
            used=key.used,
            reserved=key.reserved,
            remaining=key.quota - key.used,
        )

    match event:
        case KeyIssued(quota=quota):
            return moved("issued", quota)
        case QuotaGranted(units=units):
            return moved("granted", units)
        case SearchAdmitted(search=search, brand=brand, lookup=lookup):
            return msgspec.structs.replace(
                moved("reserved", 1), search=search, brand=brand, lookup=lookup
            )
        case SearchSettled(search=search, lookup=lookup, outcome=outcome, cached=cached):
            return msgspec.structs.replace(
                moved("charged" if event.charged else "released", 1),
                search=search,
                lookup=lookup,
                outcome=outcome,
                reused=cached,
            )
        case KeyRotated() | KeyRevoked() | SearchRepeated():
            return None
