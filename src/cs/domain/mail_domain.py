"""One mail domain: what is known of its servers, and what mail came back from it.

Stream category ``mail-domain``; one stream per domain, ``mail-domain-<domain>``.  What is
known of the servers is for politeness and fewer probes.  A mailbox stands there as a keyed
hash (`cs.eventlog.fingerprints.email_print`): the stream says nothing of who has one.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import assert_never

import msgspec
from msgspec.structs import replace

from cs.domain.mail.bounce import BounceKind
from cs.domain.mail.mailbox import DomainFacts, Evidence
from cs.domain.messages import STANDS_STILL, Command, Event, converted, in_order, present

#: How long a fact is believed.  A mail server's set-up changes rarely; a week bounds
#: the harm of a wrong one.
BELIEVED_FOR = timedelta(days=7)
#: How long a permanent bounce stands against whatever a verifier says of the mailbox.  As
#: long as a result is reused: by then a new check is one of a later state of things.
REFUTED_FOR = timedelta(days=30)
#: Mailboxes of one domain that stand refuted at a time; the oldest go first.
REFUTED = 10_000


class DomainLearned(Event, frozen=True, kw_only=True):
    facts: DomainFacts
    expires_at: datetime


class BounceReported(Event, frozen=True, kw_only=True):
    """The operator reported a bounce from a mailbox that a search had returned.

    Attributes:
        mailbox: A keyed hash of its address.
        bounced_at: When it came back, as reported.
        status: Enhanced code, if one was reported.
        kind: What follows from it; ``why``: the reason (`cs.domain.mail.bounce`).
        pattern: That its address follows, if it follows one.
    """

    mailbox: str
    bounced_at: datetime
    status: str | None = None
    kind: BounceKind
    why: str
    pattern: str | None = None


MailDomainEvent = DomainLearned | BounceReported

#: Topics of stored events: never renamed or reused.
EVENT_TOPICS: Mapping[str, type[MailDomainEvent]] = {
    "mail-domain.learned.v1": DomainLearned,
    "mail-domain.bounce-reported.v1": BounceReported,
}


class LearnDomain(Command, frozen=True, kw_only=True):
    facts: DomainFacts


class ReportBounce(Command, frozen=True, kw_only=True):
    """Report a bounce; ``bounced_at`` is ``None`` if the time is not known."""

    mailbox: str
    bounced_at: datetime | None
    status: str | None
    kind: BounceKind
    why: str
    pattern: str | None = None


def report_bounce(
    command: ReportBounce, before: Sequence["MailDomainEvent"]
) -> tuple[BounceReported, ...]:
    """Return the event of a bounce; ``()`` if it is in *before*, all events of its stream.

    A bounce is the same if mailbox, time and status are.  Without a time it is the same as any
    of that mailbox and status that is not longer ago than `REFUTED_FOR`.
    """
    last_at = before[-1].at if before else INITIAL.last_at
    at = present(command.at, last_at)
    times = {
        event.bounced_at
        for event in before
        if isinstance(event, BounceReported)
        and (event.mailbox, event.status) == (command.mailbox, command.status)
    }
    if command.bounced_at is None:
        is_known = any(at < when + REFUTED_FOR for when in times)
    else:
        is_known = command.bounced_at in times
    if is_known:
        return ()
    bounced_at = command.bounced_at or at
    reported = converted(command, BounceReported, bounced_at=bounced_at, at=at)
    return in_order([reported], last_at)


class MailDomain(msgspec.Struct, frozen=True):
    """Facts learned last, with their expiry, and mailboxes that bounced.

    Attributes:
        bounced: By keyed hash of the mailbox, when it last bounced for good.
    """

    facts: DomainFacts = DomainFacts()
    expires_at: datetime = datetime.min.replace(tzinfo=UTC)
    last_at: datetime = datetime.min.replace(tzinfo=UTC)
    bounced: dict[str, datetime] = msgspec.field(default_factory=dict)

    def known(self, at: datetime) -> DomainFacts:
        """Return the facts still believed at *at*."""
        longest = at + BELIEVED_FOR + STANDS_STILL  # beyond it the clock was wrong
        return self.facts if at < self.expires_at <= longest else DomainFacts()

    def refutes(self, mailbox: str, at: datetime) -> bool:
        """Return whether what a verifier finds out at *at* is refuted by a bounce."""
        bounced_at = self.bounced.get(mailbox)
        return bounced_at is not None and is_refuted(at, bounced_at)


def is_refuted(verified_at: datetime, bounced_at: datetime) -> bool:
    """Return whether a permanent bounce at *bounced_at* outweighs a check at *verified_at*.

    It outweighs every check before it, and those of `REFUTED_FOR` after it.
    """
    return verified_at < bounced_at + REFUTED_FOR


class KnownDomain(msgspec.Struct, frozen=True):
    """Knowledge of a mail domain before a lookup goes on to it.

    Attributes:
        settled: By person, what is known of addresses that they may have there.
    """

    facts: DomainFacts = DomainFacts()
    settled: Mapping[str, tuple[Evidence, ...]] = {}


INITIAL = MailDomain()


def decide(command: LearnDomain, state: MailDomain) -> tuple[DomainLearned, ...]:
    """Return the events *command* causes; ``()`` if it says nothing new."""
    at = present(command.at, state.last_at)
    known = state.known(at)
    facts = msgspec.structs.asdict(command.facts)
    merged = replace(known, **{name: fact for name, fact in facts.items() if fact is not None})
    if merged == known:
        return ()
    learned_now = DomainLearned(facts=merged, expires_at=at + BELIEVED_FOR, at=at)
    return in_order([learned_now], state.last_at)


def evolve(state: MailDomain, event: MailDomainEvent) -> MailDomain:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    state = replace(state, last_at=event.at)
    match event:
        case DomainLearned(facts=facts, expires_at=expires_at):
            return replace(state, facts=facts, expires_at=expires_at)
        case BounceReported(kind=BounceKind.PERMANENT):
            return _after_bounce(state, event)
        case BounceReported():
            return state
        case _:
            assert_never(event)


def _after_bounce(state: MailDomain, event: BounceReported) -> MailDomain:
    """Return *state* without the mailbox, and without the pattern that had led to it."""
    before = state.bounced.get(event.mailbox, event.bounced_at)
    left = (
        (mailbox, at)
        for mailbox, at in state.bounced.items()
        if mailbox != event.mailbox and event.at < at + REFUTED_FOR
    )
    newest = sorted(left, key=lambda item: item[1])[-(REFUTED - 1) :]
    facts = state.facts
    if event.pattern is not None and facts.pattern == event.pattern:
        facts = replace(facts, pattern=None)
    bounced = {**dict(newest), event.mailbox: max(before, event.bounced_at)}
    return replace(state, facts=facts, bounced=bounced)
