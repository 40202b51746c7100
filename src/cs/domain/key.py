"""One API key: its quota, its windows, its searches in flight.

Stream category ``key``; one stream per key, ``key-<id>``.  Pure: callers pass ``at``.
Whether a search may be made needs the brand and the service as well, and is decided in
`cs.domain.admission`; the events of it that are this key's are here.

The shape of every category, in one module so that it can be read top to bottom: events,
commands, state, ``decide``, ``evolve``.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal, assert_never

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from cs.domain.contact import Query
from cs.domain.messages import STANDS_STILL, Command, Event, converted, in_order, present
from cs.domain.rate_limits import DAY, MINUTE, PER_DAY, PER_MINUTE, RateWindow, window
from cs.domain.refusal import Refusal

#: Contract text 8: new-brand searches of one key at once.
IN_FLIGHT = 2
#: Contract L14: how many idempotency keys are remembered, and for how long.
REMEMBERED = 60
REMEMBERED_FOR = timedelta(days=1)

#: Label of the operator's own key whose searches try the service: no report counts them.
CANARY = "canary"
#: How long the secret before a rotation may go on working at most.
OVERLAP_MOST = timedelta(days=7)

SearchOutcome = Literal[
    "done", "no_linkedin", "no_contacts", "no_emails", "scrape_error", "timeout", "error"
]


class Idempotency(msgspec.Struct, frozen=True):
    """An ``Idempotency-Key`` and the body it came with, as SHA-256 in hex."""

    key: str
    body: str


# Events.
class KeyIssued(Event, frozen=True, kw_only=True):
    label: str
    quota: int
    secret_hash: str  # SHA-256 of all of the key, hex
    last4: str  # for people
    by: str | None = None  # account or label of the operator


class KeyRotated(Event, frozen=True, kw_only=True):
    """A new secret; the old one stops working, at once or later.  Quota and history stay."""

    secret_hash: str
    last4: str
    by: str | None = None
    old_until: datetime | None = None  # the secret before it works until then


class KeyRevoked(Event, frozen=True, kw_only=True):
    by: str | None = None


class QuotaGranted(Event, frozen=True, kw_only=True):
    units: int  # negative takes away
    by: str | None = None


class KeyLimited(Event, frozen=True, kw_only=True):
    """The key may make so many searches a minute, and in 24 hours."""

    per_minute: int
    per_day: int
    by: str | None = None


class SearchAdmitted(Event, frozen=True, kw_only=True):
    """A search counts from here: in both windows, and one unit is reserved while it runs."""

    search: str
    brand: str  # as shown to the caller
    query: Query
    lookup: str
    idempotency: Idempotency | None = None
    request: str | None = None  # request id


class SearchRepeated(Event, frozen=True, kw_only=True):
    """An identical running search was asked for again: counts in the windows only."""

    search: str
    idempotency: Idempotency | None = None
    request: str | None = None


class SearchSettled(Event, frozen=True, kw_only=True):
    """Outcome and charge of a search, in one fact."""

    search: str
    lookup: str
    outcome: SearchOutcome
    charged: bool
    cached: bool


KeyEvent = (
    KeyIssued
    | KeyRotated
    | KeyRevoked
    | QuotaGranted
    | KeyLimited
    | SearchAdmitted
    | SearchRepeated
    | SearchSettled
)

#: Topics of stored events: never renamed or reused.
EVENT_TOPICS: Mapping[str, type[KeyEvent]] = {
    "key.issued.v1": KeyIssued,
    "key.rotated.v1": KeyRotated,
    "key.revoked.v1": KeyRevoked,
    "key.quota-granted.v1": QuotaGranted,
    "key.limited.v1": KeyLimited,
    "key.search-admitted.v1": SearchAdmitted,
    "key.search-repeated.v1": SearchRepeated,
    "key.search-settled.v1": SearchSettled,
}


# Commands.
class IssueKey(Command, frozen=True, kw_only=True):
    label: str
    quota: int
    secret_hash: str
    last4: str
    by: str | None = None
    per_minute: int = PER_MINUTE
    per_day: int = PER_DAY


class RotateKey(Command, frozen=True, kw_only=True):
    """Give the key a new secret; the one that it has goes on working for *overlap*."""

    secret_hash: str
    last4: str
    by: str | None = None
    overlap: timedelta = timedelta()


class RevokeKey(Command, frozen=True, kw_only=True):
    by: str | None = None


class GrantQuota(Command, frozen=True, kw_only=True):
    units: int
    by: str | None = None


class LimitKey(Command, frozen=True, kw_only=True):
    """Let the key make fewer searches than others, or as many again; ``None``: as before."""

    per_minute: int | None = None
    per_day: int | None = None
    by: str | None = None


class SettleSearch(Command, frozen=True, kw_only=True):
    """Settle *search* with how its lookup ended; ``verified`` counts verified e-mails."""

    search: str
    lookup: str
    outcome: SearchOutcome
    verified: int


KeyCommand = IssueKey | RotateKey | RevokeKey | GrantQuota | LimitKey | SettleSearch


# State.
class RunningSearch(msgspec.Struct, frozen=True):
    """An admitted search that is not settled; it reserves one unit of quota."""

    search: str
    lookup: str
    brand: str
    query: Query


class IdempotentSearch(msgspec.Struct, frozen=True):
    """The search that an ``Idempotency-Key`` was first used for (contract L14)."""

    idempotency: Idempotency
    search: str
    at: datetime


class Key(msgspec.Struct, frozen=True):
    """State of a key for decisions; its size does not grow with the key's history."""

    secret_hash: str | None = None
    old_secret_hash: str | None = None  # of the secret before it, if a rotation left it time
    old_until: datetime | None = None  # that one opens the key until then
    last4: str = ""
    label: str = ""
    quota: int = 0
    used: int = 0
    revoked: bool = False
    per_minute: int = PER_MINUTE
    per_day: int = PER_DAY
    admitted_at: tuple[datetime, ...] = ()  # the newest PER_DAY, as they were stored
    running: tuple[RunningSearch, ...] = ()  # each reserves one unit
    remembered: tuple[IdempotentSearch, ...] = ()  # the newest REMEMBERED, oldest first
    last_at: datetime = datetime.min.replace(tzinfo=UTC)

    @property
    def reserved(self) -> int:
        return len(self.running)

    def opened_by(self, secret_hash: str, at: datetime) -> bool:
        """Return whether the secret of *secret_hash* may call with this key at *at*."""
        if secret_hash == self.old_secret_hash:
            return not self.revoked and self.old_until is not None and at < self.old_until
        return secret_hash == self.secret_hash and not self.revoked


