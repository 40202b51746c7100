"""One live run as a record: whom it found, what became of each, how long all of it took.

Pure; made of the events of its brand's stream.

`cs.domain.lookup.state` remembers what deciding needs and forgets the rest when a run ends;
a `Run` keeps everything that the log says of it.  People are in it in clear, but for those
who were erased.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import msgspec
from msgspec.structs import replace

from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactBounced,
    ContactsDiscovered,
    ContactsErased,
    ContactsRanked,
    LookupEvent,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    StageIssued,
)
from cs.domain.causation import AnyCause, MessageCause
from cs.domain.contact import (
    CONTACTS,
    BrandFacts,
    CheckedPerson,
    Contact,
    Opinion,
    Person,
    Query,
    RankedPerson,
    SourceMatches,
)
from cs.domain.key import SearchOutcome
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.source_cost import SourceCost
from cs.domain.stages.table import closed_work
from cs.domain.stages.work import StageName
from cs.eventlog.port import RecordedEvent

AttemptEnd = Literal["open", "answered", "failed", "replaced", "cut-off"]


class RunAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """Work that was issued to a stage once.

    Attributes:
        position: Of the event that issued it.
        item: The mail domain of a verification; else empty.
        attempt: Counts from 1, over all that were issued of this work.
        after_silence, after_restart: Why it was issued again, if not for a failure.
        end: How it ended: with the stage's result, without one, because another took its
            place, because the run ended; or it has not.
        ended_at: When.
        ended_by: The position of the event that says so.
        why: Of a failed one: why.
        retry_at: Of a failed one: when the next one was to follow.
        causes: Of a failed one, by source: why it could not answer.
        costs: Of one that ended: what whom it asked cost; empty if that was not recorded.
        caused_by: What led to its being issued; ``None``: not known.
        end_caused_by: What led to the event that says that it ended.
    """

    position: int
    stage: StageName
    item: str = ""
    attempt: int
    issued_at: datetime
    deadline_at: datetime
    after_silence: bool = False
    after_restart: bool = False
    end: AttemptEnd = "open"
    ended_at: datetime | None = None
    ended_by: int | None = None
    why: str | None = None
    retry_at: datetime | None = None
    causes: dict[str, str] = {}
    costs: tuple[SourceCost, ...] = ()
    caused_by: AnyCause | None = None
    end_caused_by: AnyCause | None = None


class SourcesEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How the sources of a stage ended.

    Attributes:
        position, at: Of the event that says so.
        sources: By name, how each ended.
        causes: By name, why one could not answer.
        conclusive: Whether all of them answered.
    """

    position: int
    at: datetime
    sources: dict[str, str] = {}
    causes: dict[str, str] = {}
    conclusive: bool = True


class MailboxCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What verification found for one person at one mail domain.

    Attributes:
        position, at: Of the event that says so.
        verified: Whether the mailbox was proved; what `checked` says alone proves nothing.
        checked: With all evidence.
        mail_domain: Where; known of erased people, too, as the message names it that said so.
    """

    position: int
    at: datetime
    verified: bool
    checked: CheckedPerson
    mail_domain: str | None = None


class MailboxBounce(msgspec.Struct, frozen=True, kw_only=True):
    """Mail to a mailbox that the run had verified came back for good.

    Attributes:
        position, at: Of the event that says so.
        bounced_at: When it came back; ``status``: enhanced code; ``why``: what it was.
        verifier, reason: Who had vouched for the mailbox, and by which rule.
        address, diagnostic: Of whom, and what the mail server said.
    """

    position: int
    at: datetime
    bounced_at: datetime
    status: str | None
    why: str
    verifier: str
    reason: str | None
    address: str
    diagnostic: str


class RunPerson(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody whom a run found.

    Attributes:
        person: ``p1``, ``p2``, …
        position, at: Of the event that names them first.
        found: What was found; its fields are empty if they were erased.
        place: In the ranking, from 1; ``None``: not in it.
        ranked: The role that was read; ``None``: not ranked.
        left_out: Why not, as `cs.domain.contact.LeftOut` says.
        opinion: That somebody else had on their headline, of which the rules were unsure.
        checks: In order.
        erased: Whether the run was told to leave them out.
        bounced: What is known of mail to their verified mailbox that came back.
        why: Why they are in the answer or not, as `cs.history.words.KEPT` has it.
        who: Their pseudonym over all runs, where somebody asked for it.
    """

    person: str
    position: int
    at: datetime
    found: Person
    place: int | None = None
    ranked: RankedPerson | None = None
    left_out: str | None = None
    opinion: Opinion | None = None
    checks: tuple[MailboxCheck, ...] = ()
    erased: bool = False
    bounced: MailboxBounce | None = None
    why: str = "not-ranked"
    who: str | None = None

    @property
    def is_erased(self) -> bool:
        """Return whether they were erased by now; whatever is left says nothing."""
        return self.erased or not self.found.full_name


