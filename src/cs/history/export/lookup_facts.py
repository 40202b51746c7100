"""What events of lookups say, and what became of the people in them, as rows of facts."""

from collections.abc import Mapping
from typing import Any

import msgspec

from cs.domain.brand import events as brand
from cs.domain.codec import AnyEvent
from cs.domain.contact import Person, RankedPerson
from cs.domain.person import PersonErased
from cs.eventlog.sealing import key_name
from cs.history.export.fact_rows import FactRows, Says, of_no_people
from cs.history.export.reading import OpenPage, ReadEvent, people_named
from cs.history.export.stored_shapes import StoredChecked


def _started(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    to.rows["started"].append(
        (
            event.position,
            event.at,
            said.lookup,
            event.stream,
            said.number,
            said.query.brand,
            said.query.domain,
            said.deadline_at,
            said.contacts,
        )
    )


def _stage_issued(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    to.rows["issued"].append(
        (
            event.position,
            event.at,
            said.lookup,
            said.stage,
            said.item or None,
            said.attempt,
            said.deadline_at,
            said.after_silence,
            said.after_restart,
        )
    )


def _attempt_failed(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    causes = msgspec.json.encode(said.causes, order="sorted").decode() if said.causes else None
    to.rows["failed"].append(
        (
            event.position,
            event.at,
            said.lookup,
            said.stage,
            said.item or None,
            said.attempt,
            said.why,
            said.retry_at,
            causes,
        )
    )
    costs(to, read, said.stage, said.item or None)
    if said.retry_at is None:
        _sources(to, read, said.stage, dict.fromkeys(said.causes), said.causes)


def _sources(
    to: FactRows,
    read: ReadEvent,
    stage: str,
    ended: Mapping[str, str | None],
    causes: Mapping[str, str],
) -> None:
    event = read.event
    to.rows["source"] += (
        (event.position, event.at, event.lookup, stage, source, how, causes.get(source))
        for source, how in ended.items()
    )


def costs(to: FactRows, read: ReadEvent, stage: str, mail_domain: str | None) -> None:
    event = read.event
    to.rows["cost"] += (
        (
            event.position,
            event.at,
            event.lookup,
            stage,
            mail_domain,
            place,
            cost.name,
            cost.asked,
            cost.calls,
            cost.micros,
            cost.found,
            cost.used,
            cost.expected_micros,
        )
        for place, cost in enumerate(read.said.costs, 1)
    )


def _resolved(to: FactRows, read: ReadEvent) -> None:
    said = read.said
    _sources(to, read, "brand-resolution", said.sources, said.causes)
    row: tuple[Any, ...] = (said.lookup, said.status, said.rules, *[None] * 7)
    facts = said.brand
    if facts is not None:
        row = (
            *row[:3],
            facts.name,
            facts.domain,
            facts.linkedin_company_url,
            facts.parent_company,
            facts.instagram,
            facts.tiktok,
            facts.mail_domains,
        )
    to.rows["resolved"].append(row)


def _finished(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    people = people_named(said.contacts)
    to.rows["finished"].append(
        (
            event.position,
            event.at,
            said.lookup,
            said.outcome,
            said.reusable,
            said.verified,
            said.cut_off,
            len(people),
        )
    )
    # Contacts with a verified e-mail come first (contract S5).
    to.rows["shown"] += (
        (key_name(said.lookup, person), place, place <= said.verified)
        for place, person in enumerate(people, 1)
    )


# People.
def _people_found(to: FactRows, page: OpenPage, read: ReadEvent) -> None:
    event, lookup = read.event, read.said.lookup
    for ref, person, erased in page.people(read, Person):
        name = key_name(lookup, ref)
        row: tuple[Any, ...] = (event.position, event.at, lookup, name)
        if erased:
            to.rows["erased"].append((name,))
        if person is None:
            to.rows["found"].append((*row, *[None] * 7))
            continue
        who = None if person.linkedin_url is None else to.who_has(person.linkedin_url)
        personal: tuple[str | None, ...] = (None,) * 5
        if to.reveal:
            personal = (
                person.full_name,
                person.headline,
                person.company,
                person.linkedin_url,
                person.location,
            )
        to.rows["found"].append((*row, who, person.sources, *personal))


def _discovered(to: FactRows, page: OpenPage, read: ReadEvent) -> None:
    _sources(to, read, "contact-discovery", read.said.sources, read.said.causes)
    _people_found(to, page, read)


def _ranked(to: FactRows, page: OpenPage, read: ReadEvent) -> None:
    said = read.said
    roles: dict[str, RankedPerson | None] = dict.fromkeys(people_named(said.ranked))
    if to.reveal:
        roles = {each.person: each.value for each in page.people(read, RankedPerson)}
    for place, (ref, role) in enumerate(roles.items(), 1):
        read_as = (None,) * 3 if role is None else (role.title, role.family, role.level)
        to.rows["ranked"].append(
            (said.lookup, key_name(said.lookup, ref), place, said.rules, *read_as)
        )
    to.rows["left_out"] += (
        (key_name(said.lookup, left.person), left.why) for left in said.left_out
    )


def _checked(to: FactRows, page: OpenPage, read: ReadEvent) -> None:
    event, lookup = read.event, read.said.lookup
    ref, checked, _ = next(page.people(read, StoredChecked))
    person = key_name(lookup, ref)
    verified = read.kind is brand.MailboxVerified
    row: tuple[Any, ...] = (event.position, event.at, lookup, person, verified)
    if checked is None:
        to.rows["checked"].append((*row, *[None] * 7))
        return
    to.rows["checked"].append(
        (
            *row,
            checked.mail_domain,
            checked.verdict,
            checked.verifier,
            _rule(checked),
            checked.rules,
            len(checked.evidence),
            checked.address if to.reveal else None,
        )
    )
    for n, found in enumerate(checked.evidence, 1):
        personal: tuple[str | None, ...] = (None, None)
        if to.reveal:
            personal = (found.address, bytes(found.conversation).decode())
        to.rows["evidence"].append(
            (
                event.position,
                n,
                found.at,
                lookup,
                person,
                checked.mail_domain,
                found.verdict,
                found.reason,
                found.rules,
                found.verifier,
                found.mx,
                found.answered,
                found.retry_in_s,
                *personal,
            )
        )


def _rule(checked: Any) -> str | None:
    """Return the reason of the evidence that the verdict of *checked* rests on.

    That of the address which was verified; of the last that was asked with that verdict,
    where none was.
    """
    rested = [
        found.reason
        for found in checked.evidence
        if found.verdict is checked.verdict
        and (checked.address is None or found.address == checked.address)
    ]
    return rested[-1] if rested else None


def _contacts_erased(to: FactRows, read: ReadEvent) -> None:
    lookup = read.said.lookup
    to.rows["erased"] += ((key_name(lookup, person),) for person in read.said.people)


def _person_erased(to: FactRows, read: ReadEvent) -> None:
    to.rows["erased"] += ((name,) for name in read.said.found_in)


SAYS: Mapping[type[AnyEvent], Says] = {
    brand.LookupStarted: of_no_people(_started),
    brand.StageIssued: of_no_people(_stage_issued),
    brand.AttemptFailed: of_no_people(_attempt_failed),
    brand.BrandResolved: of_no_people(_resolved),
    brand.PeopleFound: _people_found,
    brand.ContactsDiscovered: _discovered,
    brand.ContactsRanked: _ranked,
    brand.MailboxVerified: _checked,
    brand.MailboxNotVerified: _checked,
    brand.LookupFinished: of_no_people(_finished),
    brand.ContactsErased: of_no_people(_contacts_erased),
    PersonErased: of_no_people(_person_erased),
}
