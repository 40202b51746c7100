"""One mail domain: what is known of its servers, for politeness and fewer probes.

Stream category ``mail-domain``; one stream per domain, ``mail-domain-<domain>``.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import assert_never

import msgspec
from msgspec.structs import replace

from cs.domain.mail.mailbox import DomainFacts
from cs.domain.messages import Command, Event

#: How long a fact is believed.  A mail server's set-up changes rarely; a week bounds
#: the harm of a wrong one.
BELIEVED_FOR = timedelta(days=7)


class DomainLearned(Event, frozen=True, kw_only=True):
    facts: DomainFacts
    expires_at: datetime


MailDomainEvent = DomainLearned

#: What they are stored as: never renamed or reused.
EVENT_TOPICS: Mapping[str, type[MailDomainEvent]] = {
    "mail-domain.learned.v1": DomainLearned,
}


class LearnDomain(Command, frozen=True, kw_only=True):
    facts: DomainFacts


MailDomainCommand = LearnDomain


class MailDomain(msgspec.Struct, frozen=True):
    """What was learned last, and until when it is believed."""

    facts: DomainFacts = DomainFacts()
    expires_at: datetime = datetime.min.replace(tzinfo=UTC)
    last_at: datetime = datetime.min.replace(tzinfo=UTC)

    def known(self, at: datetime) -> DomainFacts:
        """Return the facts still believed at *at*."""
        return self.facts if at < self.expires_at else DomainFacts()


INITIAL = MailDomain()


def decide(command: MailDomainCommand, state: MailDomain) -> tuple[MailDomainEvent, ...]:
    """Return the events *command* causes; ``()`` if it says nothing new."""
    at = max(command.at, state.last_at)
    known = state.known(at)
    learned = {
        name: fact
        for name, fact in msgspec.structs.asdict(command.facts).items()
        if fact is not None
    }
    merged = replace(known, **learned)
    if merged == known:
        return ()
    return (DomainLearned(facts=merged, expires_at=at + BELIEVED_FOR, at=at),)


def evolve(state: MailDomain, event: MailDomainEvent) -> MailDomain:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    state = replace(state, last_at=event.at)
    match event:
        case DomainLearned(facts=facts, expires_at=expires_at):
            return replace(state, facts=facts, expires_at=expires_at)
        case _:
            assert_never(event)


def fold(events: Iterable[MailDomainEvent], state: MailDomain = INITIAL) -> MailDomain:
    """Rebuild what is known of a mail domain from its stream."""
    return reduce(evolve, events, state)