class ClosedMailDomain(msgspec.Struct, frozen=True, kw_only=True):
    """A mail domain at which nobody was left to be checked, and what was learned of it."""

    position: int
    at: datetime
    mail_domain: str
    learned: DomainFacts


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One live run.

    Attributes:
        lookup: Its id.
        stream: Of its brand.
        position, started_at: Of the event that began it.
        last_position: Of the last event that is in this record.
        number: Counts the runs of its brand from 1.
        shown_at_most: Contacts.
        resolution: How brand resolution ended; ``None``: it has not.
        resolved_by: The rules that chose the brand; ``None``: not recorded.
        matches: The brands that they chose from; ``None``: not recorded.
        status: Of the brand: matched, no_match or ambiguous.
        brand: What was found out about it.
        discovery: How contact discovery ended; ``None``: it has not.
        people: In the order in which they were found.
        ranked_at: When they were ranked.
        ranked_by: The rules that did; ``None``: not recorded.
        ranking_causes: Who was to have an opinion on headlines and had none, and why.
        mail_domains: In the order in which they were closed.
        finish_position, finished_at: Of the event that ended it; ``None``: it has not ended.
        outcome, reusable, verified, cut_off, contacts: Of its result; erased people are
            not in it any more.
        ended_with, verified_then: Whom its result showed when it was made, in order, and how
            many of them had a verified e-mail; those erased since are in it, too.
        verified_from, verified_by: Verified people then, by the source that named them first
            and by the verifier that confirmed them.
        caused_by, finish_caused_by: What led to its beginning and to its end; ``None``: not
            known.
    """

    lookup: str
    stream: str
    position: int
    started_at: datetime
    last_position: int
    number: int
    query: Query
    deadline_at: datetime
    shown_at_most: int = CONTACTS
    attempts: tuple[RunAttempt, ...] = ()
    resolution: SourcesEnd | None = None
    resolved_by: str | None = None
    matches: tuple[SourceMatches, ...] | None = None
    status: str | None = None
    brand: BrandFacts | None = None
    discovery: SourcesEnd | None = None
    people: tuple[RunPerson, ...] = ()
    ranked_at: datetime | None = None
    ranked_by: str | None = None
    ranking_causes: dict[str, str] = {}
    mail_domains: tuple[ClosedMailDomain, ...] = ()
    finish_position: int | None = None
    finished_at: datetime | None = None
    outcome: SearchOutcome | None = None
    reusable: bool = False
    verified: int = 0
    cut_off: bool = False
    contacts: tuple[Contact, ...] = ()
    ended_with: tuple[str, ...] = ()
    verified_then: int = 0
    verified_from: dict[str, int] = {}
    verified_by: dict[str, int] = {}
    caused_by: AnyCause | None = None
    finish_caused_by: AnyCause | None = None

    def names(self) -> list[str]:
        """Return the names of its people who are not erased, ``<lookup>#p1``."""
        return [f"{self.lookup}#{each.person}" for each in self.people if not each.is_erased]

    def find(self, person: str) -> RunPerson | None:
        """Return the one who is called *person* here, if there is one."""
        return next((each for each in self.people if each.person == person), None)


def item_of(cause: AnyCause | None) -> str | None:
    """Return the item of the work that the message *cause* answers, a mail domain.

    >>> answered = "brand-1.1/verification/acme.example/1/checked"
    >>> item_of(MessageCause(topic="t", id=answered, attempt=1))
    'acme.example'
    """
    parts = cause.id.split("/") if isinstance(cause, MessageCause) else ()
    return (parts[2] or None) if len(parts) == 5 else None


