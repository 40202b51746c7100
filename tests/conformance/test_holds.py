"""Calls that are held until their search has ended."""

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest

from conformance.answers import is_refused, limits
from conformance.rows import row
from conformance.target import Caller, Target, until

pytestmark = pytest.mark.slow

HOLD = timedelta(seconds=85)


def held(caller: Caller, threads: ThreadPoolExecutor, brand: str) -> Future[httpx.Response]:
    """Make a call that is held, and return when its search counts."""
    before = caller.counted()
    call = threads.submit(caller.ask, brand=brand, wait=True)
    until(lambda: caller.counted() > before)
    return call


@row("8-hold", "1.4-wait", "3-outlasted")
def test_a_call_is_held_85_seconds_and_then_answered_202(fresh: Target) -> None:
    caller = fresh.caller()
    answer = outlasted(caller, fresh, "Quellmark")
    record = answer.json()
    fresh.clock.advance(timedelta(seconds=40))

    assert (answer.status_code, record["status"]) == (202, "running")
    assert answer.headers["Location"] == record["poll_url"]
    assert caller.ended(record["id"])["status"] == "done"


def outlasted(caller: Caller, target: Target, brand: str) -> httpx.Response:
    """Return the answer of a held call; assert that it was held for 85 seconds.

    Its own answer shows how long, whatever time it took to move the clock: the day's reset
    is that much nearer.
    """
    before, days_before = target.clock.now(), limits(caller.http.get("/usage"))[2]
    with ThreadPoolExecutor() as threads:
        call = held(caller, threads, brand)
        begun = target.clock.now()
        target.clock.advance_to(begun + HOLD)
        answer = call.result(timeout=30)
    held_s = days_before - limits(answer)[2]
    at_most = begun - before + HOLD + target.margin

    assert HOLD.total_seconds() - 1 <= held_s <= at_most.total_seconds() + 1
    return answer


@row("1.4-wait", "3-waited", "3-done", "4.1")
def test_a_held_call_is_answered_200_when_its_search_ends_in_time(fresh: Target) -> None:
    caller = fresh.caller()
    with ThreadPoolExecutor() as threads:
        call = held(caller, threads, "Miruvane")  # greylisted for two seconds
        fresh.clock.advance(timedelta(seconds=30))
        answer = call.result(timeout=30)

    assert (answer.status_code, answer.json()["status"]) == (200, "done")
    assert answer.json()["cached"] is False


@row("L14", "O3b", "1.4-wait")
def test_a_retry_of_a_search_that_runs_is_held_too(fresh: Target) -> None:
    caller = fresh.caller()
    wish = {"Idempotency-Key": "one-wish"}
    first = caller.ask(wish, brand="Miruvane").json()
    again = caller.ask(wish, brand="Miruvane", wait=True)

    assert first["status"] == "running"
    assert (again.status_code, again.json()["status"]) == (200, "done")
    assert again.json()["id"] == first["id"]
    assert (caller.counted(), caller.usage()["used"]) == (1, 1)


@row("C10", "C3", "8-hold")
def test_each_request_is_held_85_seconds_of_its_own(fresh: Target) -> None:
    caller = fresh.caller()
    first = caller.ask(brand="Zephrine").json()["id"]
    fresh.clock.advance(timedelta(seconds=30))
    answer = outlasted(caller, fresh, "Zephrine")

    assert (answer.status_code, answer.json()["id"]) == (202, first)


@row("H11")
@pytest.mark.parametrize("how", ["revoke", "rotate"])
def test_a_secret_that_ends_during_a_hold_is_answered_401(fresh: Target, how: str) -> None:
    caller = fresh.caller()
    with ThreadPoolExecutor() as threads:
        call = held(caller, threads, "Quellmark")
        fresh.command(["keys", how, caller.key.id])
        until(lambda: caller.http.get("/usage").status_code == 401)
        fresh.clock.advance(timedelta(seconds=100))
        answer = call.result(timeout=30)

    is_refused(answer, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert '"used":1' in fresh.command(["keys", "show", caller.key.id, "--json"]).replace(
        " ", ""
    )


@row("H12", "O11", "C3")
def test_a_search_goes_on_after_its_caller_has_disconnected(fresh: Target) -> None:
    caller = fresh.caller()
    body = {"brand": "Quellmark", "wait": True}
    with pytest.raises(httpx.ReadTimeout):
        caller.http.post("/contacts", json=body, timeout=1)
    again = caller.ask(brand="Quellmark").json()
    fresh.clock.advance(timedelta(seconds=100))
    ended = caller.ended(again["id"])

    assert again["status"] == "running"
    assert (ended["status"], ended["usage"]["used"]) == ("done", 1)
