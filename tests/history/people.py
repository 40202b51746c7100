"""Made-up histories of people: who was found by which lookup, and what was found out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import strategies as st

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import LookupStarted, MailboxVerified, PeopleFound
from cs.domain.codec import AnyEvent
from cs.domain.contact import CheckedPerson, Person, Query
from cs.domain.mail.mailbox import Verdict
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.sealing import personal_values
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.operator import Operator
from cs.runtime.clock import SystemClock
from harness.stores import Erasing

AT = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Seen:
    """Somebody as one lookup found them."""

    full_name: str
    company: str | None = None
    profile: str | None = None
    mailbox: str | None = None  # verified

    @property
    def called(self) -> str | None:
        return f"{self.full_name}|{self.company}".lower() if self.company else None


@dataclass(frozen=True)
class PastLookup:
    """What one lookup on *brand* found."""

    brand: str
    people: tuple[Seen, ...]


def names_of(history: Sequence[PastLookup]) -> list[tuple[str, Seen]]:
    """Return who was found, each under the name of their record, in order."""
    counts: dict[str, int] = {}
    records: list[tuple[str, Seen]] = []
    for found in history:
        lookup = _lookup(found.brand, counts)
        records += ((f"{lookup}#p{n}", seen) for n, seen in enumerate(found.people, 1))
    return records


def _lookup(brand: str, counts: dict[str, int]) -> str:
    counts[brand] = counts.get(brand, 0) + 1
    return lookup_id(brand_stream(Query(brand=brand)), counts[brand], "aaaa")


async def store(log: EventLog, history: Sequence[PastLookup], stored: int = 0) -> None:
    """Append *history* to *log*, a day between two lookups; the first *stored* are there."""
    counts: dict[str, int] = {}
    for day, found in enumerate(history):
        lookup = _lookup(found.brand, counts)
        stream = brand_stream(Query(brand=found.brand))
        events = list(_events(found, lookup, counts[found.brand], AT + timedelta(days=day)))
        if day >= stored:
            there = await log.read(stream)
            version = there[-1].version if there else NO_STREAM
            await log.append([Append(stream, version, events)])


def _events(found: PastLookup, lookup: str, number: int, at: datetime) -> Iterable[AnyEvent]:
    query = Query(brand=found.brand)
    yield LookupStarted(
        at=at, lookup=lookup, number=number, query=query, deadline_at=at + timedelta(minutes=2)
    )
    yield PeopleFound(
        at=at,
        lookup=lookup,
        people=tuple(
            Person(
                person=f"p{n}",
                full_name=seen.full_name,
                company=seen.company,
                linkedin_url=seen.profile,
                addresses=("team@shared.test",),  # only named: it tells nothing
                sources=("directory",),
            )
            for n, seen in enumerate(found.people, 1)
        ),
    )
    for n, seen in enumerate(found.people, 1):
        if seen.mailbox is not None:
            yield MailboxVerified(
                at=at,
                lookup=lookup,
                checked=CheckedPerson(
                    person=f"p{n}",
                    mail_domain=seen.mailbox.rpartition("@")[2],
                    verdict=Verdict.DELIVERABLE,
                    address=seen.mailbox,
                    verifier="smtp",
                ),
            )


SEEN = st.builds(
    Seen,
    full_name=st.sampled_from(["Jane Roe", "JANE ROE", "Jo Ode", "Al Poe"]),
    company=st.sampled_from([None, "Acme", "Zenith"]),
    profile=st.sampled_from([None, None, *(f"https://www.linkedin.com/in/{x}" for x in "ab")]),
    mailbox=st.sampled_from([None, None, *(f"{x}@acme.test" for x in "abc")]),
)


HISTORIES = st.lists(
    st.builds(
        PastLookup,
        brand=st.sampled_from(["Acme", "Zenith", "Nova"]),
        people=st.tuples(SEEN, SEEN),
    ),
    min_size=1,
    max_size=5,
)


def same_person(history: Sequence[PastLookup]) -> set[frozenset[str]]:
    """Return who is the same person in *history*: groups of records, by comparing them all."""
    records = names_of(history)
    groups = [{name} for name, seen in records if seen.profile is None]
    seen_as = dict(records)

    def alike(one: str, other: str) -> bool:
        a, b = seen_as[one], seen_as[other]
        return (a.mailbox is not None and a.mailbox == b.mailbox) or (
            a.called is not None and a.called == b.called
        )

    while pair := next(
        (
            (g, h)
            for g in groups
            for h in groups
            if g is not h and any(alike(a, b) for a in g for b in h)
        ),
        None,
    ):
        pair[0].update(pair[1])
        groups.remove(pair[1])
    profiles: dict[str, set[str]] = {}
    for name, seen in records:
        if seen.profile is not None:
            profiles.setdefault(seen.profile, set()).add(name)
    theirs = {profile: set(names) for profile, names in profiles.items()}
    alone: list[set[str]] = []
    for group in groups:
        claims = [
            profile
            for profile, names in profiles.items()
            if any(alike(a, b) for a in group for b in names)
        ]
        if len(claims) == 1:
            theirs[claims[0]] |= group
        else:
            alone.append(group)
    return {frozenset(group) for group in [*theirs.values(), *alone]}


def erasure(log: EventLog, keys: KeyStore) -> Erasing:
    async def reflected() -> None:
        """No views are made of these histories."""

    return Erasing(Streams(log), keys, SystemClock(), reflected)


def operator(log: EventLog, by: str | None = None) -> Operator:
    return Operator(Streams(log), SystemClock(), by)


def opened_in(data: bytes) -> set[str]:
    """Return the people whose values are in clear in the JSON *data* of an event."""
    values = personal_values(msgspec.json.decode(data))
    return {v["person"] for v in values if v.keys() - {"personal", "person", "who"}}