def _why(run: Run, person: RunPerson) -> str:
    """Return why *person* is in the answer of *run* or not (`cs.history.words.KEPT`)."""
    contact = next((each for each in run.contacts if each.person == person.person), None)
    if contact is not None and contact.full_name:
        if contact.email is not None:
            return "verified"
        if person.bounced is not None:
            return "bounced"
        proved = any(check.verified for check in person.checks)
        return "anothers-mailbox" if proved else "not-verified"
    if person.left_out is not None:
        return person.left_out
    if run.finished_at is not None:
        return "not-shown"
    return "not-ranked" if person.ranked is None else "not-ended"


#: Events that end an attempt and say what it cost.
_WITH_COSTS = (BrandResolved, ContactsDiscovered, ContactsRanked, MailDomainChecked)


def runs(events: Iterable[RecordedEvent]) -> list[Run]:
    """Return the runs in *events*, those of one brand's stream in order, from the first on.

    What is of no run that began among them is left out.
    """
    found: dict[str, RunFold] = {}
    for recorded in events:
        event = recorded.event
        if not isinstance(event, LookupEvent):
            continue
        if (begun := RunFold.begun_by(recorded)) is not None:
            found[event.lookup] = begun
        elif event.lookup in found:
            found[event.lookup].add(recorded)
    return [fold.run() for fold in found.values()]


