"""What each event says, as rows of facts (`cs.history.export.fact_columns`).

What is sealed about a person is opened in memory.  Unless people are revealed, only what is
not personal is written: which sources named them, and what became of their mailboxes at which
mail domain.
"""

from collections.abc import Callable, Mapping
from typing import Any, assert_never

import msgspec

from cs.domain.brand import events as brand
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import BouncedMailbox, Person, RankedPerson
from cs.domain.key import (
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
)
from cs.domain.mail_domain import BounceReported, DomainLearned
from cs.domain.person import PersonErased
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import StageName
from cs.eventlog.sealing import key_name
from cs.eventlog.stored_cause import cause_in
from cs.history.export.fact_columns import FACTS
from cs.history.export.reading import OpenPage, ReadEvent, people_named
from cs.history.export.stored_shapes import StoredChecked
from cs.history.history import damaged
from cs.history.opening import DAMAGED

#: Rows by the name of their fact.
Rows = Mapping[str, list[tuple[Any, ...]]]
#: What ends the work of which stage, and where its mail domain stands.
_ENDS: Mapping[type[Any], tuple[StageName, str | None]] = {
    row.closed_by: (row.name, row.item) for row in STAGES.values()
}

#: Of those, the ones that say what the attempt cost.
_WITH_COSTS = {
    brand.BrandResolved,
    brand.ContactsDiscovered,
    brand.ContactsRanked,
    brand.MailDomainChecked,
}


class FactRows:
    """Facts of events, until they are taken.

    Args:
        who_has: Returns the pseudonym of whoever has a profile.
        reveal: Whether what is personal is written, too.

    Attributes:
        rows: By the name of their fact.
        count: How many there are.
    """

    def __init__(self, who_has: Callable[[str], str], *, reveal: bool = False) -> None:
        self.who_has = who_has
        self.reveal = reveal
        self.rows: Rows = {name: [] for name in FACTS}

    @property
    def count(self) -> int:
        return sum(map(len, self.rows.values()))

    def clear(self) -> None:
        for rows in self.rows.values():
            rows.clear()

    def add_page(self, page: OpenPage) -> None:
        """Write down what the events of *page* say.

        Raises:
            DamagedEvent: What is sealed in one of them cannot be read.
        """
        for read in page.events:
            try:
                self._add(page, read)
            except DAMAGED as error:
                raise damaged(read.event, error) from error

    def _add(self, page: OpenPage, read: ReadEvent) -> None:
        event = read.event
        self.rows["event"].append(
            (
                event.position,
                event.stream,
                event.version,
                event.topic,
                event.at,
                event.lookup,
                *_named_by(cause_in(event.state)),
            )
        )
        ends = _ENDS.get(read.kind)
        if ends is not None:
            stage, item = ends
            mail_domain = None if item is None else getattr(read.said, item)
            self.rows["answered"].append(
                (event.position, event.at, event.lookup, stage, mail_domain)
            )
            if read.kind in _WITH_COSTS:
                _costs(self, read, stage, mail_domain)
        says = _SAYS.get(read.kind)
        if says is not None:
            says(self, page, read)


# Causes.
def _named_by(cause: AnyCause | None) -> tuple[Any, ...]:
    """Return the kind of *cause* and what it names, in the order of the columns."""
    match cause:
        case RequestCause(id=request):
            return "request", request, *[None] * 6
        case MessageCause(id=message, attempt=attempt):
            return "message", None, message, attempt, *[None] * 4
        case TimerCause(timer=timer):
            return "timer", None, None, None, timer, None, None, None
        case OperatorCause(command=command, who=operator):
            return "operator", None, None, None, None, command, operator, None
        case EventCause(position=position):
            return "event", *[None] * 6, position
        case StartCause():
            return "start", *[None] * 7
        case None:
            return (None,) * 8
        case _:
            assert_never(cause)


# Keys and their searches.
def _issued(to: FactRows, read: ReadEvent) -> None:
    _key_event(to, read, "issued", read.said.label, read.said.quota)


