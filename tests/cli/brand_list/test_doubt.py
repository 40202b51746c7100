"""A row whose answer was lost may have been charged, until the service says otherwise."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from cli.brand_list.list_desk import Desk, Service
from cli.command import Here
from client.answering import Answer, Got, answered, refusal
from cs.cli.brand_list import Row
from cs.cli.list_journal import RowState
from cs.client import Patience

pytestmark = pytest.mark.slow

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
WINDOWS = '"minute";r={minute};t=9, "day";r={day};t=4000'
POLICY = '"minute";q=6;w=60, "day";q=60;w=86400'


def hour(hours: float) -> Callable[[], datetime]:
    return lambda: BEGAN + timedelta(hours=hours)


def limited(hit: int, *, minute: int, day: int, checks: str = "") -> Answer:
    """Return the refusal of the limit *hit* with what is left of the others."""
    told = {
        "RateLimit-Limit": str(hit),
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": "4000",
        "RateLimit-Policy": POLICY,
        "RateLimit": WINDOWS.format(minute=minute, day=day) + checks,
    }
    status, body, headers = refusal(429, "rate_limited", Retry_After="4000")
    return status, body, headers | told


#: They come before the service looks for the idempotency key, or from a limit of known keys.
BLIND = {
    "key": refusal(401, "unauthorized"),
    "address": refusal(404, "not_found"),
    "checks": limited(120, minute=0, day=0, checks=', "checks";r=0;t=50'),
    "line": limited(6, minute=0, day=59),
    "unnamed": refusal(429, "rate_limited", Retry_After="4000"),
    "status": refusal(429, "new_code", Retry_After="4000"),
    "unavailable": refusal(503, "new_code", Retry_After="4000"),
    "proxy": (403, b"<html>", {}),
}
#: They come after it, so the key is not known.
SEEING = {
    "quota": refusal(402, "quota_exhausted"),
    "paused": refusal(503, "api_disabled", Retry_After="4000"),
    "capacity": refusal(503, "at_capacity", Retry_After="4000"),
    "in flight": refusal(429, "too_many_in_flight", Retry_After="4000"),
    "day": limited(60, minute=6, day=0),
}


@pytest.fixture
def desk(here: Here, tmp_path: Path) -> Desk:
    return Desk(here, tmp_path)


def lost(desk: Desk, service: Service) -> Service:
    """Search Acme on *service* at hour 0 without hearing of it."""
    desk.write("Acme\n")
    with answered(service.lose) as server:
        assert desk.at(hour(0), server.url) == 1
    return service


@pytest.mark.parametrize("refused", BLIND.values(), ids=BLIND)
def test_a_try_that_came_to_nothing_leaves_the_doubt_of_the_one_before(
    desk: Desk, capsys: pytest.CaptureFixture[str], refused: Answer
) -> None:
    service = lost(desk, Service())
    with answered(lambda _: refused) as server:
        desk.at(hour(1), server.url)
    capsys.readouterr()
    with answered(service) as server:
        code = desk.at(hour(30), server.url)
        again = desk.at(hour(30), server.url, ask_again=True)

    assert (code, again) == (1, 0)
    assert service.asked == ["Acme", "Acme"], "once without being told to, once with"
    assert "1 brands were asked for over 23 hours ago" in capsys.readouterr().err


def test_a_server_that_is_not_there_leaves_the_doubt_of_the_try_before(desk: Desk) -> None:
    service = lost(desk, Service())
    with answered(service) as gone:
        pass
    desk.at(hour(1), gone.url)
    with answered(service) as server:
        code = desk.at(hour(30), server.url)

    assert code == 1
    assert service.asked == ["Acme"]


@pytest.mark.parametrize("refused", SEEING.values(), ids=SEEING)
def test_a_refusal_from_behind_the_look_up_takes_the_doubt_back(
    desk: Desk, refused: Answer
) -> None:
    desk.write("Acme\n")
    with answered(lambda _: (504, b"<html>", {})) as server:
        desk.at(hour(0), server.url)
    with answered(lambda _: refused) as server:
        assert desk.at(hour(1), server.url) in {4, 5}
    service = Service()
    with answered(service) as server:
        code = desk.at(hour(30), server.url)

    assert code == 0
    assert service.asked == ["Acme"]


def test_what_is_forgotten_is_not_shown_to_be_unknown(desk: Desk) -> None:
    service = lost(desk, Service())
    with answered(lambda _: SEEING["quota"]) as server:
        assert desk.at(hour(30), server.url, ask_again=True) == 5
    with answered(service) as server:
        code = desk.at(hour(31), server.url)

    assert code == 1
    assert service.asked == ["Acme"]


def test_a_row_in_doubt_is_asked_again_while_it_is_known(desk: Desk) -> None:
    service = lost(desk, Service())
    desk.write("Beta\nAcme\n")
    with answered(service) as server:
        code = desk.at(hour(22.9), server.url)

    assert code == 0
    assert service.asked == ["Acme", "Acme", "Beta"], "first of all, as its time runs"
    assert len(service.searches) == 2


def test_whether_a_row_is_still_known_is_judged_when_its_turn_has_come(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write("Acme\nBeta\n")
    service = Service()
    with answered(service.lose) as server:
        desk.at(hour(0), server.url)
    service.asked.clear()
    now = [BEGAN + timedelta(hours=22)]

    def slow(got: Got) -> Answer:
        now[0] += timedelta(hours=2)
        return service(got)

    with answered(slow) as server:
        code = desk.at(lambda: now[0], server.url)

    assert code == 1
    assert service.asked == ["Acme"]
    assert "1 brands were asked for over 23 hours ago" in capsys.readouterr().err


def test_a_machine_that_was_suspended_between_two_tries_asks_no_more(desk: Desk) -> None:
    service = lost(desk, Service())
    now = [hour(22.9)()]
    soon = refusal(429, "rate_limited", Retry_After="5")

    def suspend(_: float) -> None:
        now[0] += timedelta(hours=3)

    with answered(lambda _: soon) as server:
        code = desk.at(lambda: now[0], server.url, patience=Patience(), sleep=suspend)
    with answered(service) as later:
        again = desk.at(hour(30), later.url)

    assert (code, again) == (4, 1)
    assert len(server.got) == 1
    assert service.asked == ["Acme"]


@pytest.mark.parametrize("status", [408, 502, 503, 504])
def test_a_gateway_that_speaks_as_the_service_does_leaves_doubt(
    desk: Desk, status: int
) -> None:
    service = Service()
    desk.write("Acme\n")
    with answered(lambda got: (service(got), refusal(status, "gateway"))[1]) as server:
        desk.at(hour(0), server.url)
    with answered(service) as server:
        code = desk.at(hour(30), server.url)

    assert code == 1
    assert service.asked == ["Acme"]


def test_a_clock_that_was_set_back_makes_no_row_younger(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    service = lost(desk, Service())
    with answered(service) as server:
        code = desk.at(hour(-1), server.url)
        told = capsys.readouterr().err
        with_leave = desk.at(hour(-1), server.url, ask_again=True)

    assert (code, with_leave) == (1, 0)
    assert service.asked == ["Acme", "Acme"], "once without being told to, once with"
    assert "over 23 hours ago, or who knows when" in told


def test_clocks_that_differ_a_little_leave_no_doubt(desk: Desk) -> None:
    service = lost(desk, Service())
    with answered(service) as server:
        code = desk.at(hour(-0.05), server.url)

    assert code == 0
    assert service.asked == ["Acme", "Acme"]


def test_a_row_is_asked_again_as_it_was_written_at_first(desk: Desk) -> None:
    service = Service()
    bodies: dict[str, bytes] = {}

    def strict(got: Got) -> Answer:
        body = bodies.setdefault(got.headers["idempotency-key"], got.body)
        if got.body != body:
            message = "this Idempotency-Key was used for another search"
            told = {"error": {"code": "invalid_request", "message": message}}
            return 400, msgspec.json.encode(told), {}
        return service(got)

    desk.write("Nike\n")
    with answered(lambda got: (strict(got), (504, b"<html>", {}))[1]) as server:
        desk.at(hour(0), server.url)
    desk.write("NIKE\n")
    with answered(strict) as server:
        code = desk.at(hour(1), server.url)

    assert code == 0
    assert service.asked == ["Nike", "Nike"]
    assert [row["asked_brand"] for row in desk.results] == ["NIKE"]


def test_a_row_that_was_refused_is_asked_as_it_is_written_by_then(desk: Desk) -> None:
    desk.write("Nike\n")
    service = Service(lambda *_: SEEING["quota"])
    with answered(service) as server:
        desk.at(hour(0), server.url)
        service.respond = lambda *_: None
        desk.write("NIKE\n")
        desk.at(hour(1), server.url)

    assert service.asked == ["Nike", "NIKE"]


def test_a_row_shown_to_be_unknown_is_asked_with_the_others(desk: Desk) -> None:
    desk.write("Acme\n")
    with answered(lambda _: (504, b"<html>", {})) as server:
        desk.at(hour(0), server.url)
    service = Service()
    full = [SEEING["in flight"]]
    service.respond = lambda *_: full.pop() if full else None
    with answered(service) as server:
        code = desk.at(hour(1), server.url)

    assert code == 0
    assert service.asked == ["Acme", "Acme"]


def test_a_row_shown_to_be_unknown_is_in_no_doubt_when_it_is_refused(desk: Desk) -> None:
    desk.write("Acme\n")
    with answered(lambda _: (504, b"<html>", {})) as server:
        desk.at(hour(0), server.url)
    refused = [refusal(401, "unauthorized"), SEEING["in flight"]]
    with answered(lambda _: refused.pop()) as server:
        desk.at(hour(1), server.url)
    service = Service()
    with answered(service) as server:
        code = desk.at(hour(30), server.url)

    assert code == 0
    assert service.asked == ["Acme"]


def test_what_others_met_says_nothing_of_a_row_that_was_not_asked(desk: Desk) -> None:
    desk.write("A\nB\nC\nD\nE\n")
    answers = [SEEING["capacity"], SEEING["capacity"], (504, b"<html>", {})]
    service = Service(lambda *_: answers.pop(0) if answers else SEEING["capacity"])
    twice = Patience(tries=2, first_s=0.001)
    with answered(service) as server:
        code = desk.at(hour(0), server.url, patience=twice)

    last = {state.key: state for state in desk.states}
    assert code == 4
    assert {state.row.brand for state in last.values() if state.row} == {"C"}


def test_a_journal_without_the_words_of_a_row_asks_in_those_of_the_list(desk: Desk) -> None:
    service = lost(desk, Service())
    key = next(iter(service.searches))
    desk.write_state(RowState(key=key, asked_at=BEGAN))
    desk.write("ACME\n")
    with answered(service) as server:
        desk.at(hour(1), server.url)

    assert service.asked == ["Acme", "ACME"]


def test_what_is_asked_is_on_disk_in_its_words(desk: Desk) -> None:
    lost(desk, Service())

    assert desk.states[0].row == Row(1, "Acme", None)
