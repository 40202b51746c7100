"""One live run on a brand: what is remembered of it.  Pure.

resolution -> discovery -> ranking -> verification, one item per mail domain; stages of packages
follow any of the last three.  A stage's work ends with the event that its row names
(`cs.domain.stages.table`); the first result stored wins, whichever attempt it came from.
Progress is stored for a run that its deadline cuts off.

What a command about it causes is in `cs.domain.lookup.rules`; which people it shows, and with
which address, in `cs.domain.lookup.contacts`.
"""

from datetime import datetime
from typing import assert_never

import msgspec
from msgspec.structs import replace

from cs.domain.brand.events import (
    AttemptFailed,
    BrandEvent,
    BrandForgotten,
    BrandResolved,
    ContactBounced,
    ContactsDiscovered,
    ContactsErased,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    StageDone,
    StageIssued,
)
from cs.domain.contact import CONTACTS, BrandFacts, CheckedPerson, Person, Query, RankedPerson
from cs.domain.mail.mailbox import Verdict
from cs.domain.messages import STANDS_STILL
from cs.domain.stages.table import closed_work, is_optional
from cs.domain.stages.work import StageName


class IssuedWork(msgspec.Struct, frozen=True):
    """Work that was issued to a stage and that nothing has closed yet."""

    stage: StageName
    item: str
    attempt: int
    retry_at: datetime | None = None  # set while it waits for its retry
    silent: int = 0  # issued again for silence so often
    restarted: int = 0  # issued again because a process ended so often
    issued_at: datetime | None = None
    receipt_due: bool = False  # issued with a receipt, which its answer must repeat
    skip_at: datetime | None = None  # when the run goes on without it, of an optional stage

    @property
    def failures(self) -> int:
        """Number of attempts that a stage made, the one in flight included."""
        return self.attempt - self.silent - self.restarted


class Lookup(msgspec.Struct, frozen=True):
    """State of one live run for decisions: its findings, and the work that is open."""

    id: str
    query: Query
    deadline_at: datetime
    contacts: int = CONTACTS  # shown at most
    brand: BrandFacts | None = None
    conclusive: bool = True  # every people source answered
    people: tuple[Person, ...] = ()
    ranked: tuple[RankedPerson, ...] | None = None
    checked: tuple[CheckedPerson, ...] = ()
    answered: bool = False  # some verifier got some reply
    unanswered: bool = False  # some verifier was asked and got none
    timed_out: bool = False  # some work was outstanding when its time was up
    open: tuple[IssuedWork, ...] = ()
    mail_domains: tuple[str, ...] = ()  # whose mailboxes were asked about, in order
    extras: dict[str, dict[str, str]] = {}  # by person, what extra stages found, by name

    def find(self, stage: StageName, item: str) -> IssuedWork | None:
        """Return the open work on *item* of *stage*, if it is open."""
        return next((o for o in self.open if (o.stage, o.item) == (stage, item)), None)

    @property
    def verified(self) -> frozenset[str]:
        """Return who has a verified mailbox, at whichever mail domain."""
        return frozenset(
            checked.person
            for checked in self.checked
            if checked.verdict is Verdict.DELIVERABLE and checked.address is not None
        )

    @property
    def next_due(self) -> datetime:
        """Time at which the next timer is due."""
        times = (at for work in self.open for at in (work.retry_at, work.skip_at) if at)
        return min([self.deadline_at, *times])

    def is_from_future(self, at: datetime) -> bool:
        """Return whether its times are from a clock that was wrong, so that none is due."""
        issued = (work.issued_at for work in self.open if work.issued_at is not None)
        return max(issued, default=at) > at + STANDS_STILL


def first_state(event: LookupStarted) -> Lookup:
    """Return the state of a run that has only started."""
    return Lookup(event.lookup, event.query, event.deadline_at, event.contacts)