def _key_event(
    to: FactRows, read: ReadEvent, what: str, label: str | None = None, units: int | None = None
) -> None:
    event = read.event
    to.rows["key_event"].append(
        (event.position, event.at, _key(event.stream), what, label, units, read.said.by)
    )


def _admitted(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    to.rows["admitted"].append(
        (
            event.position,
            event.at,
            _key(event.stream),
            said.search,
            said.brand,
            said.query.brand,
            said.query.domain,
            said.lookup,
            said.request,
            said.idempotency is not None,
        )
    )


def _repeated(to: FactRows, read: ReadEvent) -> None:
    event = read.event
    to.rows["repeated"].append((event.position, event.at, _key(event.stream), read.said.search))


def _settled(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    to.rows["settled"].append(
        (
            event.position,
            event.at,
            _key(event.stream),
            said.search,
            said.lookup,
            said.outcome,
            said.charged,
            said.cached,
        )
    )


def _key(stream: str) -> str:
    return stream.removeprefix("key-")


# Lookups and their stages.
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
    _costs(to, read, said.stage, said.item or None)
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


def _costs(to: FactRows, read: ReadEvent, stage: str, mail_domain: str | None) -> None:
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


# Mail that came back.
def _bounce_reported(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    to.rows["bounce"].append(
        (
            event.position,
            event.at,
            event.stream.removeprefix("mail-domain-"),
            said.bounced_at,
            said.kind,
            said.why,
            said.status,
            said.pattern,
        )
    )


def _contact_bounced(to: FactRows, page: OpenPage, read: ReadEvent) -> None:
    event, said = read.event, read.said
    (ref,) = people_named(said.bounced)
    personal: tuple[str | None, ...] = (None, None)
    if to.reveal:
        for each in page.people(read, BouncedMailbox):
            if each.value is not None:
                personal = (each.value.address, each.value.diagnostic)
    to.rows["bounced"].append(
        (
            event.position,
            event.at,
            said.lookup,
            key_name(said.lookup, ref),
            said.bounced_at,
            said.why,
            said.status,
            said.verifier,
            said.reason,
            said.rules,
            said.verified_at,
            *personal,
        )
    )


# Mail domains.
def _learned(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    facts = said.facts
    to.rows["learned"].append(
        (
            event.position,
            event.at,
            event.stream.removeprefix("mail-domain-"),
            facts.catch_all,
            facts.greylists,
            facts.one_recipient,
            facts.pattern,
            said.expires_at,
        )
    )


Says = Callable[[FactRows, OpenPage, ReadEvent], None]


def _of_no_people(says: Callable[[FactRows, ReadEvent], None]) -> Says:
    return lambda to, _page, read: says(to, read)


#: Events that say more than that they happened.
_SAYS: Mapping[type[AnyEvent], Says] = {
    KeyIssued: _of_no_people(_issued),
    KeyRotated: _of_no_people(lambda to, read: _key_event(to, read, "rotated")),
    KeyRevoked: _of_no_people(lambda to, read: _key_event(to, read, "revoked")),
    QuotaGranted: _of_no_people(
        lambda to, read: _key_event(to, read, "granted", units=read.said.units)
    ),
    SearchAdmitted: _of_no_people(_admitted),
    SearchRepeated: _of_no_people(_repeated),
    SearchSettled: _of_no_people(_settled),
    brand.LookupStarted: _of_no_people(_started),
    brand.StageIssued: _of_no_people(_stage_issued),
    brand.AttemptFailed: _of_no_people(_attempt_failed),
    brand.BrandResolved: _of_no_people(_resolved),
    brand.PeopleFound: _people_found,
    brand.ContactsDiscovered: _discovered,
    brand.ContactsRanked: _ranked,
    brand.MailboxVerified: _checked,
    brand.MailboxNotVerified: _checked,
    brand.LookupFinished: _of_no_people(_finished),
    brand.ContactBounced: _contact_bounced,
    brand.ContactsErased: _of_no_people(_contacts_erased),
    DomainLearned: _of_no_people(_learned),
    BounceReported: _of_no_people(_bounce_reported),
    PersonErased: _of_no_people(_person_erased),
}
