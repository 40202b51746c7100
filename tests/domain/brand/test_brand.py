"""A brand: one live run at a time, and how long what it found is reused."""

from datetime import datetime, timedelta

import pytest

from cs.domain.brand.brand import ENDED, Finish, stream_of
from cs.domain.brand.events import BrandForgotten, ForgetBrand, LookupStarted
from cs.domain.contact import BrandFacts
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import Failed, Resolved
from domain.acme_run import AT, HOME, QUERY, RESOLVED, STREAM, AcmeRun, checked


def done() -> AcmeRun:
    return AcmeRun().verifying().verified(checked("p1", Verdict.DELIVERABLE))


def broken(run: AcmeRun, number: int) -> None:
    """End the live run by a breakdown."""
    no = Failed(why="x", retryable=False)
    run.record("brand-resolution", no, lookup=f"{STREAM}.{number}")


def test_a_run_without_a_nonce_is_named_for_its_stream_and_number_and_has_a_deadline() -> None:
    started = AcmeRun(deadline=timedelta(seconds=30)).events[0]

    assert started == LookupStarted(
        lookup=f"{STREAM}.1",
        number=1,
        query=QUERY,
        deadline_at=AT + timedelta(seconds=30),
        at=AT,
    )
    assert stream_of(f"{STREAM}.1") == STREAM


def test_a_brand_has_one_live_run_and_the_next_has_the_next_number() -> None:
    run = AcmeRun()
    assert run.start() == ()
    broken(run, 1)
    run.start()

    assert run.live.id == f"{STREAM}.2"


def test_runs_of_one_number_in_two_histories_are_reported_apart_by_their_nonces() -> None:
    lost, run = AcmeRun(nonce="k7f2m9qd"), AcmeRun(nonce="x3b8w1ts")

    assert (lost.live.id, run.live.id) == (f"{STREAM}.1-k7f2m9qd", f"{STREAM}.1-x3b8w1ts")
    assert stream_of(lost.live.id) == STREAM
    assert run.record("brand-resolution", RESOLVED, lookup=lost.live.id) == ()
    assert run.record("brand-resolution", RESOLVED, lookup=run.live.id) != ()


def test_late_work_for_an_earlier_run_is_quiet() -> None:
    run = AcmeRun()
    broken(run, 1)
    assert run.record("brand-resolution", RESOLVED) == ()
    run.start()

    assert run.record("brand-resolution", RESOLVED, lookup=f"{STREAM}.1") == ()
    assert run.record("brand-resolution", RESOLVED, lookup=f"{STREAM}.2") != ()


def test_what_is_reused_is_remembered_with_the_domain_it_matched() -> None:
    run = done()

    assert run.state.answer(run.at) == Finish(f"{STREAM}.1", "done", run.finish.at, 1, HOME)


def test_a_breakdown_leaves_what_was_found_before() -> None:
    run = done()
    before = run.state.answer(run.at)
    run.start()
    broken(run, 2)

    assert run.state.answer(run.at) == before


def test_a_newer_finish_takes_the_place_of_the_older() -> None:
    run = done()
    run.start()
    run.record("brand-resolution", Resolved(status="no_match"), lookup=f"{STREAM}.2")

    newest = run.state.answer(run.at)
    assert newest is not None
    assert (newest.lookup, newest.outcome) == (f"{STREAM}.2", "no_linkedin")


def test_a_forgotten_brand_is_searched_live_and_forgetting_twice_is_quiet() -> None:
    run = done()

    assert run.send(ForgetBrand(at=run.at)) == (
        BrandForgotten(at=run.finish.at + timedelta(seconds=1)),
    )
    assert run.state.answer(run.at) is None
    assert run.send(ForgetBrand(at=run.at)) == ()
    assert run.start() != ()


def test_forgetting_while_a_run_is_live_leaves_the_run_alone() -> None:
    run = done()
    run.start()
    run.send(ForgetBrand(at=run.at))

    assert run.live.id == f"{STREAM}.2"


def test_the_last_few_finishes_are_remembered_for_those_who_join_late() -> None:
    run = AcmeRun()
    for number in range(1, ENDED + 3):
        broken(run, number)
        run.start()

    assert run.state.finish_of(f"{STREAM}.2") is None
    assert [f.lookup for f in run.state.ended] == [f"{STREAM}.{n}" for n in range(3, ENDED + 3)]
    newest = run.state.finish_of(f"{STREAM}.{ENDED + 2}")
    assert newest is not None
    assert (newest.outcome, newest.verified) == ("scrape_error", 0)


@pytest.mark.parametrize("step", [timedelta(seconds=40), timedelta(hours=1)])
def test_a_clock_that_steps_back_gives_no_run_less_time(step: timedelta) -> None:
    run = AcmeRun()
    broken(run, 1)
    ended_at: datetime = run.finish.at
    run.at = stepped_back_to = AT - step
    run.start()

    stands_still = step < timedelta(minutes=1)
    begun_at = ended_at if stands_still else stepped_back_to
    assert run.live.deadline_at == begun_at + run.deadline


def test_a_brand_that_matched_no_domain_remembers_none() -> None:
    run = AcmeRun().resolved(BrandFacts(name="Acme")).discovered().ranked()

    assert run.state.ended[-1].domain is None
