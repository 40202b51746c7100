"""A history of any length for benchmarks: every event is decided by the domain.

Searches of many keys, a lookup for two of three of them, the others answered from reuse; in a
lookup eight people, seven of them ranked, checked at one mail domain by real rules.  As
in a service, what is about people is sealed under a data key for each.

Made in memory some thousand events at a time and written by SQL: appending them one by one
would take an hour for a million.
"""

import asyncio
import random
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from cs.assembly.folder import open_folder
from cs.domain.brand import brand as brands
from cs.domain.brand.brand import Brand, brand_stream
from cs.domain.brand.events import (
    BrandEvent,
    LookupFinished,
    RecordFinding,
    StartLookup,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import BrandFacts, CheckedPerson, Query, RankedPerson, Sighting
from cs.domain.key import KeyIssued, SearchAdmitted, settled
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DomainVerified,
    MailboxChecked,
    PeopleSeen,
    RankingDone,
    Resolved,
    StageName,
)
from cs.eventlog.mapper import store_form
from cs.eventlog.port import Append
from cs.runtime.data_folder import DataFolder

#: A stream, and what happens in it.
Happened = tuple[str, Sequence[AnyEvent]]
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
#: Keys that search.
KEYS = 50
PEOPLE = 8
#: Lookups that are sealed at once.
AT_ONCE = 100
SMTP = frozenset({"smtp"})


def history(seed: int = 1) -> Iterator[Happened]:
    """Yield stream after stream what happened, for ever; the same for the same *seed*."""
    rng = random.Random(seed)
    at = BEGAN
    for n in range(KEYS):
        secret = f"{n:064x}"
        yield (
            f"key-key_{n:016d}",
            (
                KeyIssued(
                    label=f"agency {n}", quota=10**9, secret_hash=secret, last4="aaaa", at=at
                ),
            ),
        )
    number = 0
    while True:
        number += 1
        at += timedelta(minutes=3)
        query = Query(f"Brand {number}")
        finish: LookupFinished | None = None
        for stream, events in run(rng, query, at, number):
            yield stream, events
            finish = next((e for e in events if isinstance(e, LookupFinished)), finish)
        assert finish is not None
        if number % 2:  # reused once
            key = f"key-key_{rng.randrange(KEYS):016d}"
            later = finish.at + timedelta(hours=5)
            search = f"srch_{number:025d}r"
            yield (
                key,
                (
                    admitted(search, query, finish.lookup, later),
                    settled(
                        search,
                        finish.lookup,
                        finish.outcome,
                        finish.verified,
                        cached=True,
                        at=later,
                    ),
                ),
            )


def reuse(seed: int = 1) -> Iterator[Happened]:
    """Yield searches that are answered from reuse, for ever: events without people."""
    rng = random.Random(seed)
    yield from islice(history(seed), KEYS)
    number = 0
    while True:
        number += 1
        query, at = Query(f"Brand {number % 1000}"), BEGAN + timedelta(seconds=number)
        lookup, search = f"{brand_stream(query)}.1-00000001", f"srch_{number:026d}"
        ended = settled(search, lookup, "done", 3, cached=True, at=at)
        yield (
            f"key-key_{rng.randrange(KEYS):016d}",
            (admitted(search, query, lookup, at), ended),
        )


