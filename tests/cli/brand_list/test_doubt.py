"""A row whose answer was lost may have been charged, until the service says otherwise."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from cli.brand_list.list_desk import KEY, Desk, Service
from client.answering import Answer, Got, answered, refusal

pytestmark = pytest.mark.slow

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
LOST: Answer = (504, b"<html>", {})
IN_DOUBT = "1 brands were asked for over 23 hours ago, or with another key or server"


def hour(hours: float) -> Callable[[], datetime]:
    return lambda: BEGAN + timedelta(hours=hours)


#: They come before the service looks for the idempotency key, or from a limit of known keys.
BLIND = {
    "key": refusal(401, "unauthorized"),
    "limit": refusal(429, "rate_limited", Retry_After="4000"),
    "proxy": (403, b"<html>", {}),
}
#: They come after it, so the key is not known.
SEEING = {
    "quota": refusal(402, "quota_exhausted"),
    "capacity": refusal(503, "at_capacity", Retry_After="4000"),
}


def lost(desk: Desk, service: Service, *brands: str) -> Service:
    """Search *brands* on *service* at hour 0 without hearing of them."""
    desk.write("\n".join(brands))
    with answered(service.lose) as server:
        assert desk.at(hour(0), server.url) == 1
    service.asked.clear()
    return service


def done(desk: Desk) -> list[str]:
    return [row["asked_brand"] for row in desk.results if row["status"] == "done"]


@pytest.mark.parametrize("refused", BLIND.values(), ids=BLIND)
def test_a_try_that_came_to_nothing_leaves_the_doubt_of_the_one_before(
    desk: Desk, capsys: pytest.CaptureFixture[str], refused: Answer
) -> None:
    service = lost(desk, Service(), "Acme")
    with answered(lambda _: refused) as server:
        desk.at(hour(1), server.url)
    desk.at(hour(1), server.url)  # it is not there any more
    capsys.readouterr()
    with answered(service) as server:
        assert desk.at(hour(30), server.url) == 1
        assert service.asked == []
        assert desk.at(hour(30), server.url, ask_again=True) == 0

    assert service.asked == ["Acme"]
    assert IN_DOUBT in capsys.readouterr().err


@pytest.mark.parametrize("refused", SEEING.values(), ids=SEEING)
def test_a_refusal_from_behind_the_look_up_takes_the_doubt_back(
    desk: Desk, refused: Answer
) -> None:
    desk.write("Acme\n")
    with answered(lambda _: LOST) as server:
        desk.at(hour(0), server.url)
    with answered(lambda _: refused) as server:
        assert desk.at(hour(1), server.url) in {4, 5}
    service = Service()
    with answered(service) as server:
        assert desk.at(hour(30), server.url) == 0

    assert service.asked == ["Acme"]


def test_a_refusal_shows_nothing_when_the_key_is_forgotten_by_then(desk: Desk) -> None:
    service = lost(desk, Service(), "Acme")
    with answered(lambda _: SEEING["quota"]) as server:
        assert desk.at(hour(30), server.url, ask_again=True) == 5
    with answered(service) as server:
        assert desk.at(hour(31), server.url) == 1

    assert service.asked == []


def test_a_row_in_doubt_is_asked_again_first_and_found_while_it_is_known(desk: Desk) -> None:
    service = lost(desk, Service(), "Acme")
    desk.write("Beta\nAcme\n")
    with answered(service) as server:
        assert desk.at(hour(22.9), server.url) == 0

    assert service.asked == ["Acme", "Beta"], "first of all, as its time runs"
    assert len(service.searches) == 2


def test_whether_a_row_is_still_known_is_judged_when_its_turn_has_come(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    service = lost(desk, Service(), "Acme", "Beta")
    now = [hour(22)()]

    def slow(got: Got) -> Answer:
        now[0] += timedelta(hours=2)
        return service(got)

    with answered(slow) as server:
        assert desk.at(lambda: now[0], server.url) == 1

    assert service.asked == ["Acme"]
    assert IN_DOUBT in capsys.readouterr().err


@pytest.mark.parametrize(("hours", "code"), [(-1, 1), (-0.05, 0)])
def test_a_clock_that_was_set_back_makes_no_row_younger(
    desk: Desk, capsys: pytest.CaptureFixture[str], hours: float, code: int
) -> None:
    """Clocks that differ by a few minutes leave no doubt."""
    service = lost(desk, Service(), "Acme")
    with answered(service) as server:
        assert desk.at(hour(hours), server.url) == code

    assert service.asked == ([] if code else ["Acme"])
    assert (IN_DOUBT in capsys.readouterr().err) is bool(code)


def test_a_row_is_asked_again_as_it_was_written_at_first(desk: Desk) -> None:
    service = Service()
    bodies: dict[str, bytes] = {}

    def strict(got: Got) -> Answer:
        if bodies.setdefault(got.headers["idempotency-key"], got.body) != got.body:
            return refusal(400, "invalid_request")
        return service(got)

    desk.write("Nike\n")
    with answered(lambda got: (strict(got), LOST)[1]) as server:
        desk.at(hour(0), server.url)
    desk.write("NIKE\n")
    with answered(strict) as server:
        assert desk.at(hour(1), server.url) == 0

    assert service.asked == ["Nike", "Nike"]
    assert done(desk) == ["NIKE"]


@pytest.mark.parametrize("kind", ["running", "lost"])
def test_a_row_that_was_asked_for_is_read_whatever_refuses_the_others(
    desk: Desk, kind: str
) -> None:
    service = lost(desk, Service(), "Acme")
    (key,) = service.searches
    if kind == "running":
        desk.write_running(key, "srch_0", BEGAN)
    desk.write("Beta\nAcme\nGamma\n")
    service.respond = lambda asked, _: None if asked == "Acme" else SEEING["quota"]
    with answered(service) as server:
        assert desk.at(hour(1), server.url) == 5

    assert done(desk) == ["Acme"]
    assert len(service.searches) == 1, "it was found"


@pytest.mark.parametrize(
    "refused", [(403, b"<html>", {}), (200, b"cut", {"Content-Type": "application/json"})]
)
def test_rows_that_are_never_answered_keep_no_other_from_being_searched(
    desk: Desk, refused: Answer
) -> None:
    desk.write("A1\nA2\nA3\nBeta\n")
    service = Service(lambda brand, _: refused if brand.startswith("A") else None)
    with answered(service) as server:
        for _ in range(5):
            desk.at(hour(0), server.url)
        assert done(desk) == ["Beta"]
        service.respond = lambda *_: None
        assert desk.at(hour(0), server.url) == 0

    assert service.asked.count("Beta") == 1


def test_another_key_goes_on_and_leaves_alone_what_the_first_one_may_have_paid_for(
    desk: Desk,
) -> None:
    service, other = Service(), "cs_live_rotated"
    service.secrets = {KEY, other}
    desk.write("Acme\nBeta\nGamma\n")
    with answered(
        lambda got: (service.lose if b"Beta" in got.body else service)(got)
    ) as server:
        desk.search(server)
    service.respond = lambda brand, _: (
        refusal(401, "unauthorized") if brand == "Gamma" else None
    )
    with answered(service) as server:
        left = desk.search(server, key=other)
        service.respond = lambda *_: None
        asked = desk.search(server, "--ask-again", key=other)

    assert IN_DOUBT in left.err
    assert (left.code, asked.code) == (1, 0)
    assert service.asked.count("Acme") == 1
    assert KEY not in desk.journal.read_text()


def test_a_search_that_runs_for_another_key_is_not_asked_for(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service(lives=True)

    def answer(got: Got) -> Answer:
        return BLIND["proxy"] if got.method == "GET" and service.lives else service(got)

    with answered(answer) as server:
        desk.search(server)
        service.lives = False
        left = desk.search(server, key="cs_live_other")
        found = desk.search(server)

    assert (left.code, IN_DOUBT in left.err, found.code) == (1, True, 0)
    assert service.asked == ["Acme"]


def test_what_others_met_says_nothing_of_a_row_that_was_not_asked(desk: Desk) -> None:
    desk.write("A\nB\nC\nD\nE\n")
    answers = [SEEING["capacity"], SEEING["capacity"], LOST]
    service = Service(lambda *_: answers.pop(0) if answers else SEEING["capacity"])
    with answered(service) as server:
        desk.at(hour(0), server.url)
    service.respond = lambda *_: None
    service.asked.clear()
    with answered(service) as server:
        desk.at(hour(30), server.url)

    assert service.asked == ["A", "B", "D", "E"], "C may have been charged"


def test_a_lost_row_that_meets_a_limit_keeps_no_other_from_being_found(desk: Desk) -> None:
    service = lost(desk, Service(), "Acme", "Beta")
    service.respond = lambda asked, _: None if asked == "Beta" else BLIND["limit"]
    with answered(service) as server:
        assert desk.at(hour(1), server.url) == 4

    assert service.asked == ["Acme", "Beta"]
    assert done(desk) == ["Beta"]
