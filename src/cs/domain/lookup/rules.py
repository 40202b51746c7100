"""The rules of one live run: the events that a command about it causes.  Pure.

In the order of a run: work is issued (`begin`, `issue`); what a stage found is recorded and
leads to the next stage (`record`); an attempt failed and is made again, or was the last one
(`failed`); work is issued again, when its retry is due or after silence or a restart.  What
a stage is, its budget and its attempts included, is a row of `cs.domain.stages.table`; how
mail domains and the run end is in `cs.domain.lookup.closing`.
"""

from collections.abc import Iterable, Mapping
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
    StageDone,
    StageIssued,
)
from cs.domain.cause import storable_causes
from cs.domain.contact import BrandFacts, Person
from cs.domain.key import SearchOutcome
from cs.domain.lookup.closing import (
    close_domain,
    finish,
    outcome_without_mailboxes,
    outcome_without_people,
    pass_deadline,
    settle,
    waiting_in_vain,
)
from cs.domain.lookup.contacts import new_people, unsettled_candidates
from cs.domain.lookup.retry_times import retry_at
from cs.domain.lookup.state import IssuedWork, Lookup, evolve, first_state
from cs.domain.mail.syntax import is_mail_domain
from cs.domain.mail_domain import KnownDomain
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
    before = state.find(stage, item)
    skip_at = before.skip_at if before else None
    return StageIssued(
        lookup=state.id,
        stage=stage,
        item=item,
        attempt=attempt,
        deadline_at=min(skip_at or state.deadline_at, at + STAGES[stage].budget),
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
            # A late answer of the attempt before the retry.
            return (*settled, *_close(after, command, DomainVerified(checked=()), at))
        case Resolved() as finding:
            return _resolved(state, finding, at)
        case Discovered() as finding:
            return _discovered(state, finding, at)
        case RankingDone() as finding:
            return _ranked(state, finding, at, command.known)
        case DomainVerified() as finding:
            return _close(state, command, finding, at)
        case FactsFound() as finding:
            return _learned(state, work, finding, at, command.known)
        case Failed() as finding:
            return failed(command, state, work, finding, at)
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
    return (resolved, *proceed(after, "brand-resolution", at))


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
    return (discovered, *proceed(after, "contact-discovery", at))


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
    return (ranked, *proceed(after, "ranking", at, known))


def _learned(
    state: Lookup,
    work: IssuedWork,
    finding: FactsFound,
    at: datetime,
    known: Mapping[str, KnownDomain],
) -> tuple[BrandEvent, ...]:
    row = extra_stage(work.stage)
    if row is None:
        return ()  # a finding of none of the service's own stages
    people = (
        replace(
            each, facts={name: each.facts[name] for name in row.facts if name in each.facts}
        )
        for each in _people_of_run(state, finding.people)
    )
    done = StageDone(
        lookup=state.id,
        stage=work.stage,
        item=work.item,
        people=tuple(people),
        causes=storable_causes(finding.causes),
        costs=finding.costs,
        at=at,
    )
    return (done, *_after_extra(evolve(state, done), work.stage, at, known))


def _after_extra(
    state: Lookup, stage: StageName, at: datetime, known: Mapping[str, KnownDomain]
) -> tuple[BrandEvent, ...]:
    """Return what follows a piece of work of an extra stage; ``()`` while it has others."""
    if any(work.stage == stage for work in state.open):
        return ()
    return proceed(state, stage, at, known)


def proceed(
    state: Lookup,
    after: StageName,
    at: datetime,
    known: Mapping[str, KnownDomain] | None = None,
) -> tuple[BrandEvent, ...]:
    """Issue the work of the next stage *after* that one that has any; else the run ends."""
    order = list(STAGES)
    if after not in order:  # its package is gone
        after = "contact-discovery" if state.ranked is None else "ranking"
    failures: list[BrandEvent] = []
    for stage in order[order.index(after) + 1 :]:
        row = extra_stage(stage)
        works: list[StageIssued | None] = []
        if stage == "verification":
            works = [next_mail_domain(state, at, known or {})]
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
    return (*failures, finish(state, outcome_without_mailboxes(state), at))


def _close(
    state: Lookup,
    command: RecordFinding,
    found: DomainVerified | Failed,
    at: datetime,
) -> tuple[BrandEvent, ...]:
    """Close the mail domain that *command* is about; return that and what follows.

    That is the work at the next mail domain.  With no person left, mail domains that wait are
    closed too, and without open work the next stage has its turn, or the run ends.
    """
    events = close_domain(
        state,
        command.item,
        found.checked,
        found.learned,
        at,
        costs=found.costs if isinstance(found, DomainVerified) else (),
        verifiers=command.verifiers,
        refuted=command.refuted,
    )
    after = reduce(evolve, events, state)
    work = next_mail_domain(after, at, command.known)
    if work is not None:
        return (*events, work)
    in_vain = waiting_in_vain(after, at)
    after = reduce(evolve, in_vain, after)
    ending = () if after.open else proceed(after, "verification", at)
    return (*events, *in_vain, *ending)


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
    command: RecordFinding, state: Lookup, work: IssuedWork, finding: Failed, at: datetime
) -> tuple[BrandEvent, ...]:
    """Return what a failed attempt at *work* causes: a retry, or what follows the last.

    A mail domain that asks for a long wait does not keep the next one waiting, and one at
    without a person left to ask about is not asked again.
    """
    if work.attempt != command.attempt or work.retry_at is not None:
        return ()  # a newer attempt was issued since, or is due
    due_at = retry_at(state, work, finding.retry_in_s, at)
    row = STAGES.get(work.stage)
    attempts = row.attempts if row is not None else 1
    may_retry = finding.retryable and (attempts is None or work.failures < attempts)
    in_vain = work.stage == "verification" and not unsettled_candidates(state, work.item)
    retried = may_retry and not in_vain and due_at < (work.skip_at or state.deadline_at)
    event = AttemptFailed(
        lookup=state.id,
        stage=work.stage,
        item=work.item,
        attempt=command.attempt,
        why=finding.why,
        retry_at=due_at if retried else None,
        causes=storable_causes(finding.causes),
        costs=finding.costs,
        at=at,
    )
    after = evolve(state, event)
    if retried:
        waits = work.stage == "verification" and due_at - at >= LONG_WAIT
        other = next_mail_domain(after, at, command.known) if waits else None
        return (event, other) if other is not None else (event,)
    if work.stage == "verification":
        return (event, *_close(after, command, finding, at))
    if is_optional(work.stage):
        return (event, *_after_extra(after, work.stage, at, command.known))
    outcome = _OUTCOME_OF_FAILURE.get(finding.why, "scrape_error")
    return (event, finish(after, outcome, at))


