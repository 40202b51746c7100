"""The rules of one live run: the events that a command about it causes.  Pure.

In the order of a run: work is issued (`begin`, `issue`); what a stage found is recorded and
leads to the next stage (`record`); an attempt failed and is made again, or was the last one
(`failed`); work is issued again, when its retry is due or after silence or a restart; a
person, a mail domain and the run are closed, each once and for good.  What a stage is, its
budget and its attempts included, is a row of `cs.domain.stages.table`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import reduce
from typing import Any, TypeAlias, TypeVar, assert_never

from msgspec.structs import replace

from cs.domain.brand.events import (
    AttemptFailed,
    BrandEvent,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupEvent,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    RecordFinding,
    ReissueSilent,
    StageDone,
    StageIssued,
)
from cs.domain.cause import storable_causes
from cs.domain.contact import BrandFacts, CheckedPerson, Person
from cs.domain.key import SearchOutcome
from cs.domain.lookup.contacts import (
    after_bounce,
    contacts_of,
    first_sources,
    is_proved,
    people_among,
    unsettled_candidates,
)
from cs.domain.lookup.state import IssuedWork, Lookup, evolve, first_state
from cs.domain.mail.mailbox import DEFINITE, Verdict
from cs.domain.mail.syntax import is_mail_domain
from cs.domain.mail_domain import KnownDomain
from cs.domain.messages import converted
from cs.domain.personal import Personal
from cs.domain.stages.table import (
    STAGE_OF_FINDING,
    STAGES,
    ExtraStage,
    extra_stage,
    is_optional,
)
from cs.domain.stages.work import (
    NO_BRAND_SOURCE,
    NO_PEOPLE_SOURCE,
    SOURCES_REFUSE,
    Alive,
    AnyFinding,
    Discovered,
    DiscoveryInput,
    DomainVerified,
    ExtraInput,
    FactsFound,
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

E = TypeVar("E", bound=LookupEvent)
P = TypeVar("P", bound=Personal)
#: What is known of mail domains, by domain.
Known: TypeAlias = Mapping[str, KnownDomain]

#: Mail domains of one lookup: the asked one, the brand's own, its parent's, one to spare.
MAIL_DOMAINS = 4
#: A mail domain that is to be asked again only after this does not keep the others waiting.
LONG_WAIT = timedelta(seconds=10)
#: How often work is issued again for silence.
SILENT_REISSUES = 2
#: Wait before the second attempt when the outside named none; fourfold for each further.
#: Where it did name one, the least wait from the third attempt on is twice this, then doubled.
FIRST_RETRY = timedelta(seconds=2)
#: A last attempt is made so long before the deadline if the next wait would pass it
#: (docs/decisions/0028): what a server that is willing by then needs for some addresses, and
#: three lookups that ask one domain in turn, whose name server says nothing for 5 s each.
LAST_RETRY = timedelta(seconds=20)
#: A longer wait that the outside asks for outlives every lookup.
LONGEST_RETRY_S = 86_400.0
#: How a lookup ends whose stage failed for good, other than by the outside world.
_OUTCOME_OF_FAILURE: Mapping[str, SearchOutcome] = {
    "bug": "error",
    "timeout": "timeout",
    NO_BRAND_SOURCE: "error",
    NO_PEOPLE_SOURCE: "error",
    SOURCES_REFUSE: "error",
}
#: Outcomes that are reused as they are; ``no_emails`` only if every verdict is definite.
_REUSABLE = frozenset({"done", "no_linkedin", "no_contacts"})
_NOTHING: Known = {}


# Work is issued.
def begin(event: LookupStarted) -> tuple[BrandEvent, ...]:
    """Return the first events of a run: it starts, and brand resolution is issued."""
    return (event, issue(first_state(event), "brand-resolution", event.at))


def issue(
    state: Lookup,
    stage: StageName,
    at: datetime,
    known: Known = _NOTHING,
    *,
    item: str = "",
    attempt: int = 1,
) -> StageIssued:
    """Issue work to *stage*, for as long as one attempt may take."""
    before = state.find(stage, item)
    skip_at = before.skip_at if before else None
    return StageIssued(
        lookup=state.id,
        stage=stage,
        item=item,
        attempt=attempt,
        deadline_at=min(skip_at or state.deadline_at, at + STAGES[stage].budget),
        input=_input(state, stage, item, known),
        receipt_due=True,
        at=at,
    )


def _input(state: Lookup, stage: StageName, item: str, known: Known) -> StageInput:
    """Return the input of *stage*, from what the run knows now."""
    match stage:
        case "brand-resolution":
            return ResolutionInput(state.query)
        case "contact-discovery":
            return DiscoveryInput(_brand(state))
        case "ranking":
            return RankingInput(_brand(state), state.people, state.contacts)
        case "verification":
            domain = known.get(item, KnownDomain())
            candidates = tuple(
                replace(each, settled=domain.settled.get(each.person, ()))
                for each in unsettled_candidates(state, item)
            )
            return VerificationInput(item, candidates, domain.facts)
        case _:
            row = extra_stage(stage)
            given = _given(state, row) if row is not None else None
            return ExtraInput(_brand(state), (given or {}).get(item, ()), item)


def _given(state: Lookup, row: ExtraStage) -> Mapping[str, tuple[Person, ...]] | None:
    """Return the people that *row* gives to its stage, by item; ``None``: it fails to say.

    Of each person only the fields that the row sees; no erased people.
    """
    people = {
        each.person: Person(
            **{"full_name": ""}
            | {field: getattr(each, field) for field in (*row.sees, "person")}
        )
        for each in state.people
        if each.full_name
    }
    try:
        said = {item: dict.fromkeys(who) for item, who in row.give(state).items()}
        if len(said) > MAIL_DOMAINS or not all(not i or is_mail_domain(i) for i in said):
            return None
    except Exception:  # noqa: BLE001  a package is foreign code
        return None
    given = {
        item: tuple(people[each] for each in who if each in people)
        for item, who in said.items()
    }
    return {item: who for item, who in given.items() if who}


def _brand(state: Lookup) -> BrandFacts:
    """Return the brand of a run that is past resolution."""
    assert state.brand is not None, "a stage after resolution was issued"
    return state.brand


# A stage found something.
def record(command: RecordFinding, state: Lookup, at: datetime) -> tuple[BrandEvent, ...]:
    """Return what a stage's answer causes.

    ``()`` if it is late, repeated, a heartbeat or another stage's finding: stages may be
    anybody's code, and none may store what the domain would not.
    """
    work = state.find(command.stage, command.item)
    finding = command.finding
    if work is None or STAGE_OF_FINDING.get(type(finding), work.stage) != work.stage:
        return ()
    match finding:
        case Alive():
            return ()
        case PeopleSeen(people=people):
            new = people_among(people, state.people)
            return (PeopleFound(lookup=state.id, people=new, at=at),) if new else ()
        case MailboxChecked(checked=checked):
            return _one_checked(command, state, work, checked, at)
        case DomainVerified():
            return _close(state, command, finding, at)
        case Failed():
            return failed(command, state, work, finding, at)
        case Resolved() | Discovered() | RankingDone() | FactsFound():
            return _found(command, state, work, finding, at)
        case _:
            assert_never(finding)


def _found(
    command: RecordFinding,
    state: Lookup,
    work: IssuedWork,
    finding: Resolved | Discovered | RankingDone | FactsFound,
    at: datetime,
) -> tuple[BrandEvent, ...]:
    """Return the event of a stage's result, and the work of the next stage or the run's end."""
    event: LookupEvent
    is_answer = True
    match finding:
        case Resolved():
            event = _event(BrandResolved, finding, state, at)
            is_answer = finding.status == "matched" and finding.brand is not None
        case Discovered():
            people = people_among(finding.people, state.people)
            event = _event(ContactsDiscovered, finding, state, at, people=people)
            is_answer = bool(state.people or people) and state.brand is not None
        case RankingDone():
            ranked = _people_of_run(state, finding.ranked)
            said = _people_of_run(state, finding.opinions)
            event = _event(ContactsRanked, finding, state, at, ranked=ranked, opinions=said)
            is_answer = bool(ranked)
        case FactsFound():
            row = extra_stage(work.stage)
            if row is None:
                return ()  # a finding of none of the service's own stages
            facts = tuple(
                replace(each, facts={n: each.facts[n] for n in row.facts if n in each.facts})
                for each in _people_of_run(state, finding.people)
            )
            place = {"stage": work.stage, "item": work.item}
            event = _event(StageDone, finding, state, at, people=facts, **place)
    after = evolve(state, event)
    if not is_answer:
        ends: SearchOutcome = "no_contacts" if after.conclusive else "scrape_error"
        if isinstance(finding, Resolved):
            ends = "no_linkedin"
        return (event, finish(after, ends, at))
    return (event, *_go_on(after, work.stage, at, command.known))


def _event(kind: type[E], finding: AnyFinding, state: Lookup, at: datetime, **own: Any) -> E:
    """Return the event of *kind* with the fields of *finding*; its causes name no person."""
    event = converted(finding, kind, **own, lookup=state.id, at=at)
    if causes := getattr(event, "causes", None):
        event = replace(event, causes=storable_causes(causes))
    return event


def _people_of_run(state: Lookup, said: Iterable[P]) -> tuple[P, ...]:
    """Return of what is *said* what is about people of this run, of each the first."""
    left = {person.person for person in state.people if person.full_name}  # not erased
    known: list[P] = []
    for each in said:
        if each.person in left:
            left.remove(each.person)
            known.append(each)
    return tuple(known)


def _go_on(
    state: Lookup, after: StageName, at: datetime, known: Known
) -> tuple[BrandEvent, ...]:
    """Issue the work of the next stage *after* that one that has any; else the run ends.

    ``()`` while the stage has other work open.
    """
    if any(work.stage == after for work in state.open):
        return ()
    order = list(STAGES)
    if after not in order:  # its package is gone
        after = "contact-discovery" if state.ranked is None else "ranking"
    failures: list[BrandEvent] = []
    for stage in order[order.index(after) + 1 :]:
        row = extra_stage(stage)
        works: list[StageIssued | None] = []
        if stage == "verification":
            works = [next_mail_domain(state, at, known)]
        elif row is None:
            works = [issue(state, stage, at)]
        elif (given := _given(state, row)) is not None:
            works = [issue(state, stage, at, item=item) for item in given]
        else:
            failure = AttemptFailed(lookup=state.id, stage=stage, attempt=1, why="bug", at=at)
            failures.append(failure)
            if not row.optional:
                return (*failures, finish(state, "error", at))
        if issued := [work for work in works if work is not None]:
            return (*failures, *issued)
    return (*failures, finish(state, _outcome_without_mailboxes(state), at))


def next_mail_domain(state: Lookup, at: datetime, known: Known) -> StageIssued | None:
    """Return the work at the next mail domain; ``None`` if there is none, or no person is left.

    One after the other, in the order of the brand: who is verified at one is not asked about
    at the others, so that nothing is paid for what is settled.
    """
    for mail_domain in tuple(dict.fromkeys(_brand(state).mail_domains))[:MAIL_DOMAINS]:
        if mail_domain not in state.mail_domains and unsettled_candidates(state, mail_domain):
            return issue(state, "verification", at, known, item=mail_domain)
    return None


# An attempt failed.
def failed(
    command: RecordFinding, state: Lookup, work: IssuedWork, finding: Failed, at: datetime
) -> tuple[BrandEvent, ...]:
    """Return what a failed attempt at *work* causes: a retry, or what follows the last.

    A mail domain that asks for a long wait does not keep the next one waiting, and one at
    without a person left to ask about is not asked again.
    """
    if work.attempt != command.attempt or work.retry_at is not None:
        return ()  # a newer attempt was issued since, or is due
    due_at = _retry_at(state, work, finding.retry_in_s, at)
    row = STAGES.get(work.stage)
    attempts = row.attempts if row is not None else 1
    may_retry = finding.retryable and (attempts is None or work.failures < attempts)
    in_vain = work.stage == "verification" and not unsettled_candidates(state, work.item)
    retried = may_retry and not in_vain and due_at < (work.skip_at or state.deadline_at)
    event = _event(
        AttemptFailed,
        finding,
        state,
        at,
        stage=work.stage,
        item=work.item,
        attempt=command.attempt,
        retry_at=due_at if retried else None,
    )
    after = evolve(state, event)
    if retried:
        waits = work.stage == "verification" and due_at - at >= LONG_WAIT
        other = next_mail_domain(after, at, command.known) if waits else None
        return (event, other) if other is not None else (event,)
    if work.stage == "verification":
        return (event, *_close(after, command, finding, at))
    if is_optional(work.stage):
        return (event, *_go_on(after, work.stage, at, command.known))
    outcome = _OUTCOME_OF_FAILURE.get(finding.why, "scrape_error")
    return (event, finish(after, outcome, at))


def _retry_at(
    state: Lookup, work: IssuedWork, named_wait_s: float | None, at: datetime
) -> datetime:
    """Return when *work*, which failed at *at*, is worth another attempt (docs/decisions/0028).

    The wait that the outside named, in seconds, is believed once.  From the second failure on
    it is at least a wait that doubles, so that attempts are few however short the named one is.
    """
    named = timedelta(seconds=min(max(named_wait_s or 0.0, 0.0), LONGEST_RETRY_S))
    earlier = work.failures - 1
    if not named:
        return at + FIRST_RETRY * int(4 ** min(earlier, 6))
    if earlier == 0:
        return at + named
    retry_at = at + max(named, FIRST_RETRY * int(2 ** min(earlier, 12)))
    last_at = state.deadline_at - LAST_RETRY
    return last_at if at + named <= last_at < retry_at else retry_at


# Work is issued again.
def retry_due(state: Lookup, at: datetime, known: Known) -> tuple[BrandEvent, ...]:
    """Issue again everything whose retry is due at *at*; skip optional work that is late."""
    late = [work for work in state.open if work.skip_at and work.skip_at <= at]
    if not late:
        return tuple(
            _reissue(state, work, at, known)
            for work in state.open
            if work.retry_at is not None and work.retry_at <= at and work.stage in STAGES
        )
    events: list[BrandEvent] = []
    for work in late:
        place = {"stage": work.stage, "item": work.item, "attempt": work.attempt}
        over = _event(AttemptFailed, Failed(why="timeout", retryable=False), state, at, **place)
        state = evolve(state, over)
        events += (over, *_go_on(state, work.stage, at, known))
    return tuple(events)


def reissue_silent(
    command: ReissueSilent, state: Lookup, at: datetime
) -> tuple[BrandEvent, ...]:
    """Issue silent work again, unless that was done `SILENT_REISSUES` times."""
    work = state.find(command.stage, command.item)
    if work is None or work.attempt != command.attempt or work.retry_at is not None:
        return ()
    if work.stage not in STAGES or work.silent >= SILENT_REISSUES:
        return ()  # its package is gone, or it stays silent: its time will be over
    return (replace(_reissue(state, work, at, command.known), after_silence=True),)


def restart(state: Lookup, at: datetime, known: Known) -> tuple[BrandEvent, ...]:
    """Issue again all work that is in flight, unless the time of the run is not known."""
    if state.is_from_future(at):
        return pass_deadline(state, at)
    return tuple(
        replace(_reissue(state, work, at, known), after_restart=True)
        for work in state.open
        if work.retry_at is None and work.stage in STAGES
    )


def _reissue(state: Lookup, work: IssuedWork, at: datetime, known: Known) -> StageIssued:
    """Issue *work* as its next attempt, with what is known by now."""
    attempt = work.attempt + 1
    return issue(state, work.stage, at, known, item=work.item, attempt=attempt)


# A person, a mail domain and the run are closed.
def _one_checked(
    command: RecordFinding,
    state: Lookup,
    work: IssuedWork,
    checked: CheckedPerson,
    at: datetime,
) -> tuple[BrandEvent, ...]:
    if checked.mail_domain != command.item:
        return ()
    settled = _settled(state, checked, command, at)
    after = reduce(evolve, settled, state)
    if work.retry_at is None or unsettled_candidates(after, work.item):
        return settled
    # A late answer of the attempt before the retry.
    return (*settled, *_close(after, command, DomainVerified(checked=()), at))


def _settled(
    state: Lookup, checked: CheckedPerson, command: RecordFinding, at: datetime
) -> tuple[BrandEvent, ...]:
    """Return the event of *checked*; none if that person is settled there or not asked about.

    Of a mailbox from which mail came back it is that there is none.
    """
    settled = {(each.person, each.mail_domain) for each in state.checked}
    asked = {each.person for each in state.ranked or ()} - state.verified
    if (checked.person, checked.mail_domain) in settled or checked.person not in asked:
        return ()
    if checked.address in command.refuted:
        checked = after_bounce(checked, at)
    is_verified = is_proved(checked, command.verifiers)
    kind = MailboxVerified if is_verified else MailboxNotVerified
    return (kind(lookup=state.id, checked=checked, at=at),)


def _close(
    state: Lookup, command: RecordFinding, found: DomainVerified | Failed, at: datetime
) -> tuple[BrandEvent, ...]:
    """Settle all people at the mail domain of *command*, close it, and go on.

    People who are not in *found* are unknown there.  The work at the next mail domain follows.
    With no person left, mail domains that wait for a retry are closed too, and without open
    work the next stage has its turn, or the run ends.
    """
    at_domain = {c.person: c for c in found.checked if c.mail_domain == command.item}
    events: list[BrandEvent] = []
    for person in [each.person for each in state.ranked or ()]:
        unknown = CheckedPerson(
            person=person, mail_domain=command.item, verdict=Verdict.UNKNOWN
        )
        settled = _settled(state, at_domain.get(person, unknown), command, at)
        state = reduce(evolve, settled, state)
        events += settled
    # What a failed attempt cost is in its own event.
    costs = found.costs if isinstance(found, DomainVerified) else ()
    closed = [
        _event(MailDomainChecked, found, state, at, mail_domain=command.item, costs=costs)
    ]
    state = evolve(state, closed[0])
    if (work := next_mail_domain(state, at, command.known)) is not None:
        return (*events, *closed, work)
    # Work in flight is not ended: its answer comes soon, with what it cost.
    closed += [
        MailDomainChecked(lookup=state.id, mail_domain=work.item, at=at)
        for work in state.open
        if work.stage == "verification"
        and work.retry_at is not None
        and not unsettled_candidates(state, work.item)
    ]
    state = reduce(evolve, closed[1:], state)
    ending = () if state.open else _go_on(state, "verification", at, command.known)
    return (*events, *closed, *ending)


def pass_deadline(state: Lookup, at: datetime) -> tuple[BrandEvent, ...]:
    """Return the end of a run whose time is up at *at*, or is not known.

    Optional stages after verification that are open still make it no timeout.
    """
    if at < state.deadline_at and not state.is_from_future(at):
        return ()
    order = list(STAGES)
    verified = order[: order.index("verification") + 1]
    is_answered = bool(state.open) and all(
        is_optional(work.stage) and work.stage not in verified for work in state.open
    )
    otherwise = _outcome_without_mailboxes(state) if is_answered else "timeout"
    return (finish(state, otherwise, at),)


def finish(state: Lookup, otherwise: SearchOutcome, at: datetime) -> LookupFinished:
    """End the run: ``done`` if anybody is verified (contract text 3), else *otherwise*."""
    contacts = contacts_of(state)
    verified = sum(contact.email is not None for contact in contacts)
    outcome: SearchOutcome = "done" if verified else otherwise
    definite = all(checked.verdict in DEFINITE for checked in state.checked)
    # Contract C6: absence is reused only when it was established.
    established = bool(state.checked) and definite
    reusable = established if outcome == "no_emails" else outcome in _REUSABLE
    return LookupFinished(
        lookup=state.id,
        outcome=outcome,
        reusable=reusable,
        verified=verified,
        cut_off=otherwise == "timeout",
        brand=state.brand,
        contacts=contacts,
        verified_from=_counted(first_sources(state, contacts)),
        verified_by=_counted(each.email_source for each in contacts if each.email_source),
        at=at,
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _outcome_without_mailboxes(state: Lookup) -> SearchOutcome:
    """Return how a run ends that verified no e-mail, once every mail domain is closed."""
    if state.timed_out:
        return "timeout"
    no_verifier_got_an_answer = state.unanswered and not state.answered
    return "error" if no_verifier_got_an_answer else "no_emails"
