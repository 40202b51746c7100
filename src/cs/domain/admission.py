"""May this search be made?  The one decision that needs a key, a brand and the service.

Rows O1 to O11 of the contract (docs/contract.md) give the order of checks: the most lasting
obstacle refuses first, so that no caller waits out a ``Retry-After`` only to meet a harder
refusal.  Rows O1 to O3 (key, path, body) are the API's; `admit` is O3b to O11.  Pure.
"""

from datetime import datetime, timedelta
from typing import Literal

import msgspec
from msgspec.structs import replace

from cs.domain.brand import brand as brands
from cs.domain.brand.brand import Brand, Finish
from cs.domain.brand.events import DEADLINE, BrandEvent, LookupStarted, StartLookup
from cs.domain.contact import CONTACTS, Query
from cs.domain.key import (
    IN_FLIGHT,
    REMEMBERED_FOR,
    Idempotency,
    Key,
    KeyEvent,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
    day_window,
    minute_window,
    settled,
)
from cs.domain.messages import converted, in_order, present
from cs.domain.refusal import Refusal

#: Contract S15 and L8: advice for polling and for a place in flight.
RETRY_AFTER = timedelta(seconds=5)
#: Contract O4.
PAUSE_RETRY_AFTER = timedelta(seconds=300)
#: A lookup lasts about a minute, so that some of many end within half of one.
LOOKUPS_RETRY_AFTER = timedelta(seconds=30)
_LAST_UNIT = "the last unit of quota is held by a running search; try again when it has ended"


class AskSearch(msgspec.Struct, frozen=True, kw_only=True):
    """A caller wants the contacts of a brand.

    Attributes:
        search: The id the search gets if it is a new one.
        brand: What the record shows as ``brand`` (contract S10).
        stream: The brand stream of the query's cache key.
        secret_hash: Of the secret that was sent; one that the key had before opens nothing,
            unless a rotation left it time.
        nonce: Random; a part of the id of the lookup, if one is started.
    """

    at: datetime
    search: str
    brand: str
    query: Query
    stream: str
    secret_hash: str
    nonce: str
    idempotency: Idempotency | None = None
    request: str | None = None
    deadline: timedelta = DEADLINE
    contacts: int = CONTACTS


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """State that the decision rests on.

    Attributes:
        brand: The brand of the asked (brand, domain) pair.
        by_name: The brand asked without its domain, if both were sent: what it found
            answers too if it matched that very domain (contract C1).
        ceiling_opens_at: When the service-wide ceiling lets a new lookup start; ``None``
            if it does now.
        unshown: Lookups whose contacts can no longer be shown, as their data keys
            are lost: they answer no search that would be charged.
        lookups_full: As many lookups run in the service as may run at once, or as can be done
            in time.
    """

    key: Key
    brand: Brand
    by_name: Brand | None = None
    paused: bool = False
    ceiling_opens_at: datetime | None = None
    lookups_full: bool = False
    unshown: frozenset[str] = frozenset()