INITIAL = Key()


def minute_window(state: Key, at: datetime) -> RateWindow:
    """Return what is left at *at* of the searches a minute, 6 at most (contract L1)."""
    return window(state.admitted_at, at, limit=state.per_minute, span=MINUTE)


def day_window(state: Key, at: datetime) -> RateWindow:
    """Return what is left at *at* of the searches in 24 hours, 60 at most (contract L1)."""
    return window(state.admitted_at, at, limit=state.per_day, span=DAY)


# Rules.
def decide(command: KeyCommand, state: Key) -> tuple[KeyEvent, ...]:
    """Return the events *command* causes; ``()`` if there is nothing new to say.

    Raises:
        Refusal: ``key-exists``, ``key-missing``, ``key-revoked``, ``quota-invalid``,
            ``limit-invalid`` or ``overlap-invalid``.
    """
    events = _decided(command, state, present(command.at, state.last_at))
    return in_order(events, state.last_at)


def _decided(command: KeyCommand, state: Key, at: datetime) -> tuple[KeyEvent, ...]:  # noqa: C901 - a match
    match command:
        case IssueKey(quota=quota, secret_hash=secret_hash):
            if state.secret_hash == secret_hash:
                return ()
            if state.secret_hash is not None:
                raise Refusal("key-exists", "a key with this id was already issued")
            if quota < 0:
                raise Refusal("quota-invalid", f"a quota is 0 or more, not {quota}")
            return (converted(command, KeyIssued, at=at), *_limited(command, state, at))
        case _ if state.secret_hash is None:
            raise Refusal("key-missing", "no key with this id; `cs keys list` shows them all")
        case RotateKey(secret_hash=secret_hash, overlap=overlap):
            if not timedelta() <= overlap <= OVERLAP_MOST:
                raise Refusal(
                    "overlap-invalid",
                    f"the old secret may go on working for up to {OVERLAP_MOST.days} days",
                )
            if state.revoked:
                raise Refusal(
                    "key-revoked", "the key is revoked for good; create a new one instead"
                )
            if state.secret_hash == secret_hash:
                return ()
            old_until = at + overlap if overlap else None
            return (converted(command, KeyRotated, at=at, old_until=old_until),)
        case RevokeKey():
            return () if state.revoked else (converted(command, KeyRevoked, at=at),)
        case GrantQuota(units=units):
            least = state.used + state.reserved
            if state.quota + units < least:
                raise Refusal(
                    "quota-invalid",
                    f"the quota cannot go below the {least} units that are used or reserved; "
                    f"it is {state.quota}",
                )
            return (converted(command, QuotaGranted, at=at),) if units else ()
        case LimitKey():
            return _limited(command, state, at)
        case SettleSearch(search=search, lookup=lookup, outcome=outcome, verified=verified):
            if all(running.search != search for running in state.running):
                return ()  # settled before
            return (settled(search, lookup, outcome, verified, cached=False, at=at),)
        case _:
            assert_never(command)


