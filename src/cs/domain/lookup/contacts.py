"""The people of one live run, and the contacts that callers get of them.  Pure.

Each is one person, however often seen; who is shown, in which order and with which address.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from cs.domain.contact import Candidate, CheckedPerson, Contact, Person, Sighting
from cs.domain.lookup.state import Lookup
from cs.domain.mail.conclusion import contradicts
from cs.domain.mail.mailbox import Evidence, Verdict, bounce_evidence
from cs.domain.mail.syntax import is_mailbox
from cs.domain.messages import converted
from cs.domain.names.person_name import split_name

#: People of one lookup; bounds its events.
PEOPLE = 100


def people_among(seen: Sequence[Sighting], found: Sequence[Person] = ()) -> tuple[Person, ...]:
    """Return who of *seen* is not among *found*, each once, numbered on from those.

    A person is known by profile address, else by name and company: two people with different
    profiles are two, whatever their names; a person without a profile is the one of that name
    at that company, with a profile or without.
    """
    known = {key for person in found for key in _known_by(person)[1]}
    new: list[Person] = []
    for sighting in seen:
        asked, own = _known_by(sighting)
        if len(found) + len(new) >= PEOPLE or not known.isdisjoint(asked):
            continue
        known |= own
        first, last = split_name(sighting.full_name)
        person = converted(
            sighting,
            Person,
            person=f"p{len(found) + len(new) + 1}",
            first_name=sighting.first_name or first,
            last_name=sighting.last_name or last,
            sources=(sighting.source,),
        )
        new.append(person)
    return tuple(new)


def _known_by(who: Sighting | Person) -> tuple[set[str], set[str]]:
    """Return the keys by which *who* may be known already, and those that *who* adds."""
    name = f"{who.full_name.casefold()}|{(who.company or '').casefold()}"
    if who.linkedin_url:
        page = who.linkedin_url.casefold()
        return {page, f"without page: {name}"}, {page, name}
    return {name}, {name, f"without page: {name}"}


def contacts_of(state: Lookup) -> tuple[Contact, ...]:
    """Return the people to show: verified first, then by rank (contract S5)."""
    if state.brand is None:
        return ()
    ranked = state.ranked
    if ranked is None:  # it was cut off before
        # Imported here: every command folds brands, and none but this reads headlines.
        from cs.domain.ranking import rank  # noqa: PLC0415

        ranked, _ = rank(state.brand, state.people, limit=state.contacts)
    people = {person.person: person for person in state.people}
    ranked = tuple(each for each in ranked if people[each.person].full_name)  # else erased
    order = {domain: n for n, domain in enumerate(state.brand.mail_domains)}
    verified: dict[str, CheckedPerson] = {}
    for checked in sorted(state.checked, key=lambda c: order.get(c.mail_domain, len(order))):
        if is_at_its_domain(checked):
            verified.setdefault(checked.person, checked)
    contacts: list[Contact] = []
    for each in ranked:
        own = verified.get(each.person)
        if own and any(own.address == better.email for better in contacts):
            own = None  # one mailbox is one person's: the better ranked one's
        contact = converted(
            people[each.person],
            Contact,
            title=each.title,
            email=own.address if own else None,
            email_status="verified" if own else "not_found",
            email_source=own.verifier if own else None,
            extras=state.extras.get(each.person) or UNSET,
        )
        contacts.append(contact)
    return tuple(sorted(contacts, key=lambda contact: contact.email is None))


def first_sources(state: Lookup, contacts: Sequence[Contact]) -> list[str]:
    """Return, for each of *contacts* with an e-mail, the source that named them first."""
    sources = {person.person: person.sources for person in state.people}
    verified = [sources[each.person] for each in contacts if each.email is not None]
    return [named_by[0] for named_by in verified if named_by]


def unsettled_candidates(state: Lookup, mail_domain: str) -> tuple[Candidate, ...]:
    """Return all who are not settled at *mail_domain* yet, in order of rank.

    Who is verified at another mail domain is not asked about again.
    """
    people = {person.person: person for person in state.people}
    settled = {c.person for c in state.checked if c.mail_domain == mail_domain} | state.verified
    return tuple(
        converted(people[ranked.person], Candidate)
        for ranked in state.ranked or ()
        if ranked.person not in settled and people[ranked.person].full_name  # not erased
    )


def without_email(contacts: Iterable[Contact], person: str) -> list[Contact]:
    """Return *contacts* with that of *person* without an e-mail, verified ones first."""
    changed = (
        replace(each, email=None, email_status="not_found", email_source=None)
        if each.person == person
        else each
        for each in contacts
    )
    return sorted(changed, key=lambda contact: contact.email is None)


def after_bounce(checked: CheckedPerson, at: datetime) -> CheckedPerson:
    """Return *checked* with the evidence of *at* that mail to its mailbox came back before."""
    assert checked.address is not None, "a mailbox bounced"
    bounced = bounce_evidence(checked.address, at)
    return replace(
        checked,
        verdict=Verdict.UNDELIVERABLE,
        address=None,
        verifier=None,
        evidence=(*checked.evidence, bounced),
    )


def verifying_reason(checked: CheckedPerson) -> str | None:
    """Return the reason of the evidence that *checked* is verified by."""
    return next((e.reason for e in checked.evidence if _vouches(e, checked)), None)


def _vouches(found: Evidence, checked: CheckedPerson) -> bool:
    about = (found.address, found.verifier, found.verdict)
    return about == (checked.address, checked.verifier, Verdict.DELIVERABLE)


def is_proved(checked: CheckedPerson, verifiers: Collection[str]) -> bool:
    """Say whether *checked* is a verified address.

    It is if one of *verifiers*, those that are configured, vouches for it, there is evidence
    of that very one about that very address, and no other verifier's to the contrary.
    """
    vouching = [found for found in checked.evidence if _vouches(found, checked)]
    return (
        is_at_its_domain(checked)
        and checked.verifier in verifiers
        and bool(vouching)
        and not any(contradicts(found, vouching[0]) for found in checked.evidence)
    )


def is_at_its_domain(checked: CheckedPerson) -> bool:
    """Say whether *checked* names a mailbox that takes mail, one of its mail domain."""
    return (
        checked.verdict is Verdict.DELIVERABLE
        and checked.address is not None
        and is_mailbox(checked.address)
        and checked.address.rpartition("@")[2] == checked.mail_domain
        and checked.verifier is not None
    )
