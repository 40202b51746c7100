"""Of two reasons to refuse a search, the more lasting one is reported."""

from datetime import timedelta

import pytest

from conformance.answers import is_refused
from conformance.obstacles import FREE, PAIRS, armed, named, tells
from conformance.rows import row
from conformance.target import Target, new_brand, until

pytestmark = pytest.mark.slow

OTHERS = [pair for pair in PAIRS if "pause" not in pair]
_MINUTE = timedelta(minutes=1)


@row("O1", "O2", "O3", "O3b", "O5", "O6", "O9", "O10", "R4", "5.5")
@pytest.mark.parametrize("pair", OTHERS, ids=named)
def test_of_two_obstacles_the_earlier_is_reported(
    target: Target, pair: tuple[str, str]
) -> None:
    tells(armed(_with_ceiling(target, pair), pair).send(), pair[0])


def _with_ceiling(target: Target, obstacles: tuple[str, ...]) -> Target:
    return target.limited if "ceiling" in obstacles else target


@row("O6", "8-day")
def test_of_two_full_windows_the_longer_wait_is_reported(fresh: Target) -> None:
    caller = fresh.caller()
    for number in range(60):
        assert caller.ask(brand=FREE, wait=True).status_code == 200
        if number % 6 == 5 and number < 59:
            fresh.clock.advance(_MINUTE)
    refused = caller.ask(brand=FREE)

    is_refused(refused, "rate_limited")
    assert refused.headers["RateLimit-Limit"] == "60"
    assert int(refused.headers["Retry-After"]) > 80_000


@row("O6", "O7", "O8")
def test_a_full_window_is_reported_before_a_running_search_is_joined_or_an_answer_reused(
    fresh: Target,
) -> None:
    caller = fresh.caller()
    for _ in range(5):
        caller.ask(brand=FREE, wait=True)
    caller.ask(brand="Quellmark")

    tells(caller.ask(brand="Quellmark"), "windows")
    tells(caller.ask(brand=FREE), "windows")


@row("O7", "O8", "O9")
def test_at_capacity_running_lookups_are_joined_and_known_brands_answered(
    target: Target,
) -> None:
    limited = target.limited
    limited.a_month_later()
    caller, other = limited.caller(), limited.caller()
    caller.ask(brand=FREE, wait=True)
    first = caller.ask(brand="Quellmark").json()["id"]
    until(lambda: caller.ask(brand=new_brand(), wait=True).status_code == 503)

    assert caller.ask(brand="Quellmark").json()["id"] == first
    assert other.ask(brand="Quellmark").status_code == 202
    assert other.ask(brand=FREE).status_code == 200


@row("O8", "O10", "O10b")
def test_in_flight_and_the_last_unit_leave_reuse_alone_where_it_is_free(fresh: Target) -> None:
    caller = fresh.caller(2)
    for brand in (FREE, "Quellmark", "Zephrine"):
        caller.ask(brand=brand, wait=brand == FREE)
    fresh.caller().found(brand="Veltrana")

    assert caller.ask(brand=FREE).json()["cached"] is True
    tells(caller.ask(brand="Veltrana"), "last unit")