def _skipped(
    state: Lookup, over: Iterable[IssuedWork], at: datetime, known: Mapping[str, KnownDomain]
) -> tuple[BrandEvent, ...]:
    """End the work of an optional stage whose time is *over*; the run goes on."""
    events: list[BrandEvent] = []
    after = state
    for work in over:
        event = AttemptFailed(
            lookup=state.id,
            stage=work.stage,
            item=work.item,
            attempt=work.attempt,
            why="timeout",
            at=at,
        )
        after = evolve(after, event)
        events += (event, *_after_extra(after, work.stage, at, known))
    return tuple(events)


# Work is issued again.
def retry_due(
    state: Lookup, at: datetime, known: Mapping[str, KnownDomain]
) -> tuple[BrandEvent, ...]:
    """Issue again everything whose retry is due at *at*; skip optional work that is late."""
    if late := [work for work in state.open if work.skip_at and work.skip_at <= at]:
        return _skipped(state, late, at, known)
    return tuple(
        _reissue(state, work, at, known)
        for work in state.open
        if work.retry_at is not None and work.retry_at <= at and work.stage in STAGES
    )


def reissue_silent(
    command: ReissueSilent, state: Lookup, at: datetime
) -> tuple[BrandEvent, ...]:
    """Issue silent work again, unless that was done `SILENT_REISSUES` times."""
    work = state.find(command.stage, command.item)
    if work is None or work.attempt != command.attempt or work.retry_at is not None:
        return ()
    if work.stage not in STAGES:
        return ()  # its package is gone: its time will be over
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
        if work.retry_at is None and work.stage in STAGES
    )


def _reissue(
    state: Lookup, work: IssuedWork, at: datetime, known: Mapping[str, KnownDomain]
) -> StageIssued:
    """Issue *work* as its next attempt, with what is known by now."""
    attempt = work.attempt + 1
    return issue(state, work.stage, at, item=work.item, attempt=attempt, known=known)
