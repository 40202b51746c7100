"""Small events, and starts of lookups, for cases of event logs."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cs.domain.brand.events import LookupStarted
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import QuotaGranted
from cs.eventlog.port import NO_STREAM, Append, Ceiling, EventLog, RecordedEvent

AT = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
#: In the golden events and in no file: people, never companies.
ABOUT_PEOPLE = (
    "Quillfeather",
    "quillfeather",
    "Thistlewood",
    "thistlewood",
    "Zoë",
    "Head of Influencer",
    "Social Media Manager",
    "linkedin.com/in/",
    "Ouagadougou",
    "@acme.example",
    "550 5.1.1",
    "RCPT TO",
)


def units(*numbers: int) -> tuple[AnyEvent, ...]:
    """Return small events that tell themselves apart."""
    return tuple(QuotaGranted(units=number, at=AT) for number in numbers)


def said(recorded: Sequence[RecordedEvent]) -> list[int]:
    return [r.event.units for r in recorded if isinstance(r.event, QuotaGranted)]


async def start(log: EventLog, n: int, at: datetime, limit: int | None) -> int:
    """Start lookup *n* under a ceiling of *limit* a day."""
    started = LookupStarted(
        lookup=f"brand-{n}.1", number=1, query=Query(f"Brand {n}"), deadline_at=at, at=at
    )
    return await log.append([Append(f"brand-{n}", NO_STREAM, [started])], Ceiling(at, limit))
