"""What a stage's answer causes in one live run.  Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import assert_never

from cs.domain.brand.events import (
    BrandEvent,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    PeopleFound,
    RecordFinding,
)
from cs.domain.cause import stored
from cs.domain.contact import Ranked
from cs.domain.lookup.failure import failed
from cs.domain.lookup.finish import finish, nobody
from cs.domain.lookup.issuing import brand_of, issue, verification_of
from cs.domain.lookup.mailboxes import close_domain, settled
from cs.domain.lookup.people import new_people
from cs.domain.lookup.state import Lookup, evolve
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.stages.work import (
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
    Resolved,
    StageName,
)

#: The stage that a finding is the word of; any stage may fail or be alive.
_SAID_BY: Mapping[type[AnyFinding], StageName] = {
    Resolved: "brand-resolution",
    PeopleSeen: "contact-discovery",
    Discovered: "contact-discovery",
    RankingDone: "ranking",
    MailboxChecked: "verification",
    DomainVerified: "verification",
}
#: Mail domains of one lookup: the asked one, the brand's own, its parent's, one to spare.
MAIL_DOMAINS = 4


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
            new = new_people(state, people)
            return (PeopleFound(lookup=state.id, people=new, at=at),) if new else ()
        case MailboxChecked(checked=checked):
            if checked.mail_domain != command.item:
                return ()
            return tuple(settled(state, checked, command.verifiers, at))
        case Resolved() as finding:
            return _resolved(state, finding, at)
        case Discovered() as finding:
            return _discovered(state, finding, at)
        case RankingDone() as finding:
            return _ranked(state, finding, at, command.known)
        case DomainVerified(checked=checked, learned=learned):
            return close_domain(
                state, command.item, checked, learned, at, verifiers=command.verifiers
            )
        case Failed() as finding:
            return failed(
                state, work, command.attempt, finding, at, verifiers=command.verifiers
            )
        case _:
            assert_never(command.finding)


def _resolved(state: Lookup, finding: Resolved, at: datetime) -> tuple[BrandEvent, ...]:
    resolved = BrandResolved(
        lookup=state.id,
        status=finding.status,
        brand=finding.brand,
        sources=finding.sources,
        causes=stored(finding.causes),
        at=at,
    )
    after = evolve(state, resolved)
    if finding.status != "matched" or finding.brand is None:
        return (resolved, finish(after, "no_linkedin", at))
    return (
        resolved,
        issue(after, "contact-discovery", DiscoveryInput(finding.brand), at),
    )


def _discovered(state: Lookup, finding: Discovered, at: datetime) -> tuple[BrandEvent, ...]:
    discovered = ContactsDiscovered(
        lookup=state.id,
        people=new_people(state, finding.people),
        sources=finding.sources,
        conclusive=finding.conclusive,
        causes=stored(finding.causes),
        at=at,
    )
    after = evolve(state, discovered)
    if not after.people or after.brand is None:
        return (discovered, finish(after, nobody(after), at))
    return (
        discovered,
        issue(after, "ranking", RankingInput(after.brand, after.people, after.contacts), at),
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
        return (ranked, finish(after, nobody(after), at))
    domains = tuple(dict.fromkeys(brand_of(after).mail_domains))[:MAIL_DOMAINS]
    if not domains:
        return (ranked, finish(after, "no_emails", at))
    work = (
        issue(after, "verification", verification_of(after, domain, known), at, item=domain)
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
