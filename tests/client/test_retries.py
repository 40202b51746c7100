"""What is tried again, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.client import (
    ApiError,
    AtCapacity,
    ClientError,
    Limits,
    NotThisApi,
    Patience,
    Paused,
    QuotaExceeded,
    RateLimited,
    StillRunning,
    Unreachable,
    Window,
)
from cs.client.errors import api_error_class
from cs.client.retries import (
    NO_RETRIES,
    RETRIED,
    leaves_doubt,
    pause_before_next,
    shows_unknown_key,
)

HERE_AND_NOW = Patience()
statuses = st.integers(100, 599)
waits = st.none() | st.integers(0, 100_000)


def error(status: int, wait_s: int | None = None, code: str = "x") -> ApiError:
    kind = api_error_class(status, code)
    return kind("no", code=code, status=status, retry_after_s=wait_s)


def pause(
    of: ClientError,
    patience: Patience = HERE_AND_NOW,
    *,
    tried: int = 1,
    spent_s: float = 0,
    chance: float = 0.5,
) -> float | None:
    return pause_before_next(of, patience, tried=tried, spent_s=spent_s, chance=chance)


@given(
    status=statuses,
    wait_s=waits,
    tried=st.integers(1, 50),
    spent_s=st.floats(0, 1000),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_a_pause_keeps_every_bound(
    status: int, wait_s: int | None, tried: int, spent_s: float, chance: float
) -> None:
    patience = HERE_AND_NOW
    found = pause(error(status, wait_s), tried=tried, spent_s=spent_s, chance=chance)

    if found is None:
        return
    assert status in RETRIED
    assert found > 0
    assert spent_s + found < patience.total_s
    if not wait_s:
        assert tried < patience.tries
        assert found <= patience.most_s
    else:
        assert wait_s <= found <= wait_s + 1
        assert wait_s <= patience.longest_s


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 409, 413, 422, 501])
def test_a_no_that_will_not_change_is_taken(status: int) -> None:
    assert pause(error(status, 1)) is None


@pytest.mark.parametrize("status", sorted(RETRIED))
def test_what_may_pass_is_tried_again_whoever_says_it(status: int) -> None:
    assert pause(error(status)) is not None
    assert pause(NotThisApi("a proxy", code="not_this_api", status=status)) is not None


def test_waits_double_up_to_a_bound_and_are_spread() -> None:
    patience = Patience(first_s=1, most_s=6, tries=10)

    longest = [pause(error(500), patience, tried=n, chance=1) for n in range(1, 6)]
    shortest = [pause(error(500), patience, tried=n, chance=0) for n in range(1, 6)]

    assert longest == [1, 2, 4, 6, 6]
    assert shortest == [0.5, 1, 2, 3, 3]


@pytest.mark.parametrize("tried", [1025, 1026, 10**6])
def test_waits_stay_at_their_bound_however_often_it_is_tried(tried: int) -> None:
    patience = Patience(tries=10**9, total_s=1e9)

    assert pause(error(500), patience, tried=tried, chance=1) == patience.most_s


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_request"),
        (401, "unauthorized"),
        (402, "quota_exhausted"),
        (404, "not_found"),
        (405, "invalid_request"),
        (429, "rate_limited"),
        (429, "too_many_in_flight"),
        (503, "at_capacity"),
        (503, "api_disabled"),
    ],
)
def test_what_the_service_refuses_was_not_done(status: int, code: str) -> None:
    assert not leaves_doubt(error(status, code=code))


@pytest.mark.parametrize("status", [301, 403, 408, 413, 418, 499, 500, 502, 503, 504, 520])
def test_a_gateway_that_words_it_as_the_service_would_proves_nothing(status: int) -> None:
    assert leaves_doubt(error(status, code="gateway_timeout"))


def test_a_server_that_asks_for_no_pause_is_not_asked_without_one() -> None:
    assert [pause(error(429, 0), tried=n, chance=0) for n in (1, 2, 3)] == [0.25, 0.5, 1]
    assert pause(error(429, 0), tried=HERE_AND_NOW.tries) is None


def test_a_longer_wait_than_the_cap_is_left_to_the_caller() -> None:
    assert pause(error(429, 65), chance=0) == 65
    assert pause(error(429, 66)) is None


@pytest.mark.parametrize(
    "of",
    [
        error(500),
        error(429, 0),
        Unreachable("gone"),
        NotThisApi("a proxy", code="not_this_api", status=502),
    ],
)
def test_no_patience_is_one_try(of: ClientError) -> None:
    assert pause(of, NO_RETRIES) is None


def test_what_no_try_mends_is_not_tried() -> None:
    assert pause(Unreachable("no address", may_pass=False)) is None
    assert pause(StillRunning("late", code="running")) is None
    assert pause(NotThisApi("a page", code="not_this_api", status=200)) is None


def test_a_refusal_shows_that_a_key_is_unknown_unless_a_try_before_it_is_in_doubt() -> None:
    day = Limits(limit=60, windows={"day": Window(limit=60, remaining=0)})
    errors = [
        QuotaExceeded("", code="quota_exhausted"),
        AtCapacity("", code="at_capacity"),
        Paused("", code="api_disabled"),
        RateLimited("", code="rate_limited", limits=day),
    ]
    before = [shows_unknown_key(error) for error in errors]
    for error in errors:
        error.in_doubt = True

    assert before == [True] * 4
    assert not any(map(shows_unknown_key, errors))
