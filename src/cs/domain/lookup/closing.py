"""Closing of a person, a mail domain and a run: each once, and for good.  Pure.

A person is settled once at each mail domain; a mail domain is closed when its stage has
answered or failed for the last time; the run ends with the last of them, with an answer that
leaves nothing to do, or when its time is up.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime

from cs.domain.brand.events import (
    BrandEvent,
    LookupFinished,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
)
from cs.domain.contact import CheckedPerson
from cs.domain.key import SearchOutcome
from cs.domain.lookup.contacts import (
    after_bounce,
    contacts_of,
    first_sources,
    is_proved,
    unsettled_candidates,
)
from cs.domain.lookup.state import Lookup, evolve
from cs.domain.mail.mailbox import DEFINITE, DomainFacts, Verdict
from cs.domain.source_cost import SourceCost
from cs.domain.stages.table import STAGES, is_optional

#: Outcomes that are reused as they are; ``no_emails`` only if every verdict is definite.
_REUSABLE = frozenset({"done", "no_linkedin", "no_contacts"})


def settle(
    state: Lookup,
    checked: CheckedPerson,
    verifiers: Collection[str],
    at: datetime,
    refuted: Collection[str] = (),
) -> Iterable[BrandEvent]:
    """Yield the event of *checked*, unless that person is settled there or was not asked about.

    Of a mailbox among the *refuted*, from which mail came back, it is that there is none.
    """
    settled = {(each.person, each.mail_domain) for each in state.checked}
    asked = {each.person for each in state.ranked or ()}
    if (checked.person, checked.mail_domain) in settled or checked.person not in asked:
        return
    if checked.person in state.verified:  # at an earlier mail domain: closed at the others
        return
    if checked.address in refuted:
        checked = after_bounce(checked, at)
    kind = MailboxVerified if is_proved(checked, verifiers) else MailboxNotVerified
    yield kind(lookup=state.id, checked=checked, at=at)


def close_domain(
    state: Lookup,
    mail_domain: str,
    checked: Iterable[CheckedPerson],
    learned: DomainFacts,
    at: datetime,
    *,
    costs: tuple[SourceCost, ...] = (),
    verifiers: Collection[str],
    refuted: Collection[str] = (),
) -> tuple[BrandEvent, ...]:
    """Settle all people at *mail_domain*, unknown if not in *checked*, and close it."""
    events: list[BrandEvent] = []
    after = state
    by_person = {c.person: c for c in checked if c.mail_domain == mail_domain}
    for ranked in state.ranked or ():
        unknown = CheckedPerson(
            person=ranked.person, mail_domain=mail_domain, verdict=Verdict.UNKNOWN
        )
        found = by_person.get(ranked.person, unknown)
        for event in settle(after, found, verifiers, at, refuted):
            events.append(event)
            after = evolve(after, event)
    closed = MailDomainChecked(
        lookup=state.id, mail_domain=mail_domain, learned=learned, costs=costs, at=at
    )
    return (*events, closed)


def waiting_in_vain(state: Lookup, at: datetime) -> tuple[MailDomainChecked, ...]:
    """Return the end of mail domains that wait for a retry with no person left to ask about.

    Work in flight is not ended: its answer comes soon, with what it cost.
    """
    return tuple(
        MailDomainChecked(lookup=state.id, mail_domain=work.item, at=at)
        for work in state.open
        if work.stage == "verification"
        and work.retry_at is not None
        and not unsettled_candidates(state, work.item)
    )


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
    return (finish(state, outcome_without_mailboxes(state) if is_answered else "timeout", at),)


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


def outcome_without_people(state: Lookup) -> SearchOutcome:
    """Return how a run ends that found no people: an answer only if every source gave one."""
    return "no_contacts" if state.conclusive else "scrape_error"


def outcome_without_mailboxes(state: Lookup) -> SearchOutcome:
    """Return how a run ends that verified no e-mail, once every mail domain is closed."""
    if state.timed_out:
        return "timeout"
    no_verifier_got_an_answer = state.unanswered and not state.answered
    return "error" if no_verifier_got_an_answer else "no_emails"