def evolve(state: Lookup, event: BrandEvent) -> Lookup:  # noqa: C901 - a match
    """Return *state* after *event* of the same run.  Never raises."""
    closed = closed_work(event)
    if closed is not None:
        state = _without_open(state, closed.stage, closed.item)
    match event:
        case StageIssued(stage=stage, item=item, attempt=attempt):
            last = state.find(stage, item) or IssuedWork(stage, item, attempt)
            if stage == "verification" and item not in state.mail_domains:
                state = replace(state, mail_domains=(*state.mail_domains, item))
            silent = last.silent + event.after_silence
            restarted = last.restarted + event.after_restart
            due = event.receipt_due
            at = event.by_clock
            skip_at = last.skip_at or (event.deadline_at if is_optional(stage) else None)
            work = IssuedWork(stage, item, attempt, None, silent, restarted, at, due, skip_at)
            return _with_open(state, work)
        case AttemptFailed(stage=stage, item=item, retry_at=retry_at):
            before = state.find(stage, item)
            if before is None:
                return state
            if retry_at is None and event.why == "timeout" and not is_optional(stage):
                state = replace(state, timed_out=True)
            if retry_at is None and stage == "verification":
                return replace(state, unanswered=True)  # its mail domain is closed next
            if retry_at is None:
                return _without_open(state, stage, item)
            return _with_open(state, replace(before, retry_at=retry_at))
        case BrandResolved(brand=brand):
            return replace(state, brand=brand)
        case PeopleFound(people=people):
            return replace(state, people=state.people + people)
        case ContactsDiscovered(people=people, conclusive=conclusive):
            return replace(state, people=state.people + people, conclusive=conclusive)
        case ContactsRanked(ranked=ranked):
            return replace(state, ranked=ranked)
        case MailboxVerified(checked=checked) | MailboxNotVerified(checked=checked):
            answers = {each.answered for each in checked.evidence}
            summary = replace(checked, evidence=())
            if isinstance(event, MailboxNotVerified) and summary.address is not None:
                # Said to be deliverable, and not proved: nothing is known of it.
                summary = replace(summary, verdict=Verdict.UNKNOWN, address=None, verifier=None)
            return replace(
                state,
                checked=(*state.checked, summary),
                answered=state.answered or True in answers,
                unanswered=state.unanswered or False in answers,
            )
        case StageDone(people=people):
            new = {
                each.person: {**state.extras.get(each.person, {}), **each.facts}
                for each in people
                if each.facts
            }
            return replace(state, extras=state.extras | new)
        case ContactsErased(people=people_erased):
            return _without_people(state, frozenset(people_erased))
        case ContactBounced(bounced=bounced):
            return _without_mailbox(state, bounced.person)
        case LookupStarted() | MailDomainChecked() | LookupFinished() | BrandForgotten():
            return state
        case _:
            assert_never(event)


def _without_people(state: Lookup, erased: frozenset[str]) -> Lookup:
    """Return *state* without anybody in *erased*; their numbers are not used again."""
    people = (
        Person(person=p.person, full_name="") if p.person in erased else p for p in state.people
    )
    ranked = state.ranked
    if ranked is not None:
        ranked = tuple(each for each in ranked if each.person not in erased)
    checked = tuple(each for each in state.checked if each.person not in erased)
    extras = {name: each for name, each in state.extras.items() if name not in erased}
    return replace(state, people=tuple(people), ranked=ranked, checked=checked, extras=extras)


def _without_mailbox(state: Lookup, person: str) -> Lookup:
    """Return *state* with the verified mailbox of *person* no longer one."""
    checked = (
        replace(each, verdict=Verdict.UNDELIVERABLE, address=None, verifier=None)
        if each.person == person and each.address is not None
        else each
        for each in state.checked
    )
    return replace(state, checked=tuple(checked))


def _with_open(state: Lookup, work: IssuedWork) -> Lookup:
    return replace(state, open=(*_without_open(state, work.stage, work.item).open, work))


def _without_open(state: Lookup, stage: StageName, item: str = "") -> Lookup:
    rest = tuple(o for o in state.open if (o.stage, o.item) != (stage, item))
    return replace(state, open=rest)
