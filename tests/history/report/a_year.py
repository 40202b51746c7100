"""A year of a service, made up by chance that is the same each time, hostile names in it."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import (
    AttemptFailed,
    BrandEvent,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    StageIssued,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import BrandFacts, CheckedPerson, Person, Query, RankedPerson
from cs.domain.key import KeyIssued, SearchAdmitted, SearchOutcome, SearchSettled
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.stages.work import (
    DiscoveryInput,
    RankingInput,
    ResolutionInput,
    StageInput,
    StageName,
    VerificationInput,
)
from cs.eventlog.port import NO_STREAM, Append, EventLog

AT = datetime(2025, 3, 1, tzinfo=UTC)
HOSTILE = "<script>window.ran = true</script> & " + "Donaudampfschifffahrts" * 4
BRANDS = [HOSTILE, *(f"brand {n}" for n in range(60))]
KEYS = ["agency <b>bold</b>", "shop", "press office of a rather long name", "trial"]
REASONS = {
    Verdict.DELIVERABLE: "accepted",
    Verdict.UNDELIVERABLE: "recipient-refused",
    Verdict.CATCH_ALL: "accepted",
    Verdict.MAILBOX_FULL: "mailbox-full",
    Verdict.UNKNOWN: "greylisted",
}
REUSED_FOR = timedelta(days=30)


class _Writer:
    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._versions: dict[str, int] = {}

    async def say(self, stream: str, *events: AnyEvent) -> None:
        expected = self._versions.get(stream, NO_STREAM)
        await self._log.append([Append(stream, expected, events)])
        self._versions[stream] = expected + len(events)


async def write_year(log: EventLog, searches: int = 1_500) -> None:
    """Append a year of *searches*, in which April was a bad month."""
    chance, writer = random.Random(7), _Writer(log)
    for n, label in enumerate(KEYS):
        key = KeyIssued(at=AT, label=label, quota=9_999, secret_hash=f"{n}", last4="aaaa")
        await writer.say(f"key-key_{n}", key)
    last: dict[str, LookupFinished] = {}
    numbers: dict[str, int] = {}
    moments = sorted(chance.random() ** 0.8 * 365 for _ in range(searches))
    for n, days in enumerate(moments):
        at = AT + timedelta(days=days)
        brand = BRANDS[min(int(chance.expovariate(0.08)), len(BRANDS) - 1)]
        finish = last.get(brand)
        cached = finish is not None and at - finish.at < REUSED_FOR
        if not cached:
            numbers[brand] = numbers.get(brand, 0) + 1
            events = _run(chance, brand, numbers[brand], at)
            await writer.say(brand_stream(Query(brand)), *events)
            finish = last[brand] = events[-1]  # type: ignore[assignment]
        assert finish is not None
        stream = f"key-key_{chance.randrange(len(KEYS))}"
        admitted = SearchAdmitted(
            at=at, search=f"s{n}", brand=brand, query=Query(brand), lookup=finish.lookup
        )
        settled = SearchSettled(
            at=at if cached else finish.at,
            search=f"s{n}",
            lookup=finish.lookup,
            outcome=finish.outcome,
            charged=finish.verified > 0,
            cached=cached,
        )
        await writer.say(stream, admitted, settled)


class _Run:
    def __init__(self, chance: random.Random, lookup: str, at: datetime) -> None:
        self.chance, self.lookup, self.at = chance, lookup, at
        self.events: list[BrandEvent] = []

    def takes(self, seconds: float) -> None:
        self.at += timedelta(seconds=self.chance.expovariate(1 / seconds) + 0.05)

    def issue(self, stage: StageName, work: StageInput, item: str = "") -> None:
        again = self.chance.random() < 0.06
        for attempt in (1, 2) if again else (1,):
            if attempt == 2:
                self.takes(3)
                self.events.append(
                    AttemptFailed(
                        at=self.at, lookup=self.lookup, stage=stage, attempt=1, why="timeout"
                    )
                )
            self.events.append(
                StageIssued(
                    at=self.at,
                    lookup=self.lookup,
                    stage=stage,
                    item=item,
                    attempt=attempt,
                    deadline_at=self.at,
                    input=work,
                )
            )


def _run(chance: random.Random, brand: str, number: int, at: datetime) -> list[BrandEvent]:
    run = _Run(chance, lookup_id(brand_stream(Query(brand)), number, "aaaa"), at)
    lookup = run.lookup
    bad = at.month == 4
    facts = BrandFacts(name=brand, domain="acme.example")
    run.events.append(
        LookupStarted(
            at=at,
            lookup=lookup,
            number=number,
            query=Query(brand),
            deadline_at=at + timedelta(minutes=2),
        )
    )
    run.issue("brand-resolution", ResolutionInput(Query(brand)))
    run.takes(1.2)
    sources = {
        "directory": chance.choice(["used", "no_results"]),
        "wikidata": "failed" if bad and chance.random() < 0.7 else "used",
        "website": chance.choice(["used", "rate_limited", "not_configured"]),
    }
    run.events.append(
        BrandResolved(at=run.at, lookup=lookup, status="matched", sources=sources)
    )
    if bad and chance.random() < 0.5:
        return [*run.events, _end(run, "scrape_error", 0)]
    run.issue("contact-discovery", DiscoveryInput(facts))
    run.takes(6)
    people = [
        Person(
            person=f"p{n}",
            full_name="Ada Kern",
            sources=tuple(chance.sample(["searxng", "staff"], chance.choice([1, 1, 2]))),
        )
        for n in range(1, chance.choice([1, 3, 6]))
    ]
    run.events.append(
        ContactsDiscovered(
            at=run.at,
            lookup=lookup,
            people=tuple(people),
            sources={"searxng": "used" if people else "no_results", "staff": "used"},
            conclusive=True,
        )
    )
    if not people:
        return [*run.events, _end(run, "no_contacts", 0)]
    run.issue("ranking", RankingInput(facts, ()))
    run.takes(0.1)
    run.events.append(
        ContactsRanked(
            at=run.at,
            lookup=lookup,
            ranked=tuple(
                RankedPerson(
                    person=p.person, title="M", family="brand", level="head", score=0.5
                )
                for p in people
            ),
        )
    )
    verified = _verify(run, [p.person for p in people])
    return [*run.events, _end(run, "done" if verified else "no_emails", verified)]


def _verify(run: _Run, people: Iterable[str]) -> int:
    domain, verified = f"mail{run.chance.randrange(30)}.example", 0
    run.issue("verification", VerificationInput(domain, ()), domain)
    for person in people:
        run.takes(4)
        weights = [55, 25, 10, 2, 8]
        (verdict,) = run.chance.choices(list(REASONS), weights)
        (other,) = run.chance.choices(list(REASONS), weights)
        said = [("smtp", verdict), *([("oracle", other)] if run.chance.random() < 0.3 else [])]
        good = verdict is Verdict.DELIVERABLE
        verified += good
        checked = CheckedPerson(
            person=person,
            mail_domain=domain,
            verdict=verdict,
            address=f"ada@{domain}" if good else None,
            verifier="smtp" if good else None,
            evidence=tuple(
                Evidence(
                    address=f"ada@{domain}",
                    verdict=each,
                    reason=REASONS[each],
                    verifier=verifier,
                    at=run.at,
                )
                for verifier, each in said
            ),
        )
        shape = MailboxVerified if good else MailboxNotVerified
        run.events.append(shape(at=run.at, lookup=run.lookup, checked=checked))
    learned = DomainFacts(catch_all=run.chance.random() < 0.1)
    run.events.append(
        MailDomainChecked(at=run.at, lookup=run.lookup, mail_domain=domain, learned=learned)
    )
    return verified


def _end(run: _Run, outcome: SearchOutcome, verified: int) -> LookupFinished:
    run.takes(0.05)
    return LookupFinished(
        at=run.at, lookup=run.lookup, outcome=outcome, reusable=True, verified=verified
    )
