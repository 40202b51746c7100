"""Windows, places in flight, the ceiling, and the headers that tell of them."""

import re
from datetime import timedelta

import httpx
import pytest

from conformance.answers import is_refused, limits, windows
from conformance.obstacles import FREE
from conformance.rows import row
from conformance.target import Caller, Target, new_brand, until

pytestmark = pytest.mark.slow

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def fill_the_minute(caller: Caller, brand: str = FREE) -> None:
    for _ in range(6):
        assert caller.ask(brand=brand, wait=True).status_code == 200


@row("L1", "8-minute", "7-429", "R3")
def test_six_searches_a_minute_are_taken_and_refused_ones_count_nowhere(caller: Caller) -> None:
    for _ in range(10):
        is_refused(caller.ask(brand="a"), "invalid_request")
    assert caller.counted() == 0
    fill_the_minute(caller)
    for _ in range(3):
        is_refused(caller.ask(brand=FREE), "rate_limited")

    assert caller.counted() == 6
    assert caller.usage()["used"] == 0


@row("L1", "L10", "8-flight")
def test_live_joined_repeated_and_reused_searches_count_the_same(fresh: Target) -> None:
    caller, other = fresh.caller(), fresh.caller()
    other.ask(brand="Quellmark")
    counts = []
    for brand in ("Quellmark", "Quellmark", FREE, FREE):
        caller.ask(brand=brand, wait=brand == FREE)
        counts.append(caller.counted())

    assert counts == [1, 2, 3, 4]


@row("L2", "8-day", "8-minute")
def test_the_sixty_first_search_is_refused_until_the_first_is_a_day_old(fresh: Target) -> None:
    caller = fresh.caller()
    before_first = fresh.clock.now()
    statuses = [caller.ask(brand=FREE, wait=True).status_code]
    after_first = fresh.clock.now()
    for number in range(1, 60):
        if number % 6 == 0:
            fresh.clock.advance(MINUTE)
        statuses.append(caller.ask(brand=FREE, wait=True).status_code)
    fresh.clock.advance_to(before_first + DAY - fresh.margin)
    refused = caller.ask(brand=FREE)
    fresh.clock.advance_to(after_first + DAY)
    taken = caller.ask(brand=FREE)

    assert statuses == [200] * 60
    is_refused(refused, "rate_limited")
    assert limits(refused)[:2] == (60, 0)
    at_most = after_first - before_first + fresh.margin
    assert int(refused.headers["Retry-After"]) <= at_most.total_seconds() + 1
    assert taken.status_code in {200, 202}
    assert limits(taken)[1] < 30  # the window rolls: it does not start again


@row("L3", "8-checks", "4.2", "4.3")
def test_120_checks_a_minute_over_both_paths_and_unknown_ids_count(caller: Caller) -> None:
    paths = ["/usage", "/searches/srch_unknown"]
    statuses = {caller.http.get(paths[number % 2]).status_code for number in range(119)}
    last = caller.http.head("/usage")
    refused = [caller.http.get(path) for path in paths]

    assert statuses == {200, 404}
    assert last.status_code == 200
    for answer in refused:
        is_refused(answer, "rate_limited")
        limit, remaining, reset = limits(answer)
        assert (limit, remaining) == (120, 0)
        assert answer.headers["Retry-After"] == str(reset)


@row("L3", "4.2-free")
def test_checks_do_not_count_as_searches_nor_searches_as_checks(caller: Caller) -> None:
    fill_the_minute(caller)
    checked = caller.http.get("/usage")

    assert checked.status_code == 200
    assert windows(checked)["checks"]["r"] == 119
    assert caller.counted() == 6


