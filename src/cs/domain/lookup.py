"""One live run on a brand: which stage comes next, and what ends it.  Pure.

resolution -> discovery -> ranking -> verification, one item per mail domain.  Only a
stage's result ends it; the first one stored wins whole, whichever attempt it came
from.  Progress is kept for a run that is cut off by its deadline.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import assert_never

import msgspec
from msgspec.structs import replace

from cs.domain.brand_events import (
    AttemptFailed,
    BrandEvent,
    BrandForgotten,
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
    RecordFinding,
    ReissueSilent,
    StageIssued,
)
from cs.domain.contact import (
    BrandFacts,
    Candidate,
    Checked,
    Contact,
    Person,
    Query,
    Ranked,
    Sighting,
)
from cs.domain.key import Outcome
from cs.domain.mailbox import DEFINITE, DomainFacts, Verdict
from cs.domain.person_name import split_name
from cs.domain.ranking import CONTACTS, rank
from cs.domain.stage_work import (
    Alive,
    AnyFinding,
    Discovered,
    DiscoveryInput,
    DomainVerified,
    Failed,
    MailboxChecked,
    PeopleSeen,
    RankingDone,
    RankingInput,
    ResolutionInput,
    Resolved,
    StageInput,
    StageName,
    VerificationInput,
)

#: Attempts of a stage, silence aside.  Verification may wait for a greylisting server
#: as often as the deadline allows, within reason.
ATTEMPTS: dict[StageName, int] = {
    "brand-resolution": 3,
    "contact-discovery": 3,
    "ranking": 3,
    "verification": 6,
}
#: What one attempt may take; never past the lookup's own deadline.  The outside clients
#: end single fetches after 10 s.
BUDGET: dict[StageName, timedelta] = {
    "brand-resolution": timedelta(seconds=40),
    "contact-discovery": timedelta(seconds=60),
    "ranking": timedelta(seconds=20),
    "verification": timedelta(seconds=120),
}
#: Wait before the second attempt when the outside named none; fourfold for each further.
FIRST_RETRY = timedelta(seconds=2)
#: The stage that a finding is the word of; any stage may fail or be alive.
_SAID_BY: Mapping[type[AnyFinding], StageName] = {
    Resolved: "brand-resolution",
    PeopleSeen: "contact-discovery",
    Discovered: "contact-discovery",
    RankingDone: "ranking",
    MailboxChecked: "verification",
    DomainVerified: "verification",
}
#: A longer wait that the outside asks for outlives every lookup.
LONGEST_RETRY_S = 86_400.0
#: How often work is issued again for silence.
SILENT_REISSUES = 2
#: How a lookup ends whose stage failed for good, other than by the outside world.
_WHY_OUTCOME: dict[str, Outcome] = {"bug": "error", "timeout": "timeout"}
#: People of one lookup; bounds its events.
PEOPLE = 100
#: Mail domains of one lookup: the asked one, the brand's own, its parent's, one to spare.
MAIL_DOMAINS = 4


class Open(msgspec.Struct, frozen=True):
    """Work that a stage has been given and has not answered."""

    stage: StageName
    item: str
    attempt: int
    retry_at: datetime | None = None  # set while nobody has it in hand
    silent: int = 0  # issued again for silence so often
    restarted: int = 0  # issued again because a process ended so often

    @property
    def failures(self) -> int:
        """How many attempts were a stage's own, the one in hand included."""
        return self.attempt - self.silent - self.restarted


class Lookup(msgspec.Struct, frozen=True):
    id: str
    query: Query
    deadline_at: datetime
    contacts: int = CONTACTS  # shown at most
    brand: BrandFacts | None = None
    conclusive: bool = True  # every people source answered
    people: tuple[Person, ...] = ()
    ranked: tuple[Ranked, ...] | None = None
    checked: tuple[Checked, ...] = ()
    answered: bool = False  # some verifier got some reply
    unanswered: bool = False  # some verifier was asked and got none
    timed_out: bool = False  # some work was outstanding when its time was up
    open: tuple[Open, ...] = ()

    def find(self, stage: StageName, item: str) -> Open | None:
        """Return the open work on *item* of *stage*, if it is open."""
        return next((o for o in self.open if (o.stage, o.item) == (stage, item)), None)

    @property
    def next_due(self) -> datetime:
        """When something is to be done without anybody asking."""
        return min([self.deadline_at, *(o.retry_at for o in self.open if o.retry_at)])


