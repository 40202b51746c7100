"""What is charged, what is held back for a search that runs, and what quota is left."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from conformance.answers import is_refused, limits
from conformance.obstacles import FREE
from conformance.rows import row
from conformance.target import Caller, Target, new_brand

pytestmark = pytest.mark.slow


@row("L11", "O10b", "8-charged")
def test_three_at_once_on_a_quota_of_two_are_two_searches(fresh: Target) -> None:
    caller = fresh.caller(2)
    brands = ["Veltrana", "Corvelune", "Ivorene"]
    with ThreadPoolExecutor() as threads:
        answers = list(threads.map(lambda brand: caller.ask(brand=brand, wait=True), brands))
    done = [answer for answer in answers if answer.status_code == 200]
    refused = [answer for answer in answers if answer.status_code != 200]
    # The third came either while both ran or after one of them had ended.
    assert len(done) == 2, [answer.text for answer in answers]
    for answer in refused:
        assert answer.json()["error"]["code"] in {"too_many_in_flight", "quota_exhausted"}

    assert caller.usage() == {"quota": 2, "used": 2, "remaining": 0}
    is_refused(caller.ask(brand="Ivorene"), "quota_exhausted")


@row("L11", "O10b")
def test_the_last_unit_is_held_by_the_search_that_runs(fresh: Target) -> None:
    caller = fresh.caller(1)
    running = caller.ask(brand="Quellmark").json()
    refused = caller.ask(brand=new_brand())
    shown = caller.usage()
    fresh.clock.advance(timedelta(seconds=100))

    assert running["usage"] == {"quota": 1, "used": 0, "remaining": 1} == shown
    assert "last unit" in is_refused(refused, "too_many_in_flight")
    assert limits(refused) == (2, 0, 5)
    assert refused.headers["Retry-After"] == "5"
    assert caller.ended(running["id"])["usage"]["used"] == 1
    is_refused(caller.ask(brand=new_brand()), "quota_exhausted")


@row("L11", "8-free", "3-failed")
def test_a_failed_search_gives_its_unit_back(fresh: Target) -> None:
    caller = fresh.caller(1)
    failed = caller.found(brand=new_brand())
    done = caller.found(brand="Veltrana")

    assert (failed["charged"], failed["usage"]["used"]) == (False, 0)
    assert (done["charged"], done["usage"]["used"]) == (True, 1)


@row("L13", "8-again", "3-reused")
def test_the_same_brand_again_is_charged_again_on_every_key(fresh: Target) -> None:
    caller, other = fresh.caller(), fresh.caller()
    records = [who.found(brand="Veltrana") for who in (caller, caller, caller, other)]

    assert [r["usage"]["used"] for r in records] == [1, 2, 3, 1]
    assert [r["cached"] for r in records] == [False, True, True, True]
    assert all(r["charged"] for r in records)


@row("L15", "8-used-up", "7-codes")
def test_granted_quota_counts_at_once(target: Target) -> None:
    caller = target.caller(0)
    is_refused(caller.ask(brand=FREE), "quota_exhausted")
    target.command(["keys", "grant", caller.key.id, "5"])

    assert caller.ask(brand=FREE).status_code in {200, 202}
    assert caller.usage()["quota"] == 5


@row("H16")
def test_a_quota_is_not_reduced_below_what_is_used(target: Target) -> None:
    caller = target.caller(2)
    caller.found(brand="Veltrana")
    with pytest.raises(subprocess.CalledProcessError):
        target.command(["keys", "grant", caller.key.id, "-2"])

    assert caller.usage() == {"quota": 2, "used": 1, "remaining": 1}


@row("H16", "2.3")
def test_usage_adds_up_whatever_was_asked(caller: Caller) -> None:
    for brand in ("Veltrana", FREE, "Veltrana"):
        usage = caller.found(brand=brand)["usage"]
        assert usage.keys() == {"quota", "used", "remaining"}
        assert all(type(number) is int and number >= 0 for number in usage.values())
        assert usage["remaining"] == usage["quota"] - usage["used"]
        assert usage == caller.usage()