@row("L4", "L5", "8-headers")
def test_headers_describe_the_day_and_on_a_refusal_the_limit_that_was_hit(
    target: Target, caller: Caller
) -> None:
    taken = caller.ask(brand=FREE, wait=True)
    for _ in range(5):
        caller.ask(brand=FREE, wait=True)
    refused = caller.ask(brand=FREE)

    assert limits(taken)[:2] == (60, 59)
    assert 86_300 <= limits(taken)[2] <= 86_400
    assert limits(refused)[:2] == (6, 0)
    assert 1 <= limits(refused)[2] <= 60
    assert limits(caller.http.get("/usage"))[:2] == (60, 54)
    target.clock.advance(HOUR)
    limit, remaining, reset = limits(caller.http.get("/usage"))
    assert (limit, remaining) == (60, 54)
    assert reset <= (DAY - HOUR).total_seconds()


@row("L4")
def test_with_nothing_counted_the_day_is_whole(caller: Caller) -> None:
    assert limits(caller.http.get("/usage")) == (60, 60, 86_400)


@row("L6", "A1")
def test_the_newer_headers_describe_every_window(caller: Caller) -> None:
    searched = caller.ask(brand=FREE, wait=True)
    checked = caller.http.get("/usage")
    policy = '"minute";q=6;w=60, "day";q=60;w=86400'

    assert searched.headers["RateLimit-Policy"] == policy
    assert checked.headers["RateLimit-Policy"] == f'{policy}, "checks";q=120;w=60'
    assert {name: window["r"] for name, window in windows(searched).items()} == {
        "minute": 5,
        "day": 59,
    }
    assert windows(checked).keys() == {"minute", "day", "checks"}
    form = re.compile(r'"[a-z]+";r=\d+;t=\d+(, "[a-z]+";r=\d+;t=\d+)*')
    assert form.fullmatch(checked.headers["RateLimit"])


@row("L7", "3-running", "4.1-headers")
def test_only_responses_about_searches_have_the_headers(fresh: Target) -> None:
    caller, empty = fresh.caller(), fresh.caller(0)
    search = caller.found(brand=FREE)["id"]
    with_headers = {
        "202": caller.ask(brand="Quellmark"),
        "200": caller.ask(brand=FREE, wait=True),
        "usage": caller.http.get("/usage"),
        "a search": caller.http.get(f"/searches/{search}"),
        "404 of a search": caller.http.get("/searches/srch_x"),
        "in flight": _third(caller),
    }
    without = {
        "400": caller.ask(brand="a"),
        "401": fresh.bare().post("/contacts", json={"brand": FREE}),
        "402": empty.ask(brand=FREE),
        "405": caller.http.put("/contacts"),
        "404 of a path": caller.http.get("/nothing"),
    }

    def carries(answer: httpx.Response) -> bool:
        return any(name.lower().startswith("ratelimit") for name in answer.headers)

    for name, answer in with_headers.items():
        limit, remaining, reset = limits(answer)
        assert 0 <= remaining <= limit, name
        assert reset > 0, name
        assert {"ratelimit", "ratelimit-policy"} <= answer.headers.keys(), name
    assert {name for name, answer in without.items() if carries(answer)} == set()


def _third(caller: Caller) -> httpx.Response:
    caller.ask(brand="Zephrine")
    return caller.ask(brand=new_brand())


@row("L8", "7-429", "O6")
@pytest.mark.parametrize("again", [1, 2, 3])
def test_a_retry_after_the_announced_wait_is_accepted(target: Target, again: int) -> None:
    del again  # a second too few is found by the fraction of a second it starts at
    caller = target.caller()
    before = target.clock.now()
    fill_the_minute(caller)
    refused = caller.ask(brand=FREE)
    at_least = before + MINUTE - target.clock.now()
    wait = int(refused.headers["Retry-After"])

    assert wait == limits(refused)[2] == windows(refused)["minute"]["t"]
    assert 1 <= wait <= 60
    assert wait >= at_least.total_seconds()  # a minute is no less
    target.clock.advance(timedelta(seconds=wait))
    assert caller.ask(brand=FREE).status_code in {200, 202}


