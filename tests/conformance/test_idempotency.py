"""A retry with its Idempotency-Key."""

from datetime import timedelta

import pytest

from conformance.answers import is_refused, limits
from conformance.obstacles import FREE
from conformance.rows import row
from conformance.target import Caller, Target

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)


@row("L14", "O3b")
def test_a_retry_with_its_idempotency_key_is_the_same_search_and_free(fresh: Target) -> None:
    caller = fresh.caller()
    headers = {"Idempotency-Key": "one-wish"}
    first = caller.ask(headers, brand="Veltrana", wait=True)
    again = caller.ask(headers, brand="Veltrana")
    waited = caller.ask(headers, brand="Veltrana", wait=True)
    without = caller.ask(brand="Veltrana")

    assert first.json() == again.json() == waited.json()
    assert (caller.usage()["used"], caller.counted()) == (2, 2)
    assert without.json()["id"] != first.json()["id"]


@row("L14", "O3b")
def test_a_retry_counts_as_a_check_and_carries_the_days_headers(caller: Caller) -> None:
    headers = {"Idempotency-Key": "k"}
    caller.ask(headers, brand=FREE, wait=True)
    again = caller.ask(headers, brand=FREE)
    for _ in range(119):
        caller.http.get("/usage")
    refused = caller.ask(headers, brand=FREE)

    assert limits(again)[:2] == (60, 59)
    is_refused(refused, "rate_limited")
    assert limits(refused)[:2] == (120, 0)


@row("L14", "O3b", "O5", "O6")
def test_a_retry_is_answered_though_quota_or_minute_are_used_up(fresh: Target) -> None:
    wish = {"Idempotency-Key": "one-wish"}
    poor, busy = fresh.caller(1), fresh.caller()
    bought = poor.ask(wish, brand="Veltrana", wait=True).json()
    failed = busy.ask(wish, brand=FREE, wait=True).json()
    for _ in range(5):
        assert busy.ask(brand=FREE).status_code == 200

    is_refused(poor.ask(brand="Veltrana"), "quota_exhausted")
    is_refused(busy.ask(brand=FREE), "rate_limited")
    assert poor.ask(wish, brand="Veltrana").json() == bought
    assert busy.ask(wish, brand=FREE).json() == failed


@row("L14")
def test_an_idempotency_key_is_remembered_for_a_day(fresh: Target) -> None:
    caller = fresh.caller()
    headers = {"Idempotency-Key": "k"}
    before = fresh.clock.now()
    first = caller.ask(headers, brand=FREE, wait=True).json()
    after = fresh.clock.now()
    fresh.clock.advance_to(before + DAY - fresh.margin)
    same = caller.ask(headers, brand=FREE, wait=True).json()
    fresh.clock.advance_to(after + DAY)
    new = caller.ask(headers, brand=FREE, wait=True).json()

    assert same["id"] == first["id"] != new["id"]


@row("L14")
@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "\x7f"])
def test_an_idempotency_key_is_255_visible_characters_at_most(caller: Caller, key: str) -> None:
    is_refused(caller.ask({"Idempotency-Key": key}, brand=FREE), "invalid_request")
    assert caller.ask({"Idempotency-Key": "x" * 255}, brand=FREE).status_code in {200, 202}


@row("L14", "O3b", "R2")
def test_an_idempotency_key_sent_with_another_body_is_refused(caller: Caller) -> None:
    headers = {"Idempotency-Key": "k"}
    caller.ask(headers, brand=FREE, wait=True)

    is_refused(caller.ask(headers, brand=FREE, domain="x.example"), "invalid_request")
    assert caller.ask(headers, brand=FREE, wait=False).status_code == 200
