"""The rules of one live run: the events that a command about it causes.  Pure.

In the order of a run: work is issued (`begin`, `issue`); what a stage found is recorded and
leads to the next stage (`record`); an attempt failed and is made again, or was the last one
(`failed`); work is issued again, when its retry is due or after silence or a restart.  What
a stage is, its budget and its attempts included, is a row of `cs.domain.stages.table`; how
mail domains and the run end is in `cs.domain.lookup.closing`.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from functools import reduce
from typing import TypeVar, assert_never

from msgspec.structs import replace

from cs.domain.brand.events import (
    AttemptFailed,
    BrandEvent,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupStarted,
    PeopleFound,
    RecordFinding,
    ReissueSilent,
    StageIssued,
)
from cs.domain.cause import storable_causes
from cs.domain.contact import BrandFacts
from cs.domain.key import SearchOutcome
from cs.domain.lookup.closing import (
    close_domain,
    finish,
    outcome_without_people,
    pass_deadline,
    settle,
)
from cs.domain.lookup.contacts import new_people, unsettled_candidates
from cs.domain.lookup.retry_times import retry_at
from cs.domain.lookup.state import IssuedWork, Lookup, evolve, first_state
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import KnownDomain
from cs.domain.personal import Personal
from cs.domain.stages.table import STAGE_OF_FINDING, STAGES
from cs.domain.stages.work import (
    NO_BRAND_SOURCE,
    NO_PEOPLE_SOURCE,
    SOURCES_REFUSE,
    Alive,
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

P = TypeVar("P", bound=Personal)

#: Mail domains of one lookup: the asked one, the brand's own, its parent's, one to spare.
MAIL_DOMAINS = 4
#: A mail domain that is to be asked again only after this does not keep the others waiting.
LONG_WAIT = timedelta(seconds=10)
#: How often work is issued again for silence.
SILENT_REISSUES = 2
#: How a lookup ends whose stage failed for good, other than by the outside world.
_OUTCOME_OF_FAILURE: Mapping[str, SearchOutcome] = {
    "bug": "error",
    "timeout": "timeout",
    NO_BRAND_SOURCE: "error",
    NO_PEOPLE_SOURCE: "error",
    SOURCES_REFUSE: "error",
}


# Work is issued.
def begin(event: LookupStarted) -> tuple[BrandEvent, ...]:
    """Return the first events of a run: it starts, and brand resolution is issued."""
    return (event, issue(first_state(event), "brand-resolution", event.at))


def issue(
    state: Lookup,
    stage: StageName,
    at: datetime,
    *,
    item: str = "",
    attempt: int = 1,
    known: Mapping[str, KnownDomain] | None = None,
) -> StageIssued:
    """Issue work to *stage*, for as long as one attempt may take."""
    return StageIssued(
        lookup=state.id,
        stage=stage,
        item=item,
        attempt=attempt,
        deadline_at=min(state.deadline_at, at + STAGES[stage].budget),
        input=input_of(state, stage, item, known or {}),
        receipt_due=True,
        at=at,
    )


def input_of(
    state: Lookup, stage: StageName, item: str, known: Mapping[str, KnownDomain]
) -> StageInput:
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
            assert_never(stage)


def _brand(state: Lookup) -> BrandFacts:
    """Return the brand of a run that is past resolution."""
    assert state.brand is not None, "a stage after resolution was issued"
    return state.brand


# A stage found something.
def record(command: RecordFinding, state: Lookup, at: datetime) -> tuple[BrandEvent, ...]:  # noqa: C901 - a match
    """Return what a stage's answer causes.

    ``()`` if it is late, repeated, a heartbeat or another stage's finding: stages may be
    anybody's code, and none may store what the domain would not.
    """
    work = state.find(command.stage, command.item)
    if work is None:
        return ()
    if STAGE_OF_FINDING.get(type(command.finding), work.stage) != work.stage:
        return ()  # another stage's finding
    match command.finding:
        case Alive():
            return ()
        case PeopleSeen(people=people):
            new = new_people(state, people)
            return (PeopleFound(lookup=state.id, people=new, at=at),) if new else ()
        case MailboxChecked(checked=checked):
            if checked.mail_domain != command.item:
                return ()
            settled = tuple(settle(state, checked, command.verifiers, at, command.refuted))
            after = reduce(evolve, settled, state)
            if work.retry_at is None or unsettled_candidates(after, work.item):
                return settled
            closing = close_domain(  # a late answer of the attempt before the retry
                after,
                work.item,
                (),
                DomainFacts(),
                at,
                verifiers=command.verifiers,
                following=lambda closed: next_mail_domain(closed, at, command.known),
            )
            return (*settled, *closing)
        case Resolved() as finding:
            return _resolved(state, finding, at)
        case Discovered() as finding:
            return _discovered(state, finding, at)
        case RankingDone() as finding:
            return _ranked(state, finding, at, command.known)
        case DomainVerified(checked=checked, learned=learned, costs=costs):
            return close_domain(
                state,
                command.item,
                checked,
                learned,
                at,
                costs=costs,
                verifiers=command.verifiers,
                refuted=command.refuted,
                following=lambda after: next_mail_domain(after, at, command.known),
            )
        case Failed() as finding:
            return failed(
                state,
                work,
                command.attempt,
                finding,
                at,
                verifiers=command.verifiers,
                refuted=command.refuted,
                known=command.known,
            )
        case _:
            assert_never(command.finding)


def _resolved(state: Lookup, finding: Resolved, at: datetime) -> tuple[BrandEvent, ...]:
    resolved = BrandResolved(
        lookup=state.id,
        status=finding.status,
        brand=finding.brand,
        sources=finding.sources,
        causes=storable_causes(finding.causes),
        matches=finding.matches,
        rules=finding.rules,
        costs=finding.costs,
        at=at,
    )
    after = evolve(state, resolved)
    if finding.status != "matched" or finding.brand is None:
        return (resolved, finish(after, "no_linkedin", at))
    return (resolved, issue(after, "contact-discovery", at))


def _discovered(state: Lookup, finding: Discovered, at: datetime) -> tuple[BrandEvent, ...]:
    discovered = ContactsDiscovered(
        lookup=state.id,
        people=new_people(state, finding.people),
        sources=finding.sources,
        conclusive=finding.conclusive,
        causes=storable_causes(finding.causes),
        costs=finding.costs,
        at=at,
    )
    after = evolve(state, discovered)
    if not after.people or after.brand is None:
        return (discovered, finish(after, outcome_without_people(after), at))
    return (discovered, issue(after, "ranking", at))


def _ranked(
    state: Lookup, finding: RankingDone, at: datetime, known: Mapping[str, KnownDomain]
) -> tuple[BrandEvent, ...]:
    ranked = ContactsRanked(
        lookup=state.id,
        ranked=_people_of_run(state, finding.ranked),
        left_out=finding.left_out,
        rules=finding.rules,
        opinions=_people_of_run(state, finding.opinions),
        causes=storable_causes(finding.causes),
        costs=finding.costs,
        at=at,
    )
    after = evolve(state, ranked)
    if not ranked.ranked:
        return (ranked, finish(after, outcome_without_people(after), at))
    work = next_mail_domain(after, at, known)
    return (ranked, work or finish(after, "no_emails", at))


def next_mail_domain(
    state: Lookup, at: datetime, known: Mapping[str, KnownDomain]
) -> StageIssued | None:
    """Return the work at the next mail domain; ``None`` if there is none, or no person is left.

    One after the other, in the order of the brand: who is verified at one is not asked about
    at the others, so that nothing is paid for what is settled.
    """
    for mail_domain in tuple(dict.fromkeys(_brand(state).mail_domains))[:MAIL_DOMAINS]:
        if mail_domain not in state.mail_domains and unsettled_candidates(state, mail_domain):
            return issue(state, "verification", at, item=mail_domain, known=known)
    return None


def _people_of_run(state: Lookup, said: Iterable[P]) -> tuple[P, ...]:
    """Return of what is *said* what is about people of this run, of each the first."""
    left = {person.person for person in state.people if person.full_name}  # not erased
    known: list[P] = []
    for each in said:
        if each.person in left:
            left.remove(each.person)
            known.append(each)
    return tuple(known)


# An attempt failed.
def failed(
    state: Lookup,
    work: IssuedWork,
    attempt: int,
    finding: Failed,
    at: datetime,
    *,
    verifiers: Collection[str],
    refuted: Collection[str],
    known: Mapping[str, KnownDomain],
) -> tuple[BrandEvent, ...]:
    """Return what a failed *attempt* at *work* causes: a retry, or what follows the last.

    A mail domain that asks for a long wait does not keep the next one waiting, and one at
    without a person left to ask about is not asked again.
    """
    if work.attempt != attempt or work.retry_at is not None:
        return ()  # a newer attempt was issued since, or is due
    due_at = retry_at(state, work, finding.retry_in_s, at)
    attempts = STAGES[work.stage].attempts
    may_retry = finding.retryable and (attempts is None or work.failures < attempts)
    in_vain = work.stage == "verification" and not unsettled_candidates(state, work.item)
    retried = may_retry and not in_vain and due_at < state.deadline_at
    event = AttemptFailed(
        lookup=state.id,
        stage=work.stage,
        item=work.item,
        attempt=attempt,
        why=finding.why,
        retry_at=due_at if retried else None,
        causes=storable_causes(finding.causes),
        costs=finding.costs,
        at=at,
    )
    after = evolve(state, event)
    if retried:
        waits = work.stage == "verification" and due_at - at >= LONG_WAIT
        other = next_mail_domain(after, at, known) if waits else None
        return (event, other) if other is not None else (event,)
    match work.stage:
        case "brand-resolution" | "contact-discovery" | "ranking":
            outcome = _OUTCOME_OF_FAILURE.get(finding.why, "scrape_error")
            return (event, finish(after, outcome, at))
        case "verification":
            closing = close_domain(
                after,
                work.item,
                finding.checked,
                finding.learned,
                at,
                verifiers=verifiers,
                refuted=refuted,
                following=lambda closed: next_mail_domain(closed, at, known),
            )
            return (event, *closing)
        case _:
            assert_never(work.stage)


# Work is issued again.
def retry_due(
    state: Lookup, at: datetime, known: Mapping[str, KnownDomain]
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
    """Issue silent work again, unless that was done `SILENT_REISSUES` times."""
    work = state.find(command.stage, command.item)
    if work is None or work.attempt != command.attempt or work.retry_at is not None:
        return ()
    if work.silent >= SILENT_REISSUES:
        return ()
    return (replace(_reissue(state, work, at, command.known), after_silence=True),)


def restart(
    state: Lookup, at: datetime, known: Mapping[str, KnownDomain]
) -> tuple[BrandEvent, ...]:
    """Issue again all work that is in flight, unless the time of the run is not known."""
    if state.is_from_future(at):
        return pass_deadline(state, at)
    return tuple(
        replace(_reissue(state, work, at, known), after_restart=True)
        for work in state.open
        if work.retry_at is None
    )


def _reissue(
    state: Lookup, work: IssuedWork, at: datetime, known: Mapping[str, KnownDomain]
) -> StageIssued:
    """Issue *work* as its next attempt, with what is known by now."""
    attempt = work.attempt + 1
    return issue(state, work.stage, at, item=work.item, attempt=attempt, known=known)
