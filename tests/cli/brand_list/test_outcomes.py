"""What stops a list, what only one row of it, and what the command ends with."""

from itertools import permutations
from pathlib import Path

import pytest

from cli.brand_list.list_desk import Desk, Service
from cli.command import Here
from client.answering import Answer, answered, refusal
from cs.cli.search_record import exit_code, most_severe
from cs.client import (
    AtCapacity,
    ClientError,
    QuotaExceeded,
    RateLimited,
    StillRunning,
    Unauthorized,
    Unreachable,
)

pytestmark = pytest.mark.slow

BLOCKED: Answer = (403, b"<html>", {})


@pytest.fixture
def desk(here: Here, tmp_path: Path) -> Desk:
    return Desk(here, tmp_path)


def blocking(*blocked: str) -> Service:
    return Service(lambda brand, _: BLOCKED if brand in blocked else None)


def test_a_row_that_a_proxy_refuses_is_told_and_stops_no_other(desk: Desk) -> None:
    desk.write("Acme\nBeta\nGamma\n")
    service = blocking("Acme")
    with answered(service) as server:
        ended = desk.search(server)

    assert ended.code == 1
    assert ended.out.startswith("2 done, 0 failed, 1 left; 2 charged")
    assert "line 1, 'Acme': not_this_api: " in ended.err
    assert service.asked == ["Acme", "Beta", "Gamma"]


def test_rows_in_a_row_that_nobody_answers_stop_the_list(desk: Desk) -> None:
    desk.write("".join(f"Brand {number}\n" for number in range(9)))
    service = Service(lambda *_: BLOCKED)
    with answered(service) as server:
        ended = desk.search(server)

    assert ended.code == 1
    assert len(service.asked) == 3
    assert "is no server of this API" in ended.err


def test_rows_that_a_proxy_refuses_now_and_then_stop_nothing(desk: Desk) -> None:
    desk.write("".join(f"Brand {number}\n" for number in range(9)))
    blocked = [f"Brand {number}" for number in range(9) if number % 3]
    service = blocking(*blocked)
    with answered(service) as server:
        ended = desk.search(server)

    assert len(service.asked) == 9
    assert ended.out.startswith("3 done, 0 failed, 6 left")


@pytest.mark.parametrize(
    "refused", [BLOCKED, (200, b"cut", {"Content-Type": "application/json"})]
)
def test_rows_that_are_never_answered_end_up_behind_the_others(
    desk: Desk, refused: Answer
) -> None:
    desk.write("A1\nA2\nA3\nBeta\n")
    service = Service(lambda brand, _: refused if brand.startswith("A") else None)
    with answered(service) as server:
        for _ in range(7):
            desk.search(server)
        service.respond = lambda *_: None
        ended = desk.search(server)

    assert ended.out.startswith("4 done, 0 failed, 0 left; 4 charged")
    assert service.asked.count("Beta") == 1
    assert service.asked.index("Beta") < len(service.asked) - 4, "while others still failed"


def test_a_row_is_asked_once_in_a_run(desk: Desk) -> None:
    desk.write("Acme\nBeta\n")
    service = blocking("Acme")
    with answered(service) as server:
        for _ in range(3):
            desk.search(server)

    assert service.asked == ["Acme", "Beta", "Acme", "Acme"]


ERRORS: list[ClientError] = [
    QuotaExceeded("", code="quota_exhausted"),
    RateLimited("", code="rate_limited", retry_after_s=4000),
    AtCapacity("", code="at_capacity", retry_after_s=60),
    Unauthorized("", code="unauthorized"),
]


@pytest.mark.parametrize("other", [Unreachable(""), StillRunning("", code="running")])
def test_the_gravest_of_several_errors_wins_in_any_order(other: ClientError) -> None:
    for errors in permutations([*ERRORS, other]):
        assert most_severe(errors) is ERRORS[0]
    for errors in permutations([*ERRORS[1:], other]):
        assert most_severe(errors) is ERRORS[1]
    for errors in permutations([ERRORS[2], other]):
        assert exit_code(errors[0]) in {1, 4}
        assert most_severe(errors) is ERRORS[2]


def test_no_error_is_none() -> None:
    assert most_severe([]) is None


def test_the_daily_limit_wins_over_what_comes_after_it(desk: Desk) -> None:
    desk.write("Acme\nBeta\n")
    service = Service(lives=True)
    full = refusal(429, "rate_limited", Retry_After="4000")
    service.respond = lambda brand, _: full if brand == "Beta" else None
    with answered(lambda got: BLOCKED if got.method == "GET" else service(got)) as server:
        ended = desk.search(server)

    assert [got.method for got in server.got] == ["POST", "POST", "GET"]
    assert ended.code == 4, ended
    assert "rate_limited: not so" in ended.err
