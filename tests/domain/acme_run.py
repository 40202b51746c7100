"""A run on the brand Acme, step by step."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from cs.domain.brand.brand import INITIAL, Brand, decide, evolve
from cs.domain.brand.events import (
    DEADLINE,
    BrandCommand,
    BrandEvent,
    LookupFinished,
    PassDeadline,
    RecordFinding,
    StageIssued,
    StartLookup,
)
from cs.domain.contact import BrandFacts, CheckedPerson, Query, RankedPerson, Sighting
from cs.domain.lookup.state import Lookup
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DomainVerified,
    Failed,
    RankingDone,
    Resolved,
    StageName,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = "brand-0a1b"
QUERY = Query("Acme")
HOME = "acme.example"
PARENT = "holdings.example"
ACME = BrandFacts(name="Acme", domain=HOME, mail_domains=(HOME,))
AT_TWO_DOMAINS = BrandFacts(name="Acme", domain=HOME, mail_domains=(HOME, PARENT))
RESOLVED = Resolved(status="matched", brand=ACME)


def sighting(
    name: str, headline: str = "Influencer Marketing Manager", **more: Any
) -> Sighting:
    first, _, last = name.partition(" ")
    url = f"https://www.linkedin.com/in/{name.lower().replace(' ', '-')}"
    fields = {"linkedin_url": url, "company": "Acme", "source": "staff", **more}
    return Sighting(
        full_name=name, first_name=first, last_name=last, headline=headline, **fields
    )


ADA, BEN = sighting("Ada Kern"), sighting("Ben Ode", "Social Media Manager")


def ranked(person: str, family: str = "influencer", score: float = 0.5) -> RankedPerson:
    return RankedPerson(
        person=person, title="Manager", family=family, level="manager", score=score
    )


def checked(
    person: str,
    verdict: Verdict,
    *,
    at: str = HOME,
    answered: bool = True,
    local: str | None = None,
) -> CheckedPerson:
    """Return what verification found for *person* at mail domain *at*."""
    address = f"{local or person}@{at}"
    found = Evidence(
        address=address,
        verdict=verdict,
        reason="asked",
        verifier="smtp",
        at=AT,
        answered=answered,
    )
    good = verdict is Verdict.DELIVERABLE
    return CheckedPerson(
        person=person,
        mail_domain=at,
        verdict=verdict,
        address=address if good else None,
        verifier="smtp" if good else None,
        evidence=(found,),
    )


class AcmeRun:
    """A brand's stream, its state, and a clock that each step moves by one second."""

    def __init__(
        self,
        *,
        deadline: timedelta = DEADLINE,
        stream: str = STREAM,
        nonce: str = "",
        query: Query = QUERY,
        at: datetime = AT,
    ) -> None:
        self.stream = stream
        self.nonce = nonce
        self.query = query
        self.at = at
        self.events: list[BrandEvent] = []
        self.state: Brand = INITIAL
        self.deadline = deadline
        self.start()

    @property
    def live(self) -> Lookup:
        assert self.state.live is not None
        return self.state.live

    @property
    def finish(self) -> LookupFinished:
        """The end of the last run."""
        assert self.state.live is None, "the run goes on"
        return next(e for e in reversed(self.events) if isinstance(e, LookupFinished))

    @property
    def ended(self) -> tuple[str, bool, bool]:
        """Outcome, whether it is reused, whether it was cut off."""
        return self.finish.outcome, self.finish.reusable, self.finish.cut_off

    def start(self) -> Sequence[BrandEvent]:
        return self.send(
            StartLookup(
                stream=self.stream,
                nonce=self.nonce,
                query=self.query,
                deadline=self.deadline,
                at=self.at,
            )
        )

    def send(self, command: BrandCommand) -> Sequence[BrandEvent]:
        """Decide on *command*, take in its events and return them."""
        self.at = max(self.at, command.at) + timedelta(seconds=1)
        events = decide(command, self.state)
        self.events += events
        self.state = reduce(evolve, events, self.state)
        return events

    def record(
        self,
        stage: StageName,
        finding: AnyFinding,
        *,
        item: str = "",
        attempt: int = 1,
        lookup: str | None = None,
    ) -> Sequence[BrandEvent]:
        """Record that *stage* answered."""
        return self.send(
            RecordFinding(
                lookup=lookup or f"{self.stream}.1",
                stage=stage,
                item=item,
                attempt=attempt,
                finding=finding,
                verifiers=frozenset({"smtp"}),
                at=self.at,
            )
        )

    def resolved(self, brand: BrandFacts = ACME) -> "AcmeRun":
        self.record("brand-resolution", Resolved(status="matched", brand=brand))
        return self

    def discovered(self, *people: Sighting, conclusive: bool = True) -> "AcmeRun":
        found = Discovered(people=people or (ADA, BEN), conclusive=conclusive)
        self.record("contact-discovery", found)
        return self

    def ranked(self, *people: RankedPerson) -> "AcmeRun":
        self.record("ranking", RankingDone(people or (ranked("p1"), ranked("p2", "social"))))
        return self

    def verifying(self, brand: BrandFacts = ACME) -> "AcmeRun":
        """Go on to verification, with Ada (p1) and Ben (p2) to be checked."""
        return self.resolved(brand).discovered().ranked()

    def verified(self, *people: CheckedPerson, at: str = HOME) -> "AcmeRun":
        self.record("verification", DomainVerified(people), item=at)
        return self

    def failed(
        self, stage: StageName, finding: Failed, *, item: str = "", attempt: int = 1
    ) -> "AcmeRun":
        self.record(stage, finding, item=item, attempt=attempt)
        return self

    def times_out(self) -> "AcmeRun":
        self.send(PassDeadline(lookup=self.live.id, at=self.live.deadline_at))
        return self

    def issued(self) -> list[tuple[StageName, str, int]]:
        """Return what was issued so far: stage, item, attempt."""
        return [(e.stage, e.item, e.attempt) for e in self.events if isinstance(e, StageIssued)]