def begin(started: LookupStarted) -> tuple[BrandEvent, ...]:
    """Return the first events of a run: it starts, and brand resolution is issued."""
    fresh = _started(started)
    return (
        started,
        _issue(fresh, "brand-resolution", ResolutionInput(started.query), started.at),
    )


def record(command: RecordFinding, state: Lookup, at: datetime) -> tuple[BrandEvent, ...]:
    """Return what a stage's answer causes.

    ``()`` if it is late, repeated, a sign of life or not for that stage to say: stages may
    be anybody's code, and none may store what the domain would not.
    """
    work = state.find(command.stage, command.item)
    if work is None or _SAID_BY.get(type(command.finding), work.stage) != work.stage:
        return ()
    match command.finding:
        case Alive():
            return ()
        case PeopleSeen(people=people):
            new = _new_people(state, people)
            return (PeopleFound(lookup=state.id, people=new, at=at),) if new else ()
        case MailboxChecked(checked=checked):
            if checked.mail_domain != command.item:
                return ()
            return tuple(_mailbox(state, checked, at))
        case Resolved() as finding:
            return _resolved(state, finding, at)
        case Discovered() as finding:
            return _discovered(state, finding, at)
        case RankingDone() as finding:
            return _ranked(state, finding, at, command.known)
        case DomainVerified(checked=checked, learned=learned):
            return _close_domain(state, command.item, checked, learned, at)
        case Failed() as finding:
            return _failed(state, work, command.attempt, finding, at)
        case _:
            assert_never(command.finding)


def retry_due(
    state: Lookup, at: datetime, known: dict[str, DomainFacts]
) -> tuple[BrandEvent, ...]:
    """Issue again everything whose retry is due at *at*."""
    return tuple(
        _reissue(state, work, at, known)
        for work in state.open
        if work.retry_at is not None and work.retry_at <= at
    )


def reissue_silent(
    command: ReissueSilent, state: Lookup, at: datetime
) -> tuple[BrandEvent, ...]:
    """Issue again what nothing was heard of, unless that was done often enough."""
    work = state.find(command.stage, command.item)
    if work is None or work.attempt != command.attempt or work.retry_at is not None:
        return ()
    if work.silent >= SILENT_REISSUES:
        return ()
    return (replace(_reissue(state, work, at, command.known), after_silence=True),)


def restart(
    state: Lookup, at: datetime, known: dict[str, DomainFacts]
) -> tuple[BrandEvent, ...]:
    """Issue again all work that somebody had in hand."""
    return tuple(
        replace(_reissue(state, work, at, known), after_restart=True)
        for work in state.open
        if work.retry_at is None
    )


def pass_deadline(state: Lookup, at: datetime) -> tuple[BrandEvent, ...]:
    if at < state.deadline_at:
        return ()
    return (_finish(state, "timeout", at),)


# What each result leads to.


def _resolved(state: Lookup, finding: Resolved, at: datetime) -> tuple[BrandEvent, ...]:
    resolved = BrandResolved(
        lookup=state.id,
        status=finding.status,
        brand=finding.brand,
        sources=finding.sources,
        at=at,
    )
    after = evolve(state, resolved)
    if finding.status != "matched" or finding.brand is None:
        return (resolved, _finish(after, "no_linkedin", at))
    return (
        resolved,
        _issue(after, "contact-discovery", DiscoveryInput(finding.brand), at),
    )


def _discovered(state: Lookup, finding: Discovered, at: datetime) -> tuple[BrandEvent, ...]:
    discovered = ContactsDiscovered(
        lookup=state.id,
        people=_new_people(state, finding.people),
        sources=finding.sources,
        conclusive=finding.conclusive,
        at=at,
    )
    after = evolve(state, discovered)
    if not after.people or after.brand is None:
        return (discovered, _finish(after, _nobody(after), at))
    return (
        discovered,
        _issue(after, "ranking", RankingInput(after.brand, after.people, after.contacts), at),
    )


