"""The ledger of a key: every reservation, charge and release, with the balance after it.

One unit is reserved while a search runs (contract L11); it is charged or
released when the search is settled.
"""

from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from cs.domain.key import (
    INITIAL,
    KeyEvent,
    KeyIssued,
    KeyLimited,
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

#: A bounce so long after a charge does not count against it.
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
        quota, used, reserved, remaining: Searches; ``remaining`` is what ``GET /usage`` says,
            quota less used.
    """

    position: int
    at: datetime
    what: Movement
    units: int = 1
    search: str | None = None
    brand: str | None = None
    lookup: str | None = None
    outcome: str | None = None
    reused: bool | None = None
    earned_by: tuple[str, ...] = ()
    bounced: tuple[str, ...] = ()
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
    for entry in entries:
        if entry.what != "charged" or entry.lookup is None:
            yield entry
            continue
        run, until = await history.run(entry.lookup), entry.at + BOUNCED_WITHIN
        people = run.people if run else ()
        earners = {
            f"{entry.lookup}#{each.person}": each.bounced and each.bounced.bounced_at
            for each in people
            if any(check.verified for check in each.checks)
        }
        bounced = [who for who, at in earners.items() if at and entry.at <= at < until]
        yield replace(entry, earned_by=tuple(earners), bounced=tuple(bounced))


def ledger(events: Iterable[RecordedEvent]) -> Iterator[LedgerEntry]:
    """Yield the movements of units by the *events* of one key, from the first on."""
    key, brands = INITIAL, dict[str, str]()
    for recorded in events:
        event = recorded.event
        assert isinstance(event, KeyEvent)
        key = evolve(key, event)
        fields: dict[str, Any]
        match event:
            case KeyIssued(quota=units):
                fields = {"what": "issued", "units": units}
            case QuotaGranted(units=units):
                fields = {"what": "granted", "units": units}
            case SearchAdmitted(search=search, brand=brand, lookup=lookup):
                brands[search] = brand
                fields = {
                    "what": "reserved",
                    "search": search,
                    "brand": brand,
                    "lookup": lookup,
                }
            case SearchSettled(search=search, charged=charged):
                fields = {
                    "what": "charged" if charged else "released",
                    "search": search,
                    "brand": brands.pop(search, None),
                    "lookup": event.lookup,
                    "outcome": event.outcome,
                    "reused": event.cached,
                }
            case KeyRotated() | KeyRevoked() | KeyLimited() | SearchRepeated():
                continue
        yield LedgerEntry(
            position=recorded.position,
            at=event.at,
            quota=key.quota,
            used=key.used,
            reserved=key.reserved,
            remaining=key.quota - key.used,
            **fields,
        )