def run(
    rng: random.Random, query: Query, at: datetime, number: int
) -> Iterator[tuple[str, Sequence[AnyEvent]]]:
    """Yield a search with its lookup."""
    stream, domain = brand_stream(query), f"brand{number}.example"
    key, search = f"key-key_{rng.randrange(KEYS):016d}", f"srch_{number:026d}"
    facts = BrandFacts(name=query.brand or "", domain=domain, mail_domains=(domain,))
    people = [sighting(query, n, number) for n in range(PEOPLE)]
    state: Brand = brands.INITIAL
    stored: list[BrandEvent] = []

    def tell(command: StartLookup | RecordFinding) -> Sequence[BrandEvent]:
        nonlocal state
        events = brands.decide(command, state)
        state = brands.fold(events, state)
        stored.extend(events)
        return events

    started = tell(StartLookup(stream=stream, nonce=f"{number:08d}", query=query, at=at))
    lookup = f"{stream}.1-{number:08d}"
    yield key, (admitted(search, query, lookup, at),)
    yield stream, started

    def record(stage: StageName, finding: AnyFinding, item: str = "") -> Sequence[BrandEvent]:
        nonlocal at
        at += timedelta(seconds=rng.uniform(0.2, 4))
        return tell(
            RecordFinding(
                lookup=lookup,
                stage=stage,
                item=item,
                attempt=1,
                finding=finding,
                verifiers=SMTP,
                at=at,
            )
        )

    sources = {"directory": "no_results", "wikidata": "used"}
    yield stream, record("brand-resolution", Resolved("matched", facts, sources))
    yield stream, record("contact-discovery", PeopleSeen(tuple(people[:5])))
    found = Discovered(people=tuple(people), sources={"searxng": "used", "staff": "used"})
    yield stream, record("contact-discovery", found)
    order = [
        RankedPerson(
            person=f"p{n}", title="Manager", family="social", level="manager", score=0.5
        )
        for n in range(1, PEOPLE)
    ]
    yield stream, record("ranking", RankingDone(tuple(order)))
    results = [checked(rng, each.person, domain, at) for each in order]
    for result in results:
        yield stream, record("verification", MailboxChecked(result), domain)
    ended = record("verification", DomainVerified(tuple(results)), domain)
    yield stream, ended
    (finish,) = (e for e in ended if isinstance(e, LookupFinished))
    yield (
        key,
        (settled(search, lookup, finish.outcome, finish.verified, cached=False, at=finish.at),),
    )


def admitted(search: str, query: Query, lookup: str, at: datetime) -> SearchAdmitted:
    return SearchAdmitted(
        search=search, brand=query.brand or "", query=query, lookup=lookup, request="r", at=at
    )


def sighting(query: Query, n: int, number: int) -> Sighting:
    return Sighting(
        full_name=f"Person{n} Of{number}",
        first_name=f"Person{n}",
        last_name=f"Of{number}",
        headline=f"Social Media Manager at {query.brand}",
        company=query.brand,
        linkedin_url=f"https://www.linkedin.com/in/person-{n}-of-{number}",
        location="London",
        source="searxng" if n % 2 else "staff",
    )


def checked(rng: random.Random, person: str, domain: str, at: datetime) -> CheckedPerson:
    verdict = rng.choice([Verdict.DELIVERABLE, Verdict.UNDELIVERABLE, Verdict.CATCH_ALL])
    reason = {"deliverable": "recipient-taken", "undeliverable": "recipient-refused"}
    address = f"{person}@{domain}"
    evidence = [
        Evidence(
            address=f"{form}{address}",
            verdict=verdict if form == "" else Verdict.UNDELIVERABLE,
            reason=reason.get(verdict.value if form == "" else "undeliverable", "catch-all"),
            verifier="smtp",
            at=at,
            mx=f"mx.{domain}",
        )
        for form in ("first.", "")
    ]
    good = verdict is Verdict.DELIVERABLE
    return CheckedPerson(
        person=person,
        mail_domain=domain,
        verdict=verdict,
        address=address if good else None,
        verifier="smtp" if good else None,
        evidence=tuple(evidence),
    )


async def fill(folder: Path, events: int, happened: Iterator[Happened]) -> None:
    """Make a data folder whose log has the first *events* events of what *happened*."""
    async with open_folder(DataFolder(folder)) as data:
        log = sqlite3.connect(DataFolder(folder).log, isolation_level=None)
        log.execute("PRAGMA synchronous=OFF")
        versions: dict[str, int] = {}
        page: list[Append] = []
        left = events
        for stream, of_stream in happened:
            for event in of_stream[:left]:
                version = versions.get(stream, -1) + 1
                versions[stream] = version
                page.append(Append(stream, version - 1, [event]))
            left -= len(of_stream[:left])
            if len(page) >= AT_ONCE * 30 or left == 0:
                stored = (await store_form(data.keys, page)).stored
                log.execute("BEGIN")
                log.executemany("INSERT INTO stored_events VALUES (?, ?, ?, ?)", stored)
                log.execute("COMMIT")
                page.clear()
            if left == 0:
                break
        log.close()


def filled(folder: Path, events: int, happened: Iterator[Happened] | None = None) -> Path:
    """Return the data folder *folder*, with *events* events of a `history` or of *happened*."""
    asyncio.run(fill(folder, events, happened or history()))
    return folder