def _ranked(
    state: Lookup, finding: RankingDone, at: datetime, known: dict[str, DomainFacts]
) -> tuple[BrandEvent, ...]:
    ranked = ContactsRanked(
        lookup=state.id,
        ranked=_each_once(state, finding.ranked),
        left_out=finding.left_out,
        at=at,
    )
    after = evolve(state, ranked)
    if not ranked.ranked:
        return (ranked, _finish(after, _nobody(after), at))
    domains = tuple(dict.fromkeys(_brand(after).mail_domains))[:MAIL_DOMAINS]
    if not domains:
        return (ranked, _finish(after, "no_emails", at))
    work = (
        _issue(after, "verification", _verification(after, domain, known), at, item=domain)
        for domain in domains
    )
    return (ranked, *work)


def _each_once(state: Lookup, ranked: Iterable[Ranked]) -> tuple[Ranked, ...]:
    """Return those of *ranked* who are people of this run, each in their first place."""
    left = {person.person for person in state.people if person.full_name}  # not erased
    kept: list[Ranked] = []
    for each in ranked:
        if each.person in left:
            left.remove(each.person)
            kept.append(each)
    return tuple(kept)


def _failed(
    state: Lookup, work: Open, attempt: int, finding: Failed, at: datetime
) -> tuple[BrandEvent, ...]:
    if work.attempt != attempt or work.retry_at is not None:
        return ()  # an attempt that was given up before
    tried = work.failures
    asked = min(max(finding.retry_in_s or 0.0, 0.0), LONGEST_RETRY_S)
    retry_at = at + (timedelta(seconds=asked) or FIRST_RETRY * 4 ** min(tried - 1, 6))
    again = finding.retryable and tried < ATTEMPTS[work.stage] and retry_at < state.deadline_at
    failed = AttemptFailed(
        lookup=state.id,
        stage=work.stage,
        item=work.item,
        attempt=attempt,
        why=finding.why,
        retry_at=retry_at if again else None,
        at=at,
    )
    if again:
        return (failed,)
    after = evolve(state, failed)
    if work.stage == "verification":
        closing = _close_domain(after, work.item, finding.checked, finding.learned, at)
        return (failed, *closing)
    return (failed, _finish(after, _WHY_OUTCOME.get(finding.why, "scrape_error"), at))


def _close_domain(
    state: Lookup,
    mail_domain: str,
    checked: Iterable[Checked],
    learned: DomainFacts,
    at: datetime,
) -> tuple[BrandEvent, ...]:
    """Settle everybody at *mail_domain*; who was forgotten by the stage is unknown."""
    events: list[BrandEvent] = []
    after = state
    said = {c.person: c for c in checked if c.mail_domain == mail_domain}
    for ranked in state.ranked or ():
        unknown = Checked(
            person=ranked.person, mail_domain=mail_domain, verdict=Verdict.UNKNOWN
        )
        for event in _mailbox(after, said.get(ranked.person, unknown), at):
            events.append(event)
            after = evolve(after, event)
    closed = MailDomainChecked(lookup=state.id, mail_domain=mail_domain, learned=learned, at=at)
    after = evolve(after, closed)
    events.append(closed)
    if not after.open:
        events.append(_finish(after, _after_verification(after), at))
    return tuple(events)


def _mailbox(state: Lookup, checked: Checked, at: datetime) -> Iterable[BrandEvent]:
    """Yield the event of *checked* unless this person is settled at that mail domain."""
    if any(
        (c.person, c.mail_domain) == (checked.person, checked.mail_domain)
        for c in state.checked
    ):
        return
    if all(r.person != checked.person for r in state.ranked or ()):
        return  # nobody we asked for
    kind = MailboxVerified if _proved(checked) else MailboxNotVerified
    yield kind(lookup=state.id, checked=checked, at=at)


def _proved(checked: Checked) -> bool:
    """Say whether *checked* is a verified address: one of that mail domain, and by whom."""
    return (
        checked.verdict is Verdict.DELIVERABLE
        and checked.address is not None
        and checked.address.rpartition("@")[2] == checked.mail_domain
        and checked.verifier is not None
    )


# Outcomes.


def _nobody(state: Lookup) -> Outcome:
    return "no_contacts" if state.conclusive else "scrape_error"


def _after_verification(state: Lookup) -> Outcome:
    if state.timed_out:
        return "timeout"
    return "error" if state.unanswered and not state.answered else "no_emails"