def _limited(command: IssueKey | LimitKey, state: Key, at: datetime) -> tuple[KeyEvent, ...]:
    """Return the event of limits that are others than those of *state*.

    Raises:
        Refusal: ``limit-invalid``: they are beyond those of every key (contract L1).
    """
    before = state.per_minute, state.per_day
    per_minute = before[0] if command.per_minute is None else command.per_minute
    per_day = before[1] if command.per_day is None else command.per_day
    if not (1 <= per_minute <= PER_MINUTE and 1 <= per_day <= PER_DAY):
        raise Refusal(
            "limit-invalid",
            f"a key may make 1 to {PER_MINUTE} searches a minute and 1 to {PER_DAY} a day",
        )
    if (per_minute, per_day) == before:
        return ()
    return (converted(command, KeyLimited, per_minute=per_minute, per_day=per_day, at=at),)


def settled(
    search: str,
    lookup: str,
    outcome: SearchOutcome,
    verified: int,
    *,
    cached: bool,
    at: datetime,
) -> SearchSettled:
    """Return the settlement: charged exactly when the outcome is ``done`` (contract L12)."""
    if (outcome == "done") != (verified > 0):
        raise ValueError(f"{outcome!r} with {verified} verified e-mails")
    return SearchSettled(
        search=search,
        lookup=lookup,
        outcome=outcome,
        charged=verified > 0,
        cached=cached,
        at=at,
    )


def evolve(state: Key, event: KeyEvent) -> Key:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    state = replace(state, last_at=event.at)
    match event:
        case KeyIssued(label=label, quota=quota, secret_hash=secret_hash, last4=last4):
            return replace(
                state, label=label, quota=quota, secret_hash=secret_hash, last4=last4
            )
        case KeyRotated(secret_hash=secret_hash, last4=last4, old_until=old_until):
            old = None if old_until is None else state.secret_hash
            return replace(
                state,
                secret_hash=secret_hash,
                old_secret_hash=old,
                old_until=old_until,
                last4=last4,
            )
        case KeyRevoked():
            return replace(state, revoked=True)
        case QuotaGranted(units=units):
            return replace(state, quota=state.quota + units)
        case KeyLimited(per_minute=per_minute, per_day=per_day):
            return replace(state, per_minute=per_minute, per_day=per_day)
        case SearchAdmitted(search=search, lookup=lookup, brand=brand, query=query):
            state = _counted(state, event)
            return replace(
                state, running=(*state.running, RunningSearch(search, lookup, brand, query))
            )
        case SearchRepeated():
            return _counted(state, event)
        case SearchSettled(search=search, charged=charged):
            return replace(
                state,
                running=tuple(r for r in state.running if r.search != search),
                used=state.used + charged,
            )
        case _:
            assert_never(event)


def _counted(state: Key, event: SearchAdmitted | SearchRepeated) -> Key:
    at, remembered, admitted_at = event.by_clock, state.remembered, state.admitted_at
    if event.clock is not UNSET:  # what is later was stored by a clock that was wrong
        remembered = tuple(replace(each, at=min(each.at, at)) for each in remembered)
        admitted_at = tuple(each for each in admitted_at if each <= at + STANDS_STILL)
    if event.idempotency is not None:
        newest = IdempotentSearch(event.idempotency, event.search, at)
        remembered = (*remembered, newest)[-REMEMBERED:]
    return replace(state, admitted_at=(*admitted_at, at)[-PER_DAY:], remembered=remembered)
