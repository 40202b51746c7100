"""One key: its quota, its windows, its searches, each rule with an example."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest

from cs.domain.contact import Query
from cs.domain.key import (
    INITIAL,
    REMEMBERED,
    GrantQuota,
    Idempotency,
    IssueKey,
    Key,
    KeyCommand,
    KeyEvent,
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    RevokeKey,
    RotateKey,
    SearchAdmitted,
    SearchOutcome,
    SearchRepeated,
    SearchSettled,
    SettleSearch,
    decide,
    evolve,
    minute_window,
    settled,
)
from cs.domain.rate_limits import DAY, PER_DAY, PER_MINUTE
from cs.domain.refusal import Refusal

AT = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ISSUED = KeyIssued(label="test", quota=3, secret_hash="h1", last4="aaaa", at=AT)


def fold(events: Iterable[KeyEvent], state: Key = INITIAL) -> Key:
    return reduce(evolve, events, state)


ACTIVE = fold([ISSUED])


def admitted(
    search: str, at: datetime = AT, idempotency: Idempotency | None = None
) -> SearchAdmitted:
    return SearchAdmitted(
        search=search,
        brand="Acme",
        query=Query("Acme"),
        lookup="brand-a.1",
        idempotency=idempotency,
        at=at,
    )


def settle(search: str, outcome: SearchOutcome = "done", verified: int = 1) -> SettleSearch:
    return SettleSearch(
        search=search, lookup="brand-a.1", outcome=outcome, verified=verified, at=AT
    )


def refusal_of(command: KeyCommand, state: Key) -> str:
    with pytest.raises(Refusal) as refused:
        decide(command, state)
    return refused.value.code


# Issuing, rotating, revoking.


def test_a_key_is_issued_once() -> None:
    issue = IssueKey(label="test", quota=3, secret_hash="h1", last4="aaaa", at=AT)

    assert decide(issue, INITIAL) == (ISSUED,)
    assert decide(issue, ACTIVE) == ()
    other = IssueKey(label="test", quota=3, secret_hash="h2", last4="bbbb", at=AT)
    assert refusal_of(other, ACTIVE) == "key-exists"


def test_a_quota_is_not_negative() -> None:
    issue = IssueKey(label="test", quota=-1, secret_hash="h1", last4="aaaa", at=AT)

    assert refusal_of(issue, INITIAL) == "quota-invalid"


@pytest.mark.parametrize(
    "command",
    [
        RotateKey(secret_hash="h2", last4="bbbb", at=AT),
        RevokeKey(at=AT),
        GrantQuota(units=1, at=AT),
        settle("s1"),
    ],
)
def test_a_key_that_was_never_issued_is_missing(command: KeyCommand) -> None:
    assert refusal_of(command, INITIAL) == "key-missing"


def test_rotating_changes_the_secret_and_keeps_quota_and_history() -> None:
    rotate = RotateKey(secret_hash="h2", last4="bbbb", at=AT)
    state = fold([ISSUED, admitted("s1")])

    (rotated,) = decide(rotate, state)
    after = evolve(state, rotated)

    assert rotated == KeyRotated(secret_hash="h2", last4="bbbb", at=AT)
    assert (after.secret_hash, after.last4, after.quota, after.running) == (
        "h2",
        "bbbb",
        3,
        state.running,
    )
    assert decide(rotate, after) == ()


def test_a_revoked_key_stays_revoked() -> None:
    revoked = fold([ISSUED, KeyRevoked(at=AT)])

    assert decide(RevokeKey(at=AT), ACTIVE) == (KeyRevoked(at=AT),)
    assert decide(RevokeKey(at=AT), revoked) == ()
    rotate = RotateKey(secret_hash="h2", last4="bbbb", at=AT)
    assert refusal_of(rotate, revoked) == "key-revoked"


def test_a_search_that_runs_while_its_key_is_revoked_is_settled_on_it() -> None:
    state = fold([ISSUED, admitted("s1"), KeyRevoked(at=AT)])

    (event,) = decide(settle("s1"), state)

    assert evolve(state, event).used == 1


# Quota.


def test_quota_is_added_and_taken_away_down_to_what_is_used_or_reserved() -> None:
    state = fold([ISSUED, admitted("s1"), admitted("s2")])
    state = fold([settled("s1", "brand-a.1", "done", 1, cached=False, at=AT)], state)

    assert decide(GrantQuota(units=2, at=AT), state) == (QuotaGranted(units=2, at=AT),)
    assert decide(GrantQuota(units=0, at=AT), state) == ()
    (least,) = decide(GrantQuota(units=-1, at=AT), state)
    assert evolve(state, least).quota == 2  # one used, one reserved
    assert refusal_of(GrantQuota(units=-2, at=AT), state) == "quota-invalid"


def test_an_admitted_search_reserves_a_unit_until_it_is_settled() -> None:
    state = fold([ISSUED, admitted("s1"), admitted("s2")])
    assert (state.used, state.reserved) == (0, 2)

    state = fold(decide(settle("s1"), state), state)
    assert (state.used, state.reserved) == (1, 1)
    state = fold(decide(settle("s2", "no_emails", 0), state), state)
    assert (state.used, state.reserved) == (1, 0)


def test_a_search_is_settled_once() -> None:
    state = fold([ISSUED, admitted("s1")])
    (settlement,) = decide(settle("s1"), state)
    state = fold([settlement], state)

    assert isinstance(settlement, SearchSettled)
    assert (settlement.search, settlement.outcome, settlement.charged) == ("s1", "done", True)
    assert decide(settle("s1"), state) == ()
    assert decide(settle("s1", "timeout", 0), state) == ()
    assert decide(settle("never"), state) == ()


@pytest.mark.parametrize(
    ("outcome", "verified", "charged"),
    [
        ("done", 1, True),
        ("done", 9, True),
        ("no_linkedin", 0, False),
        ("no_contacts", 0, False),
        ("no_emails", 0, False),
        ("scrape_error", 0, False),
        ("timeout", 0, False),
        ("error", 0, False),
    ],
)
def test_done_is_charged_and_nothing_else_is(
    outcome: SearchOutcome, verified: int, charged: bool
) -> None:
    event = settled("s1", "brand-a.1", outcome, verified, cached=True, at=AT)

    assert event == SearchSettled(
        search="s1", lookup="brand-a.1", outcome=outcome, charged=charged, cached=True, at=AT
    )


@pytest.mark.parametrize(
    ("outcome", "verified"), [("done", 0), ("no_emails", 1), ("timeout", 2)]
)
def test_an_outcome_that_contradicts_its_charge_is_a_bug(
    outcome: SearchOutcome, verified: int
) -> None:
    with pytest.raises(ValueError, match=outcome):
        settled("s1", "brand-a.1", outcome, verified, cached=False, at=AT)


# Windows.


def test_a_repeated_search_counts_in_the_windows_and_reserves_nothing() -> None:
    state = fold([ISSUED, admitted("s1"), SearchRepeated(search="s1", at=AT + SECOND)])

    assert minute_window(state, AT + SECOND).remaining == PER_MINUTE - 2
    assert state.reserved == 1


# What is remembered does not grow.


def test_a_key_with_many_searches_is_as_small_as_one_with_few() -> None:
    state = ACTIVE
    for n in range(500):
        at = AT + timedelta(hours=n)
        state = evolve(state, admitted(f"s{n}", at, Idempotency(f"k{n}", "b")))
        state = fold([settled(f"s{n}", "brand-a.1", "timeout", 0, cached=False, at=at)], state)

    assert len(state.admitted_at) == PER_DAY
    assert len(state.remembered) == REMEMBERED
    assert state.running == ()
    assert state.remembered[-1].idempotency.key == "k499"
    assert state.admitted_at[-1] == AT + timedelta(hours=499)


def test_time_in_a_stream_never_steps_back() -> None:
    state = fold([ISSUED, admitted("s1", AT + SECOND)])

    (revoked,) = decide(RevokeKey(at=AT - DAY), state)

    assert revoked.at == AT + SECOND