def _finish(state: Lookup, otherwise: Outcome, at: datetime) -> LookupFinished:
    """End the run: ``done`` if anybody is verified (SPEC.md section 3), else *otherwise*."""
    contacts = _contacts(state)
    verified = sum(contact.email is not None for contact in contacts)
    outcome: Outcome = "done" if verified else otherwise
    definite = all(checked.verdict in DEFINITE for checked in state.checked)
    # CONTRACT.md C6: absence is reused only when it was established.
    reusable = outcome in {"done", "no_linkedin", "no_contacts"} or (
        outcome == "no_emails" and definite and bool(state.checked)
    )
    return LookupFinished(
        lookup=state.id,
        outcome=outcome,
        reusable=reusable,
        verified=verified,
        cut_off=otherwise == "timeout",
        brand=state.brand,
        contacts=contacts,
        at=at,
    )


def _contacts(state: Lookup) -> tuple[Contact, ...]:
    """Return the people to show: verified first, then by rank (CONTRACT.md S5)."""
    if state.brand is None:
        return ()
    ranked = state.ranked
    if ranked is None:
        ranked, _ = rank(state.brand, state.people, limit=state.contacts)
    people = {person.person: person for person in state.people}
    order = {domain: n for n, domain in enumerate(state.brand.mail_domains)}
    verified: dict[str, Checked] = {}
    for checked in sorted(state.checked, key=lambda c: order.get(c.mail_domain, len(order))):
        if _proved(checked):
            verified.setdefault(checked.person, checked)
    # One mailbox is one person's: the better ranked one's.
    owner: dict[str | None, str] = {}
    for each in ranked:
        if each.person in verified:
            owner.setdefault(verified[each.person].address, each.person)
    own = {p: c for p, c in verified.items() if owner.get(c.address) == p}
    contacts = [_contact(people[r.person], r, own.get(r.person)) for r in ranked]
    return tuple(sorted(contacts, key=lambda contact: contact.email is None))


def _contact(person: Person, ranked: Ranked, checked: Checked | None) -> Contact:
    return Contact(
        person=person.person,
        full_name=person.full_name,
        first_name=person.first_name,
        last_name=person.last_name,
        title=ranked.title,
        headline=person.headline,
        company=person.company,
        email=checked.address if checked else None,
        email_status="verified" if checked else "not_found",
        email_source=checked.verifier if checked else None,
        linkedin_url=person.linkedin_url,
        location=person.location,
    )


# Issuing work.


def _issue(
    state: Lookup,
    stage: StageName,
    work: StageInput,
    at: datetime,
    *,
    item: str = "",
    attempt: int = 1,
) -> StageIssued:
    return StageIssued(
        lookup=state.id,
        stage=stage,
        item=item,
        attempt=attempt,
        deadline_at=min(state.deadline_at, at + BUDGET[stage]),
        input=work,
        at=at,
    )


def _reissue(
    state: Lookup, work: Open, at: datetime, known: dict[str, DomainFacts]
) -> StageIssued:
    match work.stage:
        case "brand-resolution":
            again: StageInput = ResolutionInput(state.query)
        case "contact-discovery":
            again = DiscoveryInput(_brand(state))
        case "ranking":
            again = RankingInput(_brand(state), state.people, state.contacts)
        case "verification":
            again = _verification(state, work.item, known)
        case _:
            assert_never(work.stage)
    return _issue(state, work.stage, again, at, item=work.item, attempt=work.attempt + 1)


def _brand(state: Lookup) -> BrandFacts:
    assert state.brand is not None, "a stage after resolution was issued"
    return state.brand


def _verification(
    state: Lookup, mail_domain: str, known: dict[str, DomainFacts]
) -> VerificationInput:
    """Ask for everybody who is not settled at *mail_domain* yet, in order of rank."""
    people = {person.person: person for person in state.people}
    settled = {c.person for c in state.checked if c.mail_domain == mail_domain}
    candidates = tuple(
        Candidate(
            person=ranked.person,
            full_name=people[ranked.person].full_name,
            first_name=people[ranked.person].first_name,
            last_name=people[ranked.person].last_name,
            addresses=people[ranked.person].addresses,
        )
        for ranked in state.ranked or ()
        if ranked.person not in settled
    )
    return VerificationInput(mail_domain, candidates, known.get(mail_domain, DomainFacts()))


# People.


