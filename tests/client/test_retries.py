"""What is tried again, and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.client import (
    ApiError,
    AtCapacity,
    ClientError,
    InFlight,
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
from cs.client.calls import USAGE
from cs.client.errors import api_error_class
from cs.client.retries import (
    NO_RETRIES,
    RETRIED,
    CallRetries,
    leaves_doubt,
    shows_unknown_key,
)

HERE_AND_NOW = Patience()
statuses = st.integers(100, 599)
waits = st.none() | st.integers(0, 100_000)


def error(status: int, wait_s: int | None = None, code: str = "x") -> ApiError:
    kind = api_error_class(status, code)
    return kind("no", code=code, status=status, retry_after_s=wait_s)


def pause(
    of: ClientError, patience: Patience = HERE_AND_NOW, *, tries: int = 1, spent_s: float = 0
) -> float | None:
    """Return the pause after so many *tries* that ended with *of*."""
    retries = CallRetries(patience, float, USAGE)
    return [retries.pause_after(of, spent_s=spent_s) for _ in range(tries)][-1]


@given(status=statuses, wait_s=waits, tries=st.integers(1, 50), spent_s=st.floats(0, 1000))
def test_a_pause_keeps_every_bound(
    status: int, wait_s: int | None, tries: int, spent_s: float
) -> None:
    patience = HERE_AND_NOW
    found = pause(error(status, wait_s), tries=tries, spent_s=spent_s)

    if found is None:
        return
    assert status in RETRIED
    assert found > 0
    assert spent_s + found < patience.total_s
    if not wait_s:
        assert tries < patience.tries
        longest = min(patience.most_s, patience.first_s * 2 ** (tries - 1))
        assert longest / 2 <= found <= longest
    else:
        assert wait_s <= found <= wait_s + 1
        assert wait_s <= patience.longest_s


@pytest.mark.parametrize("status", sorted(RETRIED))
def test_a_failure_that_may_pass_is_tried_again_whatever_reports_it(status: int) -> None:
    assert pause(error(status)) is not None
    assert pause(NotThisApi("a proxy", code="not_this_api", status=status)) is not None
    assert pause(error(status), Patience(tries=10**9, total_s=1e9), tries=1100) is not None


@pytest.mark.parametrize(
    "of",
    [
        *(error(status, 1) for status in (400, 401, 402, 403, 404, 405, 409, 413, 422, 501)),
        error(429, 66),
        Unreachable("no address", may_pass=False),
        StillRunning("late", code="running"),
        NotThisApi("a page", code="not_this_api", status=200),
    ],
)
def test_what_another_try_cannot_mend_is_not_tried(of: ClientError) -> None:
    assert pause(of) is None


def test_no_patience_is_one_try() -> None:
    for of in (error(500), error(429, 0), Unreachable("gone")):
        assert pause(of, NO_RETRIES) is None


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


def test_a_refusal_shows_that_a_key_is_unknown_unless_a_try_before_it_is_in_doubt() -> None:
    day = Limits(limit=60, windows={"day": Window(limit=60, remaining=0)})
    errors = [
        QuotaExceeded("", code="quota_exhausted"),
        AtCapacity("", code="at_capacity"),
        Paused("", code="api_disabled"),
        InFlight("", code="too_many_in_flight"),
        RateLimited("", code="rate_limited", limits=day),
    ]
    before = [shows_unknown_key(error) for error in errors]
    for error in errors:
        error.in_doubt = True

    assert before == [True] * 5
    assert not any(map(shows_unknown_key, errors))


def test_a_refusal_from_before_the_look_up_shows_nothing_of_a_key() -> None:
    full = Window(limit=60, remaining=0)
    limits = (None, Limits(limit=120, windows={"day": full}), Limits(limit=6, windows={}))

    for of in (
        *(RateLimited("", code="rate_limited", limits=each) for each in limits),
        *(error(401), error(404), error(429), error(503)),
        NotThisApi("a proxy", code="not_this_api", status=403),
    ):
        assert not shows_unknown_key(of), of
