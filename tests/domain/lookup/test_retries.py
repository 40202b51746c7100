"""Retries: after waits that the outside names (docs/decisions/0028), while people are left."""

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cs.domain.brand.events import DEADLINE, AttemptFailed, LookupFinished, RetryDue
from cs.domain.lookup.contacts import unsettled_candidates
from cs.domain.lookup.rules import LAST_RETRY
from cs.domain.lookup.state import Lookup
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import DomainVerified, Failed, MailboxChecked
from domain.acme_run import AT_TWO_DOMAINS, HOME, PARENT, AcmeRun, checked

SECOND = timedelta(seconds=1)
#: `AcmeRun` lets a second go by with every command: between a retry and its failure, too.
ANSWER = SECOND
MANY = 100


def later(named_s: float) -> Failed:
    return Failed(why="try-later", retryable=True, retry_in_s=named_s)


def waits_of(named_s: list[float], *, deadline: timedelta = DEADLINE) -> list[timedelta]:
    """Return the waits between attempts at a server that names *named_s* and never opens.

    The last of *named_s* is repeated.
    """
    run = AcmeRun(deadline=deadline).verifying()
    waits: list[timedelta] = []
    for attempt in range(1, MANY):
        wait = named_s[min(attempt, len(named_s)) - 1]
        run.failed("verification", later(wait), item=HOME, attempt=attempt)
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
        run.failed("verification", later(2), item=HOME, attempt=attempt)
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
def test_a_server_that_opens_in_time_is_asked_before_twice_that_time(
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


# A run does not wait for a retry that has no person left to ask about.

YES, NO = Verdict.DELIVERABLE, Verdict.UNDELIVERABLE


def test_a_retry_is_waited_for_while_a_person_is_open() -> None:
    run = AcmeRun().verifying(AT_TWO_DOMAINS)
    run.failed("verification", later(60), item=HOME)

    found = (checked("p1", YES, at=PARENT), checked("p2", NO, at=PARENT))
    run.record("verification", DomainVerified(found), item=PARENT)

    assert [(work.item, work.retry_at is not None) for work in run.live.open] == [(HOME, True)]


people, domains = st.sampled_from(["p1", "p2"]), st.sampled_from([HOME, PARENT])
verdicts = st.sampled_from([YES, NO, Verdict.UNKNOWN])
found_there = st.dictionaries(people, verdicts)
steps = st.one_of(
    st.tuples(st.just("mailbox"), domains, people, verdicts),
    st.tuples(st.just("domain"), domains, found_there, st.none()),
    st.tuples(st.just("later"), domains, st.sampled_from([5, 12, 60]), st.none()),
    st.tuples(st.just("retry"), domains, st.sampled_from([5, 60]), st.none()),
)


@example([("later", HOME, 5, None), ("mailbox", HOME, "p1", YES), ("mailbox", HOME, "p2", YES)])
@example([("later", HOME, 5, None), ("mailbox", HOME, "p1", NO), ("mailbox", HOME, "p2", NO)])
@given(st.lists(steps, max_size=12))
def test_waiting_work_has_a_person_to_ask_about(
    told: list[tuple[str, str, object, object]],
) -> None:
    """And a run ends once: with nothing open, and never a second time."""
    run = AcmeRun(deadline=timedelta(minutes=30)).verifying(AT_TWO_DOMAINS)
    for step in told:
        live = _after(run, *step)
        if live is None:
            break
        assert live.open, "a run without open work has ended"
        is_idle = all(work.retry_at is not None for work in live.open)
        assert not is_idle or any(unsettled_candidates(live, w.item) for w in live.open)
    assert sum(isinstance(event, LookupFinished) for event in run.events) <= 1


def _after(run: AcmeRun, what: str, at: str, one: object, other: object) -> Lookup | None:
    """Take one step; return the run, if it goes on."""
    work = run.live.find("verification", at)
    attempt = work.attempt if work else 1
    match what, one, other:
        case "mailbox", str(person), Verdict() as verdict:
            run.record("verification", MailboxChecked(checked(person, verdict, at=at)), item=at)
        case "domain", dict() as found, _:
            all_found = tuple(checked(who, said, at=at) for who, said in found.items())
            run.record("verification", DomainVerified(all_found), item=at, attempt=attempt)
        case "later", int(seconds), _:
            run.failed("verification", later(seconds), item=at, attempt=attempt)
        case "retry", int(seconds), _:
            run.at += timedelta(seconds=seconds)
            run.send(RetryDue(lookup=run.live.id, at=run.at))
        case _:
            raise AssertionError(what)
    return run.state.live
