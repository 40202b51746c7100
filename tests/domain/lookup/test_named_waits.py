"""Waits that the outside names and that are too short (docs/decisions/0028)."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.brand.events import DEADLINE, AttemptFailed, RetryDue
from cs.domain.lookup.rules import LAST_RETRY
from cs.domain.stages.work import Failed
from domain.acme_run import HOME, AcmeRun

SECOND = timedelta(seconds=1)
#: `AcmeRun` lets a second go by with every command: between a retry and its failure, too.
ANSWER = SECOND
MANY = 100


def waits_of(named_s: list[float], *, deadline: timedelta = DEADLINE) -> list[timedelta]:
    """Return the waits between attempts at a server that names *named_s* and never opens.

    The last of *named_s* is repeated.
    """
    run = AcmeRun(deadline=deadline).verifying()
    waits: list[timedelta] = []
    for attempt in range(1, MANY):
        wait = named_s[min(attempt, len(named_s)) - 1]
        later = Failed(why="try-later", retryable=True, retry_in_s=wait)
        run.failed("verification", later, item=HOME, attempt=attempt)
        failed = next(e for e in reversed(run.events) if isinstance(e, AttemptFailed))
        if failed.retry_at is None:
            assert run.state.live is None
            return waits
        assert failed.retry_at < run.live.deadline_at
        waits.append(failed.retry_at - failed.at)
        run.send(RetryDue(lookup=run.live.id, at=failed.retry_at))
    raise AssertionError("it is asked for ever")


def test_a_named_wait_is_believed_once_and_then_doubled_until_a_last_attempt() -> None:
    *doubled, last = waits_of([2])

    assert doubled == [2 * SECOND, 4 * SECOND, 8 * SECOND, 16 * SECOND, 32 * SECOND]
    assert 2 * SECOND < last < 64 * SECOND


def test_the_last_attempt_is_as_long_before_the_deadline_as_is_said() -> None:
    run = AcmeRun().verifying()
    deadline_at = run.live.deadline_at
    attempt, tried_at = 1, []
    while run.state.live is not None:
        run.failed("verification", _later(2), item=HOME, attempt=attempt)
        attempt += 1
        if run.state.live is not None:
            tried_at.append(run.live.next_due)
            run.send(RetryDue(lookup=run.live.id, at=tried_at[-1]))

    assert tried_at[-1] == deadline_at - LAST_RETRY


@pytest.mark.parametrize("named_s", [30, 50])
def test_a_longer_wait_that_is_named_is_kept(named_s: int) -> None:
    first, second, *_ = waits_of([2, named_s])

    assert (first, second) == (2 * SECOND, named_s * SECOND)


def test_no_last_attempt_is_made_before_the_wait_that_was_named() -> None:
    assert waits_of([70]) == [70 * SECOND]  # again would be after 140 s


@given(st.lists(st.floats(0.001, 200), min_size=1, max_size=10))
def test_attempts_are_few_whatever_is_named(named_s: list[float]) -> None:
    waits = waits_of(named_s)

    assert len(waits) <= 6
    for wait, named in zip(waits, named_s, strict=False):
        assert wait >= timedelta(seconds=named)


@given(st.floats(0.001, 2), st.floats(3, 95))
def test_who_opens_in_time_is_asked_before_twice_that_time(
    named_s: float, opens_s: float
) -> None:
    """Or at the last attempt, whatever comes first."""
    tried_s = [0.0]
    for wait in waits_of([named_s]):
        tried_s.append(tried_s[-1] + (wait + ANSWER) / SECOND)
    heard = [s for s in tried_s if s >= opens_s]

    assert heard
    assert heard[0] <= 2 * opens_s + 6


def test_an_hour_has_twelve_attempts() -> None:
    assert len(waits_of([2], deadline=timedelta(hours=1))) <= 11


def _later(named_s: float) -> Failed:
    return Failed(why="try-later", retryable=True, retry_in_s=named_s)
