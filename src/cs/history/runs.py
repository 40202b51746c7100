"""One live run as a record: the people it found, what became of each, and the time it took.

Pure; made of the events of its brand's stream.

`cs.domain.lookup.state` remembers what deciding needs and forgets the rest when a run ends;
a `Run` keeps everything that the log has of it.  People are in it in clear, but for those
who were erased.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec

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
from cs.domain.source_cost import MICROS, SourceCost
from cs.domain.stages.table import closed_work
from cs.domain.stages.work import StageName
from cs.eventlog.port import RecordedEvent

#: Fields of a source or verifier that was asked (`Run.asked`).
_USE = ("ended", "why", "questions", "calls", "used", "cost", "expected")

AttemptEnd = Literal["open", "answered", "failed", "replaced", "cut-off"]


class RunAttempt(msgspec.Struct, kw_only=True):
    """Work that was issued to a stage once.

    Attributes:
        position: Of the event that issued it.
        item: The mail domain of a verification; else empty.
        attempt: Counts from 1, over all that were issued of this work.
        after_silence, after_restart: Whether it was issued again because the stage was silent
            or a process restarted.
        end: ``open`` until it ends; ``replaced`` by another attempt; ``cut-off`` by the end
            of the run.
        ended_by: The position of the event by which it ended.
        why: Why it failed; ``None`` if it did not.
        retry_at: When the next attempt is due after a failure.
        sources: How each source ended, by name, if the stage answered.
        causes: Why a source could not answer, by name.
        costs: The cost per source or verifier, in the order of asking.
        caused_by: The cause of its being issued; ``None``: not known.
        end_caused_by: The cause of the event by which it ended.
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
    sources: dict[str, str] = {}
    causes: dict[str, str] = {}
    costs: tuple[SourceCost, ...] = ()
    caused_by: AnyCause | None = None
    end_caused_by: AnyCause | None = None

    def answers(self) -> Iterator[tuple[str, str | None, str | None]]:
        """Yield each source, how it ended if that is known, and why it could not answer."""
        for name, how in (self.sources or dict.fromkeys(self.causes, "failed")).items():
            yield name, how, self.causes.get(name)
        for cost in self.costs if self.end == "failed" and not self.item else ():
            if cost.asked and cost.name not in self.causes:
                yield cost.name, None, None


class MailboxCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of verification for one person at one mail domain.

    Attributes:
        position, at: Of the event that recorded it.
        verified: Whether the mailbox was proved; the verdict in `checked` alone proves nothing.
        checked: The result with all evidence.
        mail_domain: The domain; known of erased people too, from the id of the message.
    """

    position: int
    at: datetime
    verified: bool
    checked: CheckedPerson
    mail_domain: str | None = None


class MailboxBounce(msgspec.Struct, frozen=True, kw_only=True):
    """Mail to a mailbox that the run had verified came back for good.

    Attributes:
        position, at: Of the event that recorded it.
        bounced_at: When it came back; ``status``: enhanced code; ``why``: its meaning.
        verifier, reason: The verifier that had verified the mailbox, and its rule.
        address, diagnostic: The mailbox, and the words of the mail server.
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


class RunPerson(msgspec.Struct, kw_only=True):
    """A person that a run found.

    Attributes:
        person: ``p1``, ``p2``, …
        position, at: Of the event that names them first.
        found: Their data; its fields are empty if they were erased.
        place: Their place in the ranking, from 1; ``None``: not ranked.
        ranked: The role that was read from the headline; ``None``: not ranked.
        left_out: Why they were not ranked (`cs.domain.contact.LeftOut`).
        opinion: A second opinion on their headline, of which the rules were unsure.
        checks: In order.
        erased: Whether an event took them out of the run.
        bounced: The bounce of mail to their verified mailbox, if there was one.
        why: Why they are in the answer or not, as `cs.history.words.KEPT` has it.
        who: Their pseudonym over all runs, where it was asked for.
    """

    person: str
    position: int
    at: datetime
    found: Person
    place: int | None = None
    ranked: RankedPerson | None = None
    left_out: str | None = None
    opinion: Opinion | None = None
    checks: list[MailboxCheck] = []
    erased: bool = False
    bounced: MailboxBounce | None = None
    why: str = "not-ranked"
    who: str | None = None

    @property
    def is_erased(self) -> bool:
        """Return whether they were erased by now; what is left names no one."""
        return self.erased or not self.found.full_name


class ClosedMailDomain(msgspec.Struct, frozen=True, kw_only=True):
    """A mail domain at which everyone has been checked, and what was learned of it."""

    position: int
    at: datetime
    mail_domain: str
    learned: DomainFacts


