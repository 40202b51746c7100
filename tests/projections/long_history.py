"""A long log: keys, searches and lookups in turn."""

import random
from datetime import UTC, datetime, timedelta

from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import KeyIssued, QuotaGranted, SearchAdmitted, settled
from cs.eventlog.port import NO_STREAM, Append, EventLog

AT = datetime(2026, 1, 1, tzinfo=UTC)


async def write_long(log: EventLog, events: int, seed: int = 7) -> None:
    """Append at least *events* events, those of one search in an append."""
    chance, versions = random.Random(seed), dict[str, int]()
    written = number = 0
    while written < events:
        number += 1
        key, brand = f"key-{chance.randrange(50)}", f"brand-{chance.randrange(200)}"
        appends = [
            Append(stream, versions.get(stream, NO_STREAM), new)
            for stream, new in _search(
                number, key, brand, versions.get(key), versions.get(brand)
            ).items()
        ]
        await log.append(appends)
        for append in appends:
            versions[append.stream] = append.expected + len(append.events)
            written += len(append.events)


def _search(
    number: int, key: str, brand: str, key_at: int | None, brand_at: int | None
) -> dict[str, list[AnyEvent]]:
    at = AT + timedelta(seconds=number)
    run = 1 if brand_at is None else brand_at // 2 + 2
    lookup = f"{brand}.{run}"
    of_key: list[AnyEvent] = [
        SearchAdmitted(
            search=f"s-{number}", brand="Acme", query=Query("Acme"), lookup=lookup, at=at
        ),
        settled(f"s-{number}", lookup, "no_contacts", 0, cached=False, at=at),
        QuotaGranted(units=1, at=at),
    ]
    if key_at is None:
        issued = KeyIssued(label=key, quota=9, secret_hash=key, last4="aaaa", at=AT)
        of_key.insert(0, issued)
    started = LookupStarted(
        lookup=lookup,
        number=run,
        query=Query("Acme"),
        deadline_at=at + timedelta(minutes=2),
        at=at,
    )
    finished = LookupFinished(
        lookup=lookup, outcome="no_contacts", reusable=True, verified=0, at=at
    )
    return {key: of_key, brand: [started, finished]}