class RunFold:
    """A run while its events are read."""

    @classmethod
    def begun_by(cls, recorded: RecordedEvent) -> "RunFold | None":
        """Return a run that *recorded* begins; ``None``: it begins none."""
        event = recorded.event
        return cls(recorded, event) if isinstance(event, LookupStarted) else None

    def __init__(self, recorded: RecordedEvent, event: LookupStarted) -> None:
        self._run = Run(
            lookup=event.lookup,
            stream=recorded.stream,
            position=recorded.position,
            started_at=event.at,
            last_position=recorded.position,
            number=event.number,
            query=event.query,
            deadline_at=event.deadline_at,
            shown_at_most=event.contacts,
            caused_by=recorded.caused_by,
        )
        self._caused_by = recorded.caused_by  # of the event that is read
        self._last = recorded.position
        self._attempts: list[RunAttempt] = []
        self._open: dict[tuple[StageName, str], int] = {}  # the place of the one in flight
        self._people: dict[str, RunPerson] = {}
        self._mail_domains: list[ClosedMailDomain] = []

    def run(self) -> Run:
        return replace(
            self._run,
            last_position=self._last,
            attempts=tuple(self._attempts),
            people=tuple(
                replace(each, why=_why(self._run, each)) for each in self._people.values()
            ),
            mail_domains=tuple(self._mail_domains),
        )

    def add(self, recorded: RecordedEvent) -> None:  # noqa: C901 - a match
        event = recorded.event
        position = self._last = recorded.position
        self._caused_by = recorded.caused_by
        closed = closed_work(event)
        if closed is not None:
            place = self._end((closed.stage, closed.item), position, event.at, "answered")
            if place is not None and isinstance(event, _WITH_COSTS):
                self._attempts[place] = replace(self._attempts[place], costs=event.costs)
        match event:
            case StageIssued():
                self._issued(position, event)
            case AttemptFailed():
                self._failed(position, event)
            case BrandResolved(status=status, brand=brand):
                ended = SourcesEnd(
                    position=position, at=event.at, sources=event.sources, causes=event.causes
                )
                self._run = replace(
                    self._run,
                    resolution=ended,
                    resolved_by=event.rules,
                    matches=event.matches,
                    status=status,
                    brand=brand,
                )
            case PeopleFound(people=people):
                self._found(position, event.at, people)
            case ContactsDiscovered(people=people):
                self._found(position, event.at, people)
                ended = SourcesEnd(
                    position=position,
                    at=event.at,
                    sources=event.sources,
                    causes=event.causes,
                    conclusive=event.conclusive,
                )
                self._run = replace(self._run, discovery=ended)
            case ContactsRanked():
                self._ranked(event)
            case MailboxVerified(checked=checked):
                self._checked(position, event.at, checked, verified=True)
            case MailboxNotVerified(checked=checked):
                self._checked(position, event.at, checked, verified=False)
            case MailDomainChecked(mail_domain=mail_domain, learned=learned):
                self._mail_domains.append(
                    ClosedMailDomain(
                        position=position, at=event.at, mail_domain=mail_domain, learned=learned
                    )
                )
            case LookupFinished():
                self._finished(position, event)
            case ContactsErased():
                self._erased(event)
            case ContactBounced():
                self._bounced(position, event)
            case _:
                pass

    def _issued(self, position: int, event: StageIssued) -> None:
        work = (event.stage, event.item)
        self._end(work, position, event.at, "replaced")
        self._open[work] = len(self._attempts)
        self._attempts.append(
            RunAttempt(
                position=position,
                stage=event.stage,
                item=event.item,
                attempt=event.attempt,
                issued_at=event.at,
                deadline_at=event.deadline_at,
                after_silence=event.after_silence,
                after_restart=event.after_restart,
                caused_by=self._caused_by,
            )
        )

    def _failed(self, position: int, event: AttemptFailed) -> None:
        place = self._end((event.stage, event.item), position, event.at, "failed")
        if place is not None:
            self._attempts[place] = replace(
                self._attempts[place],
                why=event.why,
                retry_at=event.retry_at,
                causes=event.causes,
                costs=event.costs,
            )

    def _end(
        self, work: tuple[StageName, str], position: int, at: datetime, end: AttemptEnd
    ) -> int | None:
        """End the attempt at *work* that is in flight; return its place, if there is one."""
        place = self._open.pop(work, None)
        if place is not None:
            self._attempts[place] = replace(
                self._attempts[place],
                end=end,
                ended_at=at,
                ended_by=position,
                end_caused_by=self._caused_by,
            )
        return place

    def _found(self, position: int, at: datetime, people: Iterable[Person]) -> None:
        for person in people:
            self._people.setdefault(
                person.person,
                RunPerson(person=person.person, position=position, at=at, found=person),
            )

    def _ranked(self, event: ContactsRanked) -> None:
        self._run = replace(
            self._run,
            ranked_at=event.at,
            ranked_by=event.rules,
            ranking_causes=event.causes,
        )
        for place, ranked in enumerate(event.ranked, 1):
            self._about(ranked.person, place=place, ranked=ranked)
        for left_out in event.left_out:
            self._about(left_out.person, left_out=left_out.why)
        for opinion in event.opinions:
            self._about(opinion.person, opinion=opinion)

    def _checked(
        self, position: int, at: datetime, checked: CheckedPerson, *, verified: bool
    ) -> None:
        before = self._people.get(checked.person)
        if before is not None:
            check = MailboxCheck(
                position=position,
                at=at,
                verified=verified,
                checked=checked,
                mail_domain=checked.mail_domain or item_of(self._caused_by),
            )
            self._about(checked.person, checks=(*before.checks, check))

    def _finished(self, position: int, event: LookupFinished) -> None:
        for work in list(self._open):
            self._end(work, position, event.at, "cut-off")
        self._run = replace(
            self._run,
            finish_position=position,
            finished_at=event.at,
            outcome=event.outcome,
            reusable=event.reusable,
            verified=event.verified,
            cut_off=event.cut_off,
            brand=event.brand or self._run.brand,
            contacts=event.contacts,
            ended_with=tuple(contact.person for contact in event.contacts),
            verified_then=event.verified,
            verified_from=event.verified_from,
            verified_by=event.verified_by,
            finish_caused_by=self._caused_by,
        )

    def _erased(self, event: ContactsErased) -> None:
        for person in event.people:
            self._about(person, erased=True)
        if self._run.finished_at is not None:
            self._run = replace(self._run, verified=event.verified, contacts=event.contacts)

    def _bounced(self, position: int, event: ContactBounced) -> None:
        bounce = MailboxBounce(
            position=position,
            at=event.at,
            bounced_at=event.bounced_at,
            status=event.status,
            why=event.why,
            verifier=event.verifier,
            reason=event.reason,
            address=event.bounced.address,
            diagnostic=event.bounced.diagnostic,
        )
        self._about(event.bounced.person, bounced=bounce)
        if self._run.finished_at is not None:
            self._run = replace(self._run, verified=event.verified, contacts=event.contacts)

    def _about(self, person: str, **news: object) -> None:
        known = self._people.get(person)
        if known is not None:
            self._people[person] = replace(known, **news)
