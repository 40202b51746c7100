"""Made-up histories: keys that search, runs that find people, verifiers that disagree."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from hypothesis import strategies as st

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import (
    AttemptFailed,
    BrandEvent,
    BrandForgotten,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    StageIssued,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import BrandFacts, CheckedPerson, Person, Query, RankedPerson
from cs.domain.key import (
    KeyIssued,
    SearchAdmitted,
    SearchOutcome,
    SearchRepeated,
    SearchSettled,
)
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.stages.work import (
    DiscoveryInput,
    RankingInput,
    ResolutionInput,
    StageInput,
    VerificationInput,
)
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.keystore.memory import MemoryKeyStore

AT = datetime(2026, 3, 1, tzinfo=UTC)
BRANDS = (Query("nike"), Query("acme", "acme.test"), Query(domain="zenith.test"))
KEYS = ("key-a", "key-b")
SOURCES = ("searxng", "directory", "staff")
VERIFIERS = ("smtp", "oracle")
DOMAINS = ("acme.test", "mail.test")
BREAKDOWNS = ("timeout", "scrape_error", "error")

#: When, of which stream, what.
Entry: TypeAlias = tuple[datetime, str, AnyEvent]

SECONDS = st.integers(0, 90).map(float) | st.floats(0, 40)
ENDED = st.sampled_from(["used", "no_results", "not_configured", "rate_limited", "failed"])


def sources(names: Sequence[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(names), ENDED, max_size=3)


def evidence(domain: str, at: datetime) -> st.SearchStrategy[tuple[Evidence, ...]]:
    return st.lists(
        st.builds(
            Evidence,
            address=st.sampled_from([f"ada@{domain}", f"a.kern@{domain}"]),
            verdict=st.sampled_from(Verdict),
            reason=st.sampled_from(["accepted", "greylisted", "Ada Kern says no", "x@y.test"]),
            verifier=st.sampled_from(VERIFIERS),
            at=st.just(at),
            answered=st.booleans(),
        ),
        max_size=4,
    ).map(tuple)


class _Run:
    """One run, written down step by step."""

    def __init__(self, draw: Any, query: Query, number: int, at: datetime) -> None:
        self.draw = draw
        self.stream = brand_stream(query)
        self.lookup = lookup_id(self.stream, number, "aaaa")
        self.at = at
        self.entries: list[Entry] = []
        self.verified = 0
        self.say(
            LookupStarted(
                at=at,
                lookup=self.lookup,
                number=number,
                query=query,
                deadline_at=at + timedelta(minutes=2),
            )
        )

    def say(self, event: BrandEvent) -> None:
        self.entries.append((self.at, self.stream, event))

    def goes_on(self) -> bool:
        self.at += timedelta(seconds=self.draw(SECONDS))
        return bool(self.draw(st.integers(0, 9)))

    def issue(self, work: StageInput, stage: Any, item: str = "") -> None:
        for attempt in range(1, 1 + self.draw(st.sampled_from([1, 1, 1, 2, 3]))):
            if attempt > 1:
                self.at += timedelta(seconds=self.draw(SECONDS))
                self.say(
                    AttemptFailed(
                        at=self.at,
                        lookup=self.lookup,
                        stage=stage,
                        item=item,
                        attempt=attempt - 1,
                        why=self.draw(st.sampled_from(["timeout", "try-later"])),
                    )
                )
            self.say(
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

    def people(self, first: int) -> tuple[Person, ...]:
        seen = st.lists(st.sampled_from(SOURCES), max_size=3).map(tuple)
        return tuple(
            Person(person=f"p{first + n}", full_name="Ada Kern", sources=self.draw(seen))
            for n in range(self.draw(st.integers(0, 2)))
        )

    def check(self, person: str, domain: str) -> None:
        verdict = self.draw(st.sampled_from(Verdict))
        good = verdict is Verdict.DELIVERABLE
        checked = CheckedPerson(
            person=person,
            mail_domain=domain,
            verdict=verdict,
            address=f"ada@{domain}" if good else None,
            verifier=self.draw(st.sampled_from(VERIFIERS)) if good else None,
            evidence=self.draw(evidence(domain, self.at)),
        )
        self.verified += good
        shape = MailboxVerified if good else MailboxNotVerified
        self.say(shape(at=self.at, lookup=self.lookup, checked=checked))

    def until_found(self) -> None:
        brand = BrandFacts(name="Acme", mail_domains=DOMAINS)
        self.issue(ResolutionInput(Query("acme")), "brand-resolution")
        if not self.goes_on():
            return
        told = self.draw(sources(("wikidata", "website")))
        self.say(BrandResolved(at=self.at, lookup=self.lookup, status="matched", sources=told))
        self.issue(DiscoveryInput(brand), "contact-discovery")
        if not self.goes_on():
            return
        early = self.people(1)
        if early:
            self.say(PeopleFound(at=self.at, lookup=self.lookup, people=early))
        late = self.people(3)
        self.say(
            ContactsDiscovered(
                at=self.at,
                lookup=self.lookup,
                people=late,
                sources=self.draw(sources(SOURCES)),
                conclusive=True,
            )
        )
        self.issue(RankingInput(brand, (*early, *late)), "ranking")
        if not self.goes_on():
            return
        everybody = [each.person for each in (*early, *late)]
        kept = self.draw(st.lists(st.sampled_from(everybody), unique=True)) if everybody else []
        self.say(
            ContactsRanked(
                at=self.at,
                lookup=self.lookup,
                ranked=tuple(
                    RankedPerson(
                        person=each, title="M", family="brand", level="head", score=0.5
                    )
                    for each in kept
                ),
            )
        )
        self.verify(kept)

    def verify(self, people: Sequence[str]) -> None:
        domains = self.draw(st.lists(st.sampled_from(DOMAINS), unique=True))
        for domain in domains:
            self.issue(VerificationInput(domain, ()), "verification", domain)
        for domain in domains:
            if not self.goes_on():
                return
            for person in people:
                self.check(person, domain)
            learned = DomainFacts(
                catch_all=self.draw(st.none() | st.booleans()),
                greylists=self.draw(st.none() | st.booleans()),
            )
            self.say(
                MailDomainChecked(
                    at=self.at, lookup=self.lookup, mail_domain=domain, learned=learned
                )
            )

    def finish(self) -> None:
        self.at += timedelta(seconds=self.draw(SECONDS))
        outcome: SearchOutcome = (
            "done" if self.verified else self.draw(st.sampled_from(BREAKDOWNS))
        )
        self.say(
            LookupFinished(
                at=self.at,
                lookup=self.lookup,
                outcome=outcome,
                reusable=True,
                verified=self.verified,
                cut_off=self.draw(st.booleans()),
            )
        )


@st.composite
def histories(draw: Any) -> list[Entry]:
    """Draw what happened within some days, in order of time."""
    entries: list[Entry] = []
    for n, key in enumerate(KEYS):
        issued = KeyIssued(at=AT, label=f"label {n}", quota=9, secret_hash=key, last4="aaaa")
        entries.append((AT, key, issued))
    numbers: dict[Query, int] = {}
    searches = 0
    for _ in range(draw(st.integers(0, 4))):
        query = draw(st.sampled_from(BRANDS))
        numbers[query] = numbers.get(query, 0) + 1
        began = AT + timedelta(minutes=draw(st.integers(0, 4000)))
        run = _Run(draw, query, numbers[query], began)
        run.until_found()
        ended = bool(draw(st.integers(0, 5)))
        if ended:
            run.finish()
        entries += run.entries
        for _ in range(draw(st.integers(0, 2))):
            searches += 1
            entries += _search(draw, f"s{searches}", run, began, ended=ended)
        if draw(st.booleans()):
            entries.append((run.at, run.stream, BrandForgotten(at=run.at)))
    return sorted(entries, key=lambda entry: entry[0])  # of one moment in the order above


def _search(draw: Any, search: str, run: _Run, began: datetime, *, ended: bool) -> list[Entry]:
    key = draw(st.sampled_from(KEYS))
    cached = ended and draw(st.booleans())
    at = run.at + timedelta(minutes=draw(st.integers(0, 3000))) if cached else began
    query = Query("nike")
    entries: list[Entry] = [
        (
            at,
            key,
            SearchAdmitted(at=at, search=search, brand="Nike", query=query, lookup=run.lookup),
        )
    ]
    if draw(st.integers(0, 4)) == 0:
        entries.append((at, key, SearchRepeated(at=at, search=search)))
    if not ended:
        return entries
    settled_at = at if cached else run.at
    outcome: SearchOutcome = "done" if run.verified else "no_emails"
    settled = SearchSettled(
        at=settled_at,
        search=search,
        lookup=run.lookup,
        outcome=outcome,
        charged=run.verified > 0,
        cached=cached,
    )
    return [*entries, (settled_at, key, settled)]


async def write(log: EventLog, entries: Sequence[Entry]) -> None:
    versions: dict[str, int] = {}
    for _, stream, event in entries:
        expected = versions.get(stream, NO_STREAM)
        await log.append([Append(stream, expected, (event,))])
        versions[stream] = expected + 1


async def in_memory(entries: Sequence[Entry]) -> tuple[MemoryEventLog, MemoryKeyStore]:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await write(log, entries)
    return log, keys