@row("L8", "8-checks")
def test_a_check_after_the_announced_wait_is_accepted(target: Target) -> None:
    caller = target.caller()
    before = target.clock.now()
    for _ in range(120):
        caller.http.get("/usage")
    refused = caller.http.get("/usage")
    at_least = before + MINUTE - target.clock.now()
    wait = int(refused.headers["Retry-After"])
    target.clock.advance(timedelta(seconds=wait))

    assert refused.status_code == 429
    assert wait >= at_least.total_seconds()
    assert caller.http.get("/usage").status_code == 200


@row("L9", "O9", "4.1", "7-codes")
def test_the_ceiling_refuses_new_brands_for_a_day_and_answers_reused_ones(
    target: Target,
) -> None:
    limited = filled_up(target)
    caller = limited.caller()
    limited.clock.advance(HOUR)
    refused = caller.ask(brand=new_brand())
    is_refused(refused, "at_capacity")
    assert 80_000 <= int(refused.headers["Retry-After"]) <= (DAY - HOUR).total_seconds()
    assert limits(refused)[:2] == (60, 60)

    assert caller.ask(brand=FREE).json()["cached"] is True
    limited.clock.advance(timedelta(seconds=int(refused.headers["Retry-After"])))
    assert caller.ask(brand=new_brand()).status_code == 202


@row("L9", "C5", "L10")
def test_the_ceiling_counts_lookups_and_not_joins_or_reuse(target: Target) -> None:
    limited = target.limited
    limited.a_month_later()
    joined = [limited.caller().ask(brand="Quellmark").status_code for _ in range(3)]
    caller = limited.caller()
    found = [caller.ask(brand=FREE, wait=True).status_code for _ in range(2)]
    new = [caller.ask(brand=new_brand(), wait=True).status_code for _ in range(3)]

    assert (joined, found) == ([202] * 3, [200] * 2)
    assert new == [200, 200, 503]


def filled_up(target: Target) -> Target:
    """Return the node with a ceiling, which it has reached; it knows `FREE`."""
    limited = target.limited
    limited.a_month_later()
    caller = limited.caller()
    assert caller.found(brand=FREE)["cached"] is False
    until(lambda: caller.ask(brand=new_brand(), wait=True).status_code == 503)
    return limited


@row("L4", "L8", "L10", "8-flight", "R3", "O10", "O11")
def test_a_third_new_brand_waits_until_one_has_ended(fresh: Target) -> None:
    caller = fresh.caller()
    caller.ask(brand="Quellmark")
    running = caller.ask(brand="Zephrine").json()["id"]
    refused = caller.ask(brand=new_brand())
    is_refused(refused, "too_many_in_flight")
    assert limits(refused) == (2, 0, 5)
    assert refused.headers["Retry-After"] == "5"
    fresh.clock.advance(timedelta(seconds=130))

    assert caller.ended(running)["status"] == "failed"
    assert caller.ask(brand=new_brand()).status_code == 202


@row("L10", "C4")
def test_a_search_that_joined_another_keys_run_is_in_flight_too(fresh: Target) -> None:
    first, caller = fresh.caller(), fresh.caller()
    first.ask(brand="Quellmark")
    first.ask(brand="Zephrine")
    caller.ask(brand="Quellmark")
    caller.ask(brand="zephrine")

    is_refused(caller.ask(brand="ZEPHRINE"), "too_many_in_flight")


@row("5.4", "L1", "L3")
def test_a_key_has_its_limits_to_itself(target: Target) -> None:
    one, other = target.caller(), target.caller()
    fill_the_minute(one)
    for _ in range(121):
        one.http.get("/usage")
    is_refused(one.ask(brand=FREE), "rate_limited")
    is_refused(one.http.get("/usage"), "rate_limited")

    assert other.ask(brand=FREE, wait=True).status_code == 200
    assert windows(other.http.get("/usage"))["checks"]["r"] == 119
    assert other.usage()["quota"] == other.key.quota
