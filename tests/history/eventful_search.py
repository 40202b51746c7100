"""A search whose run met everything: retries, silence, a restart, a deadline, hostile words."""

from datetime import UTC, datetime, timedelta
from typing import Any

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import (
    AttemptFailed,
    BrandEvent,
    BrandResolved,
    ContactsDiscovered,
    ContactsErased,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    StageIssued,
)
from cs.domain.causation import (
    AnyCause,
    MessageCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.contact import (
    BrandFacts,
    CheckedPerson,
    Contact,
    LeftOut,
    Person,
    Query,
    RankedPerson,
)
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.domain.mail.mailbox import DomainFacts, Evidence, Line, Verdict
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import (
    DiscoveryInput,
    RankingInput,
    ResolutionInput,
    StageInput,
    StageName,
    VerificationInput,
)
from cs.eventlog.port import NO_STREAM, Append
from cs.history.history import History
from cs.history.searches import SearchAt, search_at
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
QUERY = Query(brand="Acme")
STREAM = brand_stream(QUERY)
LOOKUP = lookup_id(STREAM, 1, "aaaaaaaa")
SEARCH = "srch_0123456789abcdefghjkmnpqrs"
CALL = RequestCause(id="req_1", key="key_1")
MAIL_DOMAINS = ("acme.test", "acme-mail.test")


def at(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def issued(
    when: float, stage: StageName, attempt: int, given: StageInput, item: str = "", **more: Any
) -> StageIssued:
    return StageIssued(
        at=at(when),
        lookup=LOOKUP,
        stage=stage,
        item=item,
        attempt=attempt,
        deadline_at=at(when + 40),
        input=given,
        **more,
    )


def failed(when: float, issue: StageIssued, retry: float, why: str = "") -> AttemptFailed:
    return AttemptFailed(
        at=at(when),
        lookup=LOOKUP,
        stage=issue.stage,
        item=issue.item,
        attempt=issue.attempt,
        why="try-later" if issue.item else "sources-away",
        retry_at=at(retry),
        causes={"wikidata": why} if why else {},
    )


def evidence(address: str, verdict: Verdict, reason: str, reply: str) -> Evidence:
    lines = (
        Line(at_ms=0, who="C", text="[connect mx.acme.test 192.0.2.1:25]"),
        Line(at_ms=31, who="C", text=f"RCPT TO:<{address}>"),
        Line(at_ms=44, who="S", text=reply),
    )
    return Evidence(
        address=address,
        verdict=verdict,
        reason=reason,
        verifier="smtp",
        at=at(50),
        mx="mx.acme.test",
        conversation=lines,
        rules="mail-replies-1",
    )


def brand_events(said: str) -> list[BrandEvent]:
    """Return the events of the run, *said* wherever somebody else's words can be."""
    brand = BrandFacts(
        name=said,
        domain="acme.test",
        linkedin_company_url=said,
        instagram=said,
        mail_domains=MAIL_DOMAINS,
        found_by={"name": "wikidata"},
    )
    people = tuple(
        Person(
            person=person,
            full_name=said,
            headline=said,
            company=said,
            location=said,
            linkedin_url=said,
            addresses=(said,),
            sources=("searxng",),
        )
        for person in ("p1", "p2", "p3", "p4")
    )
    ranked = tuple(
        RankedPerson(
            person=person, title=said, family="influencer", level="senior_manager", score=0.9
        )
        for person in ("p1", "p2")
    )
    full = evidence("a@acme.test", Verdict.DELIVERABLE, "recipient-accepted", f"250 {said}")
    gone = evidence("b@acme.test", Verdict.UNKNOWN, said[:90] or "x", f"450 4.7.1 {said}")
    one, other = MAIL_DOMAINS
    resolution = issued(0, "brand-resolution", 1, ResolutionInput(QUERY))
    verification = issued(34.2, "verification", 1, VerificationInput(one, ()), one)
    contacts = tuple(
        Contact(
            person=person,
            full_name=said,
            first_name=said,
            last_name=said,
            title=said,
            headline=said,
            company=said,
            email=email,
            email_status="verified" if email else "not_found",
            email_source="smtp" if email else None,
            linkedin_url=said,
        )
        for person, email in (("p1", "a@acme.test"), ("p2", None))
    )
    return [
        LookupStarted(at=AT, lookup=LOOKUP, number=1, query=QUERY, deadline_at=at(120)),
        resolution,
        failed(3, resolution, 5, said),
        issued(5, "brand-resolution", 2, ResolutionInput(QUERY)),
        BrandResolved(
            at=at(8),
            lookup=LOOKUP,
            status="matched",
            brand=brand,
            sources={"wikidata": "used", "website": "failed"},
            causes={"website": said},
            rules="resolution-1",
        ),
        issued(8, "contact-discovery", 1, DiscoveryInput(brand)),
        issued(28, "contact-discovery", 2, DiscoveryInput(brand), after_silence=True),
        PeopleFound(at=at(30), lookup=LOOKUP, people=people[:3]),
        ContactsDiscovered(
            at=at(34),
            lookup=LOOKUP,
            people=people[3:],
            sources={"searxng": "used"},
            conclusive=True,
        ),
        issued(34, "ranking", 1, RankingInput(brand, people)),
        ContactsRanked(
            at=at(34.2),
            lookup=LOOKUP,
            ranked=ranked,
            left_out=(LeftOut("p3", "not-eligible"), LeftOut("p4", "other-company")),
            rules="ranking-1",
        ),
        verification,
        issued(34.2, "verification", 1, VerificationInput(other, ()), other),
        MailboxVerified(
            at=at(40),
            lookup=LOOKUP,
            checked=CheckedPerson(
                person="p1",
                mail_domain=one,
                verdict=Verdict.DELIVERABLE,
                address="a@acme.test",
                verifier="smtp",
                evidence=(gone, full),
                rules="verification-1",
            ),
        ),
        failed(42, verification, 60),
        issued(60, "verification", 2, VerificationInput(one, ()), one),
        issued(70, "verification", 2, VerificationInput(other, ()), other, after_restart=True),
        MailboxNotVerified(
            at=at(75),
            lookup=LOOKUP,
            checked=CheckedPerson(
                person="p2", mail_domain=one, verdict=Verdict.UNKNOWN, evidence=(gone,)
            ),
        ),
        MailDomainChecked(
            at=at(76),
            lookup=LOOKUP,
            mail_domain=one,
            learned=DomainFacts(greylists=True),
            costs=(SourceCost(name="smtp", asked=3),),
        ),
        LookupFinished(
            at=at(120),
            lookup=LOOKUP,
            outcome="done",
            reusable=True,
            verified=1,
            cut_off=True,
            brand=brand,
            contacts=contacts,
        ),
        ContactsErased(
            at=at(9_000), lookup=LOOKUP, people=("p4",), contacts=contacts, verified=1
        ),
    ]


def cause_of(event: BrandEvent) -> AnyCause | None:
    """Return what would cause *event* in a service; of a piece of progress it is not known."""
    match event:
        case LookupStarted():
            return CALL
        case StageIssued(after_restart=True):
            return StartCause()
        case StageIssued(after_silence=True):
            return TimerCause(timer="silence")
        case StageIssued(attempt=attempt) if attempt > 1:
            return TimerCause(timer="retry")
        case LookupFinished():
            return TimerCause(timer="deadline")
        case BrandResolved():
            answer = f"{LOOKUP}/brand-resolution//2/result"
            return MessageCause(topic="cs.outcomes.v1", id=answer, attempt=2)
        case _:
            return None


async def eventful(said: str, upto: int | None = None) -> SearchAt:
    """Return the search as of position *upto* of a log that has it and nothing else.

    Without *upto* it is as of the settlement; somebody was erased after that.
    """
    log = MemoryEventLog(MemoryKeyStore())
    *events, erased = brand_events(said)
    admitted = SearchAdmitted(
        at=AT, search=SEARCH, brand=said, query=QUERY, lookup=LOOKUP, request="req_1"
    )
    issued_key = KeyIssued(at=AT, label=said, quota=9, secret_hash="", last4="1234")
    await log.append([Append("key-key_1", NO_STREAM, (issued_key, admitted), CALL)])
    for version, event in enumerate(events, NO_STREAM):
        await log.append([Append(STREAM, version, (event,), cause_of(event))])
    settled = SearchSettled(
        at=at(120.1), search=SEARCH, lookup=LOOKUP, outcome="done", charged=True, cached=False
    )
    position = await log.append([Append("key-key_1", 1, (settled,))])
    await log.append([Append(STREAM, len(events) - 1, (erased,))])
    found = await search_at(History(log), SEARCH, "key_1", upto or position)
    assert found is not None
    return found
