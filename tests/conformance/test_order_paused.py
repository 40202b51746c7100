"""The operator's pause, and every other reason to refuse a search together with it."""

from collections.abc import Iterator, Mapping

import pytest

from conformance.answers import is_refused
from conformance.obstacles import FREE, PAIRS, Armed, armed, named, tells
from conformance.rows import row
from conformance.target import Target, new_brand, until

pytestmark = pytest.mark.slow

WHILE_PAUSED = [pair for pair in PAIRS if "pause" in pair]


@row("O4", "L7", "L8")
def test_a_pause_stops_new_searches_and_nothing_else(target: Target) -> None:
    target.a_month_later()
    caller = target.caller()
    running = caller.ask({"Idempotency-Key": "before"}, brand="Quellmark").json()["id"]
    try:
        target.command(["pause"])
        until(lambda: caller.ask(brand=new_brand()).status_code == 503)
        refused = caller.ask(brand="Quellmark")
        retried = caller.ask({"Idempotency-Key": "before"}, brand="Quellmark")
        target.a_month_later()
        ended = caller.ended(running)
    finally:
        target.command(["resume"])

    is_refused(refused, "api_disabled")
    assert refused.headers["Retry-After"] == "300"
    assert not [name for name in refused.headers if name.startswith("ratelimit")]
    assert (retried.status_code, retried.json()["id"]) == (202, running)
    assert (ended["status"], ended["charged"]) == ("done", True)
    until(lambda: caller.ask(brand=new_brand()).status_code == 202)


@pytest.fixture(scope="module")
def while_paused(target: Target) -> Iterator[Mapping[tuple[str, str], Armed]]:
    """A request for each pair, and the deployment paused (the node with a ceiling too)."""
    nodes = [node for node in (target, target.ceiling) if node is not None]
    for node in nodes:
        node.a_month_later()
    # A full minute passes soonest, so it is filled last.
    pairs = sorted(WHILE_PAUSED, key=lambda pair: ("windows" in pair, "ceiling" in pair))
    requests = {
        pair: armed(target.limited if "ceiling" in pair else target, pair, fresh=True)
        for pair in pairs
    }
    try:
        for node in nodes:
            node.command(["pause"])
        yield requests
    finally:
        for node in nodes:
            node.command(["resume"])


@row("O4", "R4", "7-codes")
@pytest.mark.parametrize("pair", WHILE_PAUSED, ids=named)
def test_of_the_pause_and_another_obstacle_the_earlier_is_reported(
    while_paused: Mapping[tuple[str, str], Armed], pair: tuple[str, str]
) -> None:
    request = while_paused[pair]
    until(lambda: request.target.caller().ask(brand=FREE).status_code == 503)

    tells(request.send(), pair[0])