Kind = Literal["replayed", "repeated", "cached", "joined", "started"]


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: which search, and what to append.

    ``replayed`` (contract O3b) appends nothing and counts as a status check.
    """

    kind: Kind
    search: str
    key_events: tuple[KeyEvent, ...] = ()
    brand_events: tuple[BrandEvent, ...] = ()

    @property
    def charged_for(self) -> str | None:
        """Return the earlier lookup whose contacts this is charged for; ``None``: of none."""
        match self.key_events:
            case (*_, SearchSettled(lookup=lookup, charged=True)):
                return lookup
            case _:
                return None


def admit(ask: AskSearch, situation: Situation) -> Admission:
    """Decide about *ask*, in the order of the contract's rows O3b to O11.

    Raises:
        Refusal: With an error code of contract text 7.  Nothing counts.
    """
    key = situation.key
    admission = _admitted_at(ask, situation, present(ask.at, key.last_at))
    return replace(admission, key_events=in_order(admission.key_events, key.last_at))


def _admitted_at(ask: AskSearch, situation: Situation, at: datetime) -> Admission:
    key, live = situation.key, situation.brand.live
    if not key.opened_by(ask.secret_hash, at):
        raise Refusal("unauthorized", "the API key is wrong or revoked")
    replayed = _replayed(ask, key, at)
    if replayed is not None:
        return Admission(kind="replayed", search=replayed)
    _check_not_paused(situation)
    _check_quota(key)
    _check_windows(key, at)
    for running in key.running:
        if (running.query, running.brand) == (ask.query, ask.brand):
            repeated = converted(ask, SearchRepeated, search=running.search, at=at)
            return Admission(kind="repeated", search=running.search, key_events=(repeated,))
    finish = _answer(ask, situation, at)
    if finish is not None:
        if finish.outcome == "done":
            _check_last_unit(key)
        ended = finish.lookup, finish.outcome, finish.verified
        settlement = settled(ask.search, *ended, cached=True, at=at)
        return _admission(ask, "cached", finish.lookup, at, settlement)
    if live is None:
        _check_capacity(situation, at)
    _check_in_flight(key)
    _check_last_unit(key)
    if live is not None:
        return _admission(ask, "joined", live.id, at)
    start = converted(ask, StartLookup, at=at)
    brand_events = brands.decide(start, situation.brand)
    started = brand_events[0]
    assert isinstance(started, LookupStarted)
    return _admission(ask, "started", started.lookup, at, brand_events=brand_events)


def _replayed(ask: AskSearch, key: Key, at: datetime) -> str | None:
    if ask.idempotency is None:
        return None
    for remembered in reversed(key.remembered):
        if remembered.idempotency.key != ask.idempotency.key:
            continue
        if at - remembered.at >= REMEMBERED_FOR:
            return None
        if remembered.idempotency.body != ask.idempotency.body:
            raise Refusal(
                "invalid_request",
                "this Idempotency-Key was used for another search in the last 24 hours; "
                "send a new one",
            )
        return remembered.search
    return None


def _check_not_paused(situation: Situation) -> None:
    if situation.paused:
        raise Refusal(
            "api_disabled",
            "the API is paused by its operator; try again later",
            retry_after=PAUSE_RETRY_AFTER,
        )


def _check_quota(key: Key) -> None:
    if key.used >= key.quota:
        raise Refusal(
            "quota_exhausted",
            f"all {key.quota} searches of this key are used; ask the operator for more quota",
        )


def _check_windows(key: Key, at: datetime) -> None:
    """Refuse a search beyond the limits of the key; ``retry_after`` is the longer wait."""
    windows = {"minute": minute_window(key, at), "24 hours": day_window(key, at)}
    full = {span: window for span, window in windows.items() if window.remaining == 0}
    if not full:
        return
    span, worst = max(full.items(), key=lambda each: each[1].reset)
    raise Refusal(
        "rate_limited",
        f"{worst.limit} searches per {span} are allowed for a key; "
        "try again after the time in Retry-After",
        retry_after=worst.reset,
        limit=(worst.limit, 0),
    )


def _check_capacity(situation: Situation, at: datetime) -> None:
    """Refuse to start a lookup beyond the service's ceiling, or beyond what may run at once."""
    if situation.ceiling_opens_at is not None:
        raise Refusal(
            "at_capacity",
            "the service has started as many new searches as it may in 24 hours; try again "
            "after the time in Retry-After; recently searched brands still answer",
            retry_after=situation.ceiling_opens_at - at,
        )
    if situation.lookups_full:
        raise Refusal(
            "at_capacity",
            "as many new searches are running as the service can do in time; try again after "
            "the time in Retry-After, some seconds; recently searched brands still answer",
            retry_after=LOOKUPS_RETRY_AFTER,
        )


def _check_in_flight(key: Key) -> None:
    if len(key.running) >= IN_FLIGHT:
        raise Refusal(
            "too_many_in_flight",
            f"this key already has {IN_FLIGHT} new-brand searches running; wait for one to end",
            retry_after=RETRY_AFTER,
            limit=(IN_FLIGHT, 0),
        )


def _check_last_unit(key: Key) -> None:
    if key.used + key.reserved >= key.quota:
        raise Refusal(
            "too_many_in_flight", _LAST_UNIT, retry_after=RETRY_AFTER, limit=(IN_FLIGHT, 0)
        )


def _answer(ask: AskSearch, situation: Situation, at: datetime) -> Finish | None:
    """Return the newest finish that may answer (contract C1)."""
    own = situation.brand.answer(at)
    alias = situation.by_name.answer(at) if situation.by_name else None
    if alias is not None and alias.domain != ask.query.domain:
        alias = None
    shown = (f for f in (own, alias) if f is not None and f.lookup not in situation.unshown)
    return max(shown, key=lambda f: f.at, default=None)


def _admission(
    ask: AskSearch,
    kind: Kind,
    lookup: str,
    at: datetime,
    *settlement: SearchSettled,
    brand_events: tuple[BrandEvent, ...] = (),
) -> Admission:
    admitted = converted(ask, SearchAdmitted, lookup=lookup, at=at)
    return Admission(
        kind=kind,
        search=ask.search,
        key_events=(admitted, *settlement),
        brand_events=brand_events,
    )
