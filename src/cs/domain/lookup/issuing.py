"""Work of one live run, as it is given to the stages: at first, and again.  Pure."""

from datetime import datetime, timedelta
from typing import assert_never

from msgspec.structs import replace

from cs.domain.brand.events import BrandEvent, LookupStarted, ReissueSilent, StageIssued
from cs.domain.contact import BrandFacts, Candidate
from cs.domain.lookup.state import Lookup, Open, started
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.stages.work import (
    DiscoveryInput,
    RankingInput,
    ResolutionInput,
    StageInput,
    StageName,
    VerificationInput,
)

#: What one attempt may take; never past the lookup's own deadline.  The outside clients
#: end single fetches after 10 s.
BUDGET: dict[StageName, timedelta] = {
    "brand-resolution": timedelta(seconds=40),
    "contact-discovery": timedelta(seconds=60),
    "ranking": timedelta(seconds=20),
    "verification": timedelta(seconds=120),
}
#: How often work is issued again for silence.
SILENT_REISSUES = 2


def begin(event: LookupStarted) -> tuple[BrandEvent, ...]:
    """Return the first events of a run: it starts, and brand resolution is issued."""
    fresh = started(event)
    return (
        event,
        issue(fresh, "brand-resolution", ResolutionInput(event.query), event.at),
    )


def retry_due(
    state: Lookup, at: datetime, known: dict[str, DomainFacts]
) -> tuple[BrandEvent, ...]:
    """Issue again everything whose retry is due at *at*."""
    return tuple(
        reissue(state, work, at, known)
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
    return (replace(reissue(state, work, at, command.known), after_silence=True),)


def restart(
    state: Lookup, at: datetime, known: dict[str, DomainFacts]
) -> tuple[BrandEvent, ...]:
    """Issue again all work that somebody had in hand."""
    return tuple(
        replace(reissue(state, work, at, known), after_restart=True)
        for work in state.open
        if work.retry_at is None
    )


def issue(
    state: Lookup,
    stage: StageName,
    work: StageInput,
    at: datetime,
    *,
    item: str = "",
    attempt: int = 1,
) -> StageIssued:
    """Give *work* to *stage*, for as long as one attempt may take."""
    return StageIssued(
        lookup=state.id,
        stage=stage,
        item=item,
        attempt=attempt,
        deadline_at=min(state.deadline_at, at + BUDGET[stage]),
        input=work,
        receipt_due=True,
        at=at,
    )


def reissue(
    state: Lookup, work: Open, at: datetime, known: dict[str, DomainFacts]
) -> StageIssued:
    """Give *work* out as the next attempt, with what is known by now."""
    match work.stage:
        case "brand-resolution":
            again: StageInput = ResolutionInput(state.query)
        case "contact-discovery":
            again = DiscoveryInput(brand_of(state))
        case "ranking":
            again = RankingInput(brand_of(state), state.people, state.contacts)
        case "verification":
            again = verification_of(state, work.item, known)
        case _:
            assert_never(work.stage)
    return issue(state, work.stage, again, at, item=work.item, attempt=work.attempt + 1)


def brand_of(state: Lookup) -> BrandFacts:
    """Return the brand of a run that is past resolution."""
    assert state.brand is not None, "a stage after resolution was issued"
    return state.brand


def verification_of(
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
        if ranked.person not in settled and people[ranked.person].full_name  # not erased
    )
    return VerificationInput(mail_domain, candidates, known.get(mail_domain, DomainFacts()))