class Run(msgspec.Struct, kw_only=True):
    """One live run.

    Attributes:
        stream: Of its brand.
        position, started_at: Of the event that began it.
        last_position: Of the last event that is in this record.
        number: Counts the runs of its brand from 1.
        resolved_by: The rules that chose the brand; ``None``: not recorded.
        matches: The brands that they chose from; ``None``: not recorded.
        status: ``matched``, ``no_match`` or ``ambiguous``.
        people: In the order in which they were found.
        ranked_by: The rules that ranked them; ``None``: not recorded.
        mail_domains: In the order in which they were closed.
        finish_position, finished_at: Of the event that ended it; ``None`` until then.
        outcome, reusable, verified, cut_off, contacts: The result, without the people who
            were erased since.
        ended_with, verified_then: The people in its result when it was made, in order, and how
            many of them had a verified e-mail; those erased since are counted, too.
        verified_from, verified_by: Verified people then, by the source that named them first
            and by the verifier that confirmed them.
        caused_by, finish_caused_by: The causes of its beginning and end; ``None``: not known.
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
    attempts: list[RunAttempt] = []
    resolved_by: str | None = None
    matches: tuple[SourceMatches, ...] | None = None
    status: str | None = None
    brand: BrandFacts | None = None
    people: list[RunPerson] = []
    ranked_at: datetime | None = None
    ranked_by: str | None = None
    mail_domains: list[ClosedMailDomain] = []
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
        """Return the person with the id *person*, if there is one."""
        return next((each for each in self.people if each.person == person), None)

    def asked(self) -> list[dict[str, Any]]:
        """Return the sources and verifiers that its stages asked, over all attempts, by stage.

        ``item`` is the mail domain of a verification; ``ended`` and ``why``: how a source ended
        and why it could not answer; ``questions``: of a verifier, addresses; ``calls``: paid
        ones; ``used``: results that the stage went on with; ``cost``, and the ``expected`` cost
        of a verified e-mail when the order of asking was made: in US dollars.  ``None``: not
        recorded.
        """
        work: dict[tuple[StageName, str], dict[str, dict[str, Any]]] = {}
        for each in self.attempts:
            uses = work.setdefault((each.stage, each.item), {})
            ends = {name: (how, why) for name, how, why in each.answers()}
            for name in (*(cost.name for cost in each.costs), *ends):
                where = {"stage": each.stage, "item": each.item, "name": name}
                uses.setdefault(name, where | dict.fromkeys(_USE))
            for cost in each.costs:
                use, expected = uses[cost.name], cost.expected_micros
                use["questions"] = (use["questions"] or 0) + cost.asked
                use["calls"] = (use["calls"] or 0) + cost.calls
                use["used"] = (use["used"] or 0) + cost.used
                use["cost"] = (use["cost"] or Decimal(0)) + Decimal(cost.micros) / MICROS
                use["expected"] = None if expected is None else Decimal(expected) / MICROS
            for name, (how, why) in ends.items():
                uses[name] |= {"ended": how, "why": why}
        return [use for uses in work.values() for use in uses.values()]

    @classmethod
    def begun_by(cls, recorded: RecordedEvent) -> "Run | None":
        """Return the run that *recorded* begins; ``None``: it begins none."""
        event = recorded.event
        if not isinstance(event, LookupStarted):
            return None
        return cls(
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

    def add(self, recorded: RecordedEvent) -> None:  # noqa: C901 - a match
        """Apply *recorded*, the next event of the run."""
        event, cause = recorded.event, recorded.caused_by
        position, at = recorded.position, event.at
        self.last_position = position
        closed = closed_work(event)
        if closed is not None:
            attempt = self._end(closed.stage, closed.item, "answered", recorded)
            if attempt is not None:
                attempt.costs = getattr(event, "costs", ())
                attempt.causes = getattr(event, "causes", {})
                attempt.sources = getattr(event, "sources", {})
        match event:
            case StageIssued():
                self._issued(event, recorded)
            case AttemptFailed():
                attempt = self._end(event.stage, event.item, "failed", recorded)
                if attempt is not None:
                    attempt.why, attempt.retry_at = event.why, event.retry_at
                    attempt.causes, attempt.costs = event.causes, event.costs
            case BrandResolved():
                self.resolved_by, self.matches = event.rules, event.matches
                self.status, self.brand = event.status, event.brand
            case PeopleFound() | ContactsDiscovered():
                self._found(event, recorded)
            case ContactsRanked():
                self._ranked(event)
            case MailboxVerified(checked=checked) | MailboxNotVerified(checked=checked):
                check = MailboxCheck(
                    position=position,
                    at=at,
                    verified=isinstance(event, MailboxVerified),
                    checked=checked,
                    mail_domain=checked.mail_domain or item_of(cause),
                )
                if (person := self.find(checked.person)) is not None:
                    person.checks.append(check)
            case MailDomainChecked(mail_domain=domain, learned=learned):
                closing = ClosedMailDomain(
                    position=position, at=at, mail_domain=domain, learned=learned
                )
                self.mail_domains.append(closing)
            case LookupFinished():
                self._finished(event, recorded)
            case ContactsErased() | ContactBounced():
                self._lost(event, recorded)
            case _:
                pass

    def _issued(self, event: StageIssued, recorded: RecordedEvent) -> None:
        self._end(event.stage, event.item, "replaced", recorded)
        attempt = RunAttempt(
            position=recorded.position,
            stage=event.stage,
            item=event.item,
            attempt=event.attempt,
            issued_at=event.at,
            deadline_at=event.deadline_at,
            after_silence=event.after_silence,
            after_restart=event.after_restart,
            caused_by=recorded.caused_by,
        )
        self.attempts.append(attempt)

    def _end(
        self, stage: StageName, item: str, end: AttemptEnd, recorded: RecordedEvent
    ) -> RunAttempt | None:
        """End the attempt at work of *stage* that is open; return it, if there is one."""
        for attempt in self.attempts:
            if (attempt.stage, attempt.item, attempt.end) == (stage, item, "open"):
                attempt.end, attempt.ended_at = end, recorded.event.at
                attempt.ended_by, attempt.end_caused_by = recorded.position, recorded.caused_by
                return attempt
        return None

    def _found(self, event: PeopleFound | ContactsDiscovered, recorded: RecordedEvent) -> None:
        known = {each.person for each in self.people}
        for found in event.people:
            if found.person not in known:
                person = RunPerson(
                    person=found.person, position=recorded.position, at=event.at, found=found
                )
                self.people.append(person)
                known.add(found.person)

    def _ranked(self, event: ContactsRanked) -> None:
        self.ranked_at, self.ranked_by = event.at, event.rules
        people = {each.person: each for each in self.people}
        for place, ranked in enumerate(event.ranked, 1):
            if (person := people.get(ranked.person)) is not None:
                person.place, person.ranked = place, ranked
        for left_out in event.left_out:
            if (person := people.get(left_out.person)) is not None:
                person.left_out = left_out.why
        for opinion in event.opinions:
            if (person := people.get(opinion.person)) is not None:
                person.opinion = opinion

    def _finished(self, event: LookupFinished, recorded: RecordedEvent) -> None:
        for attempt in self.attempts:
            self._end(attempt.stage, attempt.item, "cut-off", recorded)
        self.finish_position, self.finished_at = recorded.position, event.at
        self.outcome, self.reusable, self.cut_off = event.outcome, event.reusable, event.cut_off
        self.brand = event.brand or self.brand
        self.verified = self.verified_then = event.verified
        self.contacts = event.contacts
        self.ended_with = tuple(contact.person for contact in event.contacts)
        self.verified_from, self.verified_by = event.verified_from, event.verified_by
        self.finish_caused_by = recorded.caused_by

    def _lost(self, event: ContactsErased | ContactBounced, recorded: RecordedEvent) -> None:
        """Take people, or a mailbox of one, out of the result."""
        if self.finished_at is not None:
            self.verified, self.contacts = event.verified, event.contacts
        if isinstance(event, ContactsErased):
            for each in self.people:
                each.erased = each.erased or each.person in event.people
        elif (person := self.find(event.bounced.person)) is not None:
            person.bounced = MailboxBounce(
                position=recorded.position,
                at=event.at,
                bounced_at=event.bounced_at,
                status=event.status,
                why=event.why,
                verifier=event.verifier,
                reason=event.reason,
                address=event.bounced.address,
                diagnostic=event.bounced.diagnostic,
            )

    def explained(self) -> "Run":
        """Return this run, with each of its people why they are in the answer or not."""
        for person in self.people:
            person.why = _why(self, person)
        return self


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


def runs(events: Iterable[RecordedEvent]) -> list[Run]:
    """Return the runs in *events*, those of one brand's stream in order, from the first on.

    What is of no run that began among them is left out.
    """
    found: dict[str, Run] = {}
    for recorded in events:
        event = recorded.event
        if not isinstance(event, LookupEvent):
            continue
        if (begun := Run.begun_by(recorded)) is not None:
            found[event.lookup] = begun
        elif event.lookup in found:
            found[event.lookup].add(recorded)
    return [run.explained() for run in found.values()]
