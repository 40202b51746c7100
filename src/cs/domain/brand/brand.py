"""One brand: its lookups, one alive at a time, and what they found.

Stream category ``brand``; one stream per cache key (`cs.domain.names.brand_names.cache_key`).
A lookup is one live run; its id is the stream's name, a number and a nonce, so that
the id leads to the stream, and an answer to a run that a restored log has
lost is never mistaken for the next one's.  Several searches may wait for one lookup; who
they are is in the keys' streams.  Pure: callers pass ``at``.

Events and commands are in `cs.domain.brand.events`; one live run is in `cs.domain.lookup`.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import assert_never

import msgspec
from msgspec.structs import replace

from cs.domain.brand.events import (
    BrandCommand,
    BrandEvent,
    BrandForgotten,
    ContactBounced,
    ContactsErased,
    EraseContacts,
    ForgetBrand,
    LookupFinished,
    LookupStarted,
    PassDeadline,
    RecordBounce,
    RecordFinding,
    ReissueSilent,
    Restart,
    RetryDue,
    StartLookup,
)
from cs.domain.contact import Query
from cs.domain.key import SearchOutcome
from cs.domain.lookup import rules
from cs.domain.lookup import state as run
from cs.domain.lookup.contacts import verifying_reason, without_email
from cs.domain.lookup.state import Lookup
from cs.domain.mail_domain import is_refuted
from cs.domain.messages import STANDS_STILL, converted, in_order, present
from cs.domain.names.brand_names import cache_key

#: Contract text 8: results are reused this long from the finish (contract C7, C8).
REUSED_FOR = timedelta(days=30)


class Finish(msgspec.Struct, frozen=True):
    """A finished lookup, as far as answers need it."""

    lookup: str
    outcome: SearchOutcome
    at: datetime
    verified: int
    domain: str | None = None  # the domain it matched


class Brand(msgspec.Struct, frozen=True):
    """State of a brand for decisions: the live run, and how the last ones ended."""

    lookups: int = 0
    live: Lookup | None = None
    reusable: Finish | None = None  # the newest one
    ended: tuple[Finish, ...] = ()  # the last few, reusable or not, for late joins
    erased: frozenset[str] = frozenset()  # "<lookup>#<person>", "<lookup>#" if aged out
    last_at: datetime = datetime.min.replace(tzinfo=UTC)

    def answer(self, at: datetime) -> Finish | None:
        """Return the finish that answers a search at *at*, if there is one."""
        last = self.reusable
        # One from the future ended at an unknown time, by a clock that was wrong.
        return last if last and -STANDS_STILL <= at - last.at < REUSED_FOR else None

    def finish_of(self, lookup: str) -> Finish | None:
        """Return how *lookup* ended, if it did lately."""
        return next((finish for finish in self.ended if finish.lookup == lookup), None)


#: How many finishes are remembered for joins stored just after the finish.
ENDED = 4

INITIAL = Brand()


def brand_stream(query: Query) -> str:
    """Return the stream of the brand that *query* asks for, a hash of its cache key.

    >>> brand_stream(Query("NIKE")) == brand_stream(Query("nike"))
    True
    """
    key = cache_key(query.brand, query.domain)
    return f"brand-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def lookup_id(stream: str, number: int, nonce: str = "") -> str:
    """Return the id of run *number* on *stream*; those of old logs have no nonce.

    >>> lookup_id("brand-0a1b", 3, "k7f2m9qd"), lookup_id("brand-0a1b", 3)
    ('brand-0a1b.3-k7f2m9qd', 'brand-0a1b.3')
    """
    return f"{stream}.{number}-{nonce}" if nonce else f"{stream}.{number}"


def stream_of(lookup: str) -> str:
    """Return the brand stream that *lookup* belongs to.

    >>> stream_of("brand-0a1b.3-k7f2m9qd"), stream_of("brand-0a1b.3")
    ('brand-0a1b', 'brand-0a1b')
    """
    return lookup.rpartition(".")[0]


def decide(command: BrandCommand, state: Brand) -> tuple[BrandEvent, ...]:
    """Return the events *command* causes; ``()`` if there is nothing new to say.

    Never refuses: a stage's late or repeated answer is quiet.
    """
    events = _decided(command, state, present(command.at, state.last_at))
    return in_order(events, state.last_at)


def _decided(command: BrandCommand, state: Brand, at: datetime) -> tuple[BrandEvent, ...]:  # noqa: C901 - a match
    match command:
        case StartLookup(stream=stream, nonce=nonce, deadline=deadline):
            if state.live is not None:
                return ()
            number = state.lookups + 1
            lookup = lookup_id(stream, number, nonce)
            started = converted(
                command,
                LookupStarted,
                lookup=lookup,
                number=number,
                deadline_at=at + deadline,
                at=at,
            )
            return rules.begin(started)
        case ForgetBrand():
            return (converted(command, BrandForgotten, at=at),) if state.reusable else ()
        case EraseContacts():
            return _erased(command, state, at)
        case RecordBounce():
            return _bounced(command, state, at)
        case _ if state.live is None or state.live.id != command.lookup:
            return ()  # late work for a finished lookup
        case RecordFinding():
            return rules.record(command, state.live, at)
        case RetryDue(known=known):
            return rules.retry_due(state.live, at, known)
        case ReissueSilent():
            return rules.reissue_silent(command, state.live, at)
        case Restart(known=known):
            return rules.restart(state.live, at, known)
        case PassDeadline():
            return rules.pass_deadline(state.live, at)
        case _:
            assert_never(command)


def evolve(state: Brand, event: BrandEvent) -> Brand:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    state = replace(state, last_at=event.at)
    match event:
        case LookupStarted(number=number):
            return replace(state, lookups=number, live=run.first_state(event))
        case LookupFinished(lookup=lookup, outcome=outcome, verified=verified, brand=brand):
            finish = Finish(
                lookup, outcome, event.by_clock, verified, brand.domain if brand else None
            )
            return replace(
                state,
                live=None,
                reusable=finish if event.reusable else state.reusable,
                ended=(*state.ended, finish)[-ENDED:],
            )
        case ContactsErased() | ContactBounced():
            return _corrected(state, event)
        case BrandForgotten():
            return replace(state, reusable=None)
        case _ if state.live is None:
            return state
        case _:
            return replace(state, live=run.evolve(state.live, event))


def _erased(command: EraseContacts, state: Brand, at: datetime) -> tuple[ContactsErased, ...]:
    lookup = command.lookup
    new = tuple(p for p in command.people if f"{lookup}#{p}" not in state.erased)
    ages_out_now = command.aged_out and f"{lookup}#" not in state.erased
    if not new and not ages_out_now:
        return ()
    gone = state.erased | {f"{lookup}#{person}" for person in new}
    left = tuple(
        contact
        for contact in command.contacts
        if f"{lookup}#{contact.person}" not in gone and contact.full_name is not None
    )
    verified = sum(contact.email is not None for contact in left)
    erased = converted(
        command, ContactsErased, people=new, verified=verified, contacts=left, at=at
    )
    return (erased,)


def _bounced(command: RecordBounce, state: Brand, at: datetime) -> tuple[ContactBounced, ...]:
    """Return the event of a bounce of what *command*'s lookup shows, or is to show."""
    lookup, who = command.lookup, command.bounced.person
    if f"{lookup}#{who}" in state.erased:
        return ()
    address = command.checked.address
    live = state.live if state.live is not None and state.live.id == lookup else None
    shown = {(contact.person, contact.email) for contact in command.contacts}
    if live is not None:
        shown = {(checked.person, checked.address) for checked in live.checked}
    if address is None or command.checked.verifier is None or (who, address) not in shown:
        return ()  # it was taken out before
    if not is_refuted(command.verified_at, command.bounced_at):
        return ()
    contacts = () if live is not None else tuple(without_email(command.contacts, who))
    return (
        converted(
            command,
            ContactBounced,
            verifier=command.checked.verifier,
            reason=verifying_reason(command.checked),
            rules=command.checked.rules,
            verified=sum(contact.email is not None for contact in contacts),
            contacts=contacts,
            at=at,
        ),
    )


def _corrected(state: Brand, event: ContactsErased | ContactBounced) -> Brand:
    """Return *state* after people were erased or a mailbox bounced.

    An answer without a verified e-mail is no answer any more (contract C11).
    """
    live, reusable, erased = state.live, state.reusable, state.erased
    if isinstance(event, ContactsErased):
        people = (*event.people, "") if event.aged_out else event.people
        erased |= {f"{event.lookup}#{person}" for person in people}
    if live is not None and live.id == event.lookup:
        live = run.evolve(live, event)
    if reusable is not None and reusable.lookup == event.lookup and reusable.verified:
        reusable = replace(reusable, verified=event.verified) if event.verified else None
    return replace(state, live=live, reusable=reusable, erased=erased)
