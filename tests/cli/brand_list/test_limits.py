"""What a list still does once a limit has refused the rows that are new."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.brand_list.list_desk import Desk, Service
from cli.brand_list.test_doubt import BLIND, SEEING, hour
from cli.command import Here
from client.answering import Answer, answered
from cs.cli.list_journal import RowState

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(here: Here, tmp_path: Path) -> Desk:
    return Desk(here, tmp_path)


def lost(desk: Desk, service: Service, *brands: str, times: int = 1) -> None:
    """Search *brands* in each of so many runs without hearing of them."""
    desk.write("\n".join(brands))
    with answered(service.lose) as server:
        for _ in range(times):
            assert desk.at(hour(0), server.url) == 1
    service.asked.clear()


def running(desk: Desk, service: Service, brand: str) -> None:
    """Search *brand* until its id is known, and no longer."""
    lost(desk, service, brand)
    (key,) = service.searches
    desk.write_state(RowState(key=key, search="srch_0"))


def only(brand: str, refused: Answer) -> Callable[[str, Service], Answer | None]:
    """Answer *brand*, which is known, and refuse any other."""
    return lambda asked, _: None if asked == brand else refused


def done(desk: Desk) -> list[str]:
    return [row["asked_brand"] for row in desk.results if row["status"] == "done"]


@pytest.mark.parametrize("refused", SEEING.values(), ids=SEEING)
def test_a_search_that_runs_is_read_whatever_refuses_the_others(
    desk: Desk, refused: Answer
) -> None:
    service = Service()
    running(desk, service, "Acme")
    desk.write("Beta\nAcme\nGamma\n")
    service.respond = only("Acme", refused)
    with answered(service) as server:
        code = desk.at(hour(1), server.url)

    assert code in {4, 5}
    assert done(desk) == ["Acme"]
    assert [got.path for got in server.got if got.method == "GET"] == ["/v1/searches/srch_0"]


def test_a_search_that_runs_is_read_when_a_lost_row_met_a_limit(desk: Desk) -> None:
    service = Service()
    running(desk, service, "Acme")
    lost(desk, service, "Beta")
    desk.write("Beta\nAcme\n")
    service.respond = only("Acme", BLIND["unnamed"])
    with answered(service) as server:
        code = desk.at(hour(1), server.url)

    assert code == 4
    assert done(desk) == ["Acme"]


def test_a_key_that_is_not_taken_is_not_tried_for_the_others(desk: Desk) -> None:
    service = Service()
    running(desk, service, "Acme")
    lost(desk, service, "Beta")
    desk.write("Beta\nAcme\nGamma\n")
    with answered(lambda _: BLIND["key"]) as server:
        code = desk.at(hour(1), server.url)

    assert code == 1
    assert len(server.got) == 1


@pytest.mark.parametrize("refused", SEEING.values(), ids=SEEING)
def test_a_row_that_was_lost_often_is_asked_for_whatever_refuses_the_others(
    desk: Desk, refused: Answer
) -> None:
    service = Service()
    lost(desk, service, "Acme", times=2)
    desk.write("Beta\nAcme\n")
    service.respond = only("Acme", refused)
    with answered(service) as server:
        code = desk.at(hour(1), server.url)

    assert code in {4, 5}
    assert service.asked == ["Beta", "Acme"]
    assert len(service.searches) == 1, "it was found"
    assert done(desk) == ["Acme"]


def test_a_lost_row_that_meets_a_limit_keeps_no_other_from_being_found(desk: Desk) -> None:
    service = Service()
    lost(desk, service, "Acme", "Beta")
    service.respond = only("Beta", BLIND["unnamed"])
    with answered(service) as server:
        code = desk.at(hour(1), server.url)

    assert code == 4
    assert service.asked == ["Acme", "Beta"]
    assert done(desk) == ["Beta"]


def test_a_row_that_is_asked_again_behind_a_limit_and_refused_is_in_no_doubt(
    desk: Desk,
) -> None:
    service = Service()
    desk.write("Acme\n")
    with answered(lambda _: (504, b"<html>", {})) as server:
        desk.at(hour(0), server.url)
        desk.at(hour(0), server.url)
    service.respond = lambda *_: SEEING["day"]
    with answered(service) as server:
        assert desk.at(hour(1), server.url) == 4
        service.respond = lambda *_: None
        code = desk.at(hour(30), server.url)

    assert code == 0
    assert service.asked == ["Acme", "Acme"]
