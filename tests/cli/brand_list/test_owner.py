"""A list belongs to a key, whatever its secret, and a server, whatever its address."""

import pytest

from cli.brand_list.list_desk import KEY, Desk, Service
from client.answering import Answer, Got, answered, refusal

pytestmark = pytest.mark.slow

ROTATED = "cs_live_rotated"


def test_a_list_that_another_key_began_is_not_mixed(desk: Desk) -> None:
    desk.write("Acme\n")
    with answered(Service()) as server:
        desk.search(server)
        before = desk.journal.read_bytes()
        told = desk.search(server, "--ask-again", key="cs_live_other").told(2)

    assert (
        "begun with another key or server: this one does not know its search 'srch_0'" in told
    )
    assert desk.journal.read_bytes() == before
    assert KEY not in desk.journal.read_text()


def test_another_server_that_knows_some_search_is_not_the_same(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service()
    with answered(service) as server:
        desk.search(server)

    def told(got: Got) -> Answer:
        service(got)
        return 200, service.told(0)[1].replace(b"srch_0", b"srch_9"), {}

    with answered(told) as other:
        assert "another key or server" in desk.search(other).told(2)


def test_a_list_goes_on_with_a_rotated_key_at_another_address(desk: Desk) -> None:
    desk.write("Acme\nBeta\nbad one\n")
    service = Service()
    with answered(lambda got: (service.lose if b"Beta" in got.body else service)(got)) as first:
        desk.search(first)
    service.secrets = {ROTATED}
    desk.write("Acme\nBeta\nbad one\nGamma\n")
    with answered(service) as server:
        ended = desk.search(server, key=ROTATED)
        again = desk.search(server, key=ROTATED)

    assert ended.out.startswith("3 done, 1 failed, 0 left; 3 charged")
    assert (ended.out, ended.err) == (again.out, again.err)
    assert service.asked == ["Acme", "Beta", "bad one", "Beta", "Gamma"]
    assert len(service.searches) == 4, "the lost answer is found, not charged again"
    assert len([got for got in server.got if got.method == "GET"]) == 1


@pytest.mark.parametrize(
    ("refused", "code", "told"),
    [
        (refusal(401, "unauthorized"), 1, "unauthorized: not so"),
        (refusal(429, "rate_limited", Retry_After="9"), 4, "rate_limited: not so"),
        ((502, b"<html>", {}), 1, "not_this_api: "),
    ],
)
def test_whose_list_it_is_cannot_always_be_found_out(
    desk: Desk, refused: Answer, code: int, told: str
) -> None:
    desk.write("Acme\n")
    with answered(Service()) as server:
        desk.search(server)
    desk.write("Acme\nBeta\n")
    with answered(lambda _: refused) as other:
        ended = desk.search(other)

    assert ended.told(code).startswith(told)
    assert [got.method for got in other.got] == ["GET"]


def test_where_all_answers_were_lost_another_key_asks_only_on_demand(desk: Desk) -> None:
    service = Service()
    desk.write("Acme\n")
    with answered(service.lose) as server:
        desk.search(server)
    with answered(service) as server:
        told = desk.search(server, key=ROTATED).told(2)
        asked = len(service.asked)
        ended = desk.search(server, "--ask-again", key=ROTATED)

    assert "all answers were lost" in told
    assert "--ask-again to ask this one, which may charge 1 brands twice" in told
    assert asked == 1
    assert ended.out.startswith("1 done, 0 failed, 0 left; 1 charged")


@pytest.mark.parametrize(
    ("refused", "code"), [(refusal(400, "invalid_request"), 3), (refusal(401, "no"), 1)]
)
def test_a_list_of_which_nothing_was_taken_goes_on_with_any_key(
    desk: Desk, refused: Answer, code: int
) -> None:
    service = Service(lambda *_: refused)
    desk.write("A\n")
    with answered(service) as server:
        assert desk.search(server, key="cs_live_mistaken").code == code
        service.respond = lambda *_: None
        desk.write("Beta\n")
        ended = desk.search(server)

    assert ended.out.startswith("1 done, 0 failed, 0 left; 1 charged")