def _new_people(state: Lookup, seen: Sequence[Sighting]) -> tuple[Person, ...]:
    """Return those of *seen* who are new, numbered on; the same person twice is one."""
    known = {_identity(p.linkedin_url, p.full_name, p.company) for p in state.people}
    new: list[Person] = []
    for sighting in seen:
        identity = _identity(sighting.linkedin_url, sighting.full_name, sighting.company)
        if identity in known or len(state.people) + len(new) >= PEOPLE:
            continue
        known.add(identity)
        first, last = split_name(sighting.full_name)
        new.append(
            Person(
                person=f"p{len(state.people) + len(new) + 1}",
                full_name=sighting.full_name,
                first_name=sighting.first_name or first,
                last_name=sighting.last_name or last,
                headline=sighting.headline,
                company=sighting.company,
                linkedin_url=sighting.linkedin_url,
                location=sighting.location,
                addresses=sighting.addresses,
                sources=(sighting.source,),
            )
        )
    return tuple(new)


def _identity(url: str | None, name: str, company: str | None) -> str:
    """Return what makes a person one: the profile address, else name and company."""
    return url.casefold() if url else f"{name.casefold()}|{(company or '').casefold()}"


# The memory.


def started(event: LookupStarted) -> Lookup:
    """Return a fresh run."""
    return _started(event)


def _started(event: LookupStarted) -> Lookup:
    return Lookup(event.lookup, event.query, event.deadline_at, event.contacts)


def evolve(state: Lookup, event: BrandEvent) -> Lookup:
    """Return *state* after *event* of the same run.  Never raises."""
    match event:
        case StageIssued(stage=stage, item=item, attempt=attempt):
            last = state.find(stage, item) or Open(stage, item, attempt)
            silent = last.silent + event.after_silence
            restarted = last.restarted + event.after_restart
            return _with_open(state, Open(stage, item, attempt, None, silent, restarted))
        case AttemptFailed(stage=stage, item=item, retry_at=retry_at):
            before = state.find(stage, item)
            if before is None:
                return state
            if retry_at is None and event.why == "timeout":
                state = replace(state, timed_out=True)
            if retry_at is None and stage == "verification":
                return replace(state, unanswered=True)  # its mail domain is closed next
            if retry_at is None:
                return _without_open(state, stage, item)
            return _with_open(state, replace(before, retry_at=retry_at))
        case BrandResolved(brand=brand):
            return replace(_without_open(state, "brand-resolution"), brand=brand)
        case PeopleFound(people=people):
            return replace(state, people=state.people + people)
        case ContactsDiscovered(people=people, conclusive=conclusive):
            state = _without_open(state, "contact-discovery")
            return replace(state, people=state.people + people, conclusive=conclusive)
        case ContactsRanked(ranked=ranked):
            return replace(_without_open(state, "ranking"), ranked=ranked)
        case MailboxVerified(checked=checked) | MailboxNotVerified(checked=checked):
            answered = state.answered or any(e.answered for e in checked.evidence)
            unanswered = state.unanswered or any(not e.answered for e in checked.evidence)
            light = replace(checked, evidence=())
            return replace(
                state,
                checked=(*state.checked, light),
                answered=answered,
                unanswered=unanswered,
            )
        case MailDomainChecked(mail_domain=mail_domain):
            return _without_open(state, "verification", mail_domain)
        case ContactsErased(people=people_erased):
            return _without_people(state, frozenset(people_erased))
        case LookupStarted() | LookupFinished() | BrandForgotten():
            return state
        case _:
            assert_never(event)


def _without_people(state: Lookup, erased: frozenset[str]) -> Lookup:
    """Return *state* without anybody in *erased*; their numbers are not given again."""
    people = (
        Person(person=p.person, full_name="") if p.person in erased else p for p in state.people
    )
    ranked = state.ranked
    if ranked is not None:
        ranked = tuple(each for each in ranked if each.person not in erased)
    checked = tuple(each for each in state.checked if each.person not in erased)
    return replace(state, people=tuple(people), ranked=ranked, checked=checked)


def _with_open(state: Lookup, work: Open) -> Lookup:
    return replace(state, open=(*_without_open(state, work.stage, work.item).open, work))


def _without_open(state: Lookup, stage: StageName, item: str = "") -> Lookup:
    rest = tuple(o for o in state.open if (o.stage, o.item) != (stage, item))
    return replace(state, open=rest)
