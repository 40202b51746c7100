"""`cs search --file`: a whole list, once, however often it is begun."""

import os
import signal

import msgspec
import pytest

from cli.brand_list.list_desk import KEY, Desk, Respond, Service, ordinary
from cli.command import Ran, started
from client.answering import Answer, Got, answered, refusal

pytestmark = pytest.mark.slow

BLOCKED: Answer = (403, b"<html>", {})


def test_a_list_is_searched_once_and_its_people_written(desk: Desk) -> None:
    desk.write("brand,domain\nAcme,acme.example\nbad one,\n")
    service = Service()
    with answered(service) as server:
        ended = desk.search(server)
        results = desk.results
        again = desk.search(server)

    assert ended.code == 3, ended
    assert ended.out.startswith("1 done, 1 failed, 0 left; 1 charged: ")
    assert (again, desk.results) == (ended, results)
    written = (desk.journal, desk.folder / "brands.results.csv")
    assert [file.stat().st_mode & 0o777 for file in written] == [0o600] * 2
    assert len(service.asked) == 2
    acme, bad = results
    assert (acme["row"], acme["asked_domain"], acme["status"]) == ("2", "acme.example", "done")
    assert (acme["full_name"], acme["email"]) == ("Ada of Acme", "ada@a.example")
    assert (bad["row"], bad["status"], bad["reason"]) == ("3", "failed", "no_linkedin")


def test_lines_of_json_are_written_on_demand(desk: Desk) -> None:
    desk.write("Acme\n")
    with answered(Service()) as server:
        assert desk.search(server, "--json").code == 0

    row = msgspec.json.decode((desk.folder / "brands.results.jsonl").read_bytes())
    assert (row["row"], row["brand"], row["domain"]) == (1, "Acme", None)
    assert row["search"]["status"] == "done"


def test_rows_that_come_later_are_all_that_is_asked_wherever_the_list_moved(
    desk: Desk,
) -> None:
    service = Service()
    with answered(service) as server:
        desk.write("Acme\nBeta\n")
        desk.search(server)
        moved = Desk(desk.here, desk.folder.rename(desk.folder.with_name("moved")))
        moved.write("New first\nAcme\nbeta\nACME\n")
        ended = moved.search(server)

    assert service.asked == ["Acme", "Beta", "New first"]
    assert ended.out.startswith("3 done, 0 failed, 0 left; 3 charged")


def test_a_list_whose_journal_is_lost_is_asked_with_the_same_keys(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service()
    with answered(service) as server:
        desk.search(server)
        desk.journal.unlink()
        (desk.folder / "brands.results.csv").unlink()
        ended = desk.search(server)

    assert ended.code == 0
    assert len(service.asked) == 2
    assert len(service.searches) == 1


@pytest.mark.parametrize(
    ("refused", "exit_code"),
    [
        (refusal(429, "rate_limited", Retry_After="4000"), 4),
        (refusal(503, "api_disabled", Retry_After="300"), 4),
        (refusal(402, "quota_exhausted"), 5),
        (refusal(401, "unauthorized"), 1),
        (refusal(404, "not_found"), 1),
        (refusal(500, "server_error"), 1),
        ((502, b"<html>", {}), 1),
    ],
)
def test_it_stops_with_a_refusal_and_goes_on_from_there(
    desk: Desk, refused: Answer, exit_code: int
) -> None:
    desk.write("Acme\nBeta\nGamma\n")
    service = Service(lambda brand, _: refused if brand == "Beta" else None)
    with answered(service) as server:
        stopped = desk.search(server)
        service.respond = ordinary
        ended = desk.search(server)

    assert stopped.code == exit_code, stopped
    assert "run it again to go on" in stopped.err
    assert ended.code == 0
    assert ended.out.startswith("3 done, 0 failed, 0 left; 3 charged")
    assert len(service.searches) == 3


def test_a_row_that_is_wrong_leaves_the_others_alone(desk: Desk) -> None:
    desk.write("A\nBeta\n")
    wrong = refusal(400, "invalid_request")
    service = Service(lambda brand, _: wrong if brand == "A" else None)
    with answered(service) as server:
        ended = desk.search(server)
        again = desk.search(server)

    assert (ended.code, again.code) == (3, 3)
    assert [row["error"] for row in desk.results] == ["invalid_request: not so", ""]
    assert service.asked == ["A", "Beta"]


def test_a_search_that_was_running_is_followed_by_its_id(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service(lives=True)
    file = f"--file={desk.folder / 'brands.csv'}"
    with answered(service) as server:
        with started("search", file, f"--url={server.url}", f"--key={KEY}") as process:
            assert service.polled.wait(timeout=30)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        service.lives = False
        ended = desk.search(server)

    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert service.asked == ["Acme"]
    assert ended.out.startswith("1 done, 0 failed, 0 left; 1 charged")


def test_a_line_that_a_crash_cut_short_is_forgotten(desk: Desk) -> None:
    desk.write("Acme\nBeta\n")
    service = Service()
    with answered(service) as server:
        desk.search(server)
        whole = desk.journal.read_bytes()
        desk.journal.write_bytes(whole[:-10])
        ended = desk.search(server)

    assert ended.code == 0
    assert len(service.searches) == 2
    assert desk.journal.read_bytes() == whole


def test_two_commands_do_not_search_one_list(desk: Desk) -> None:
    desk.write("Acme\n")
    message: list[Ran] = []

    def again(_brand: str, _service: Service) -> Answer | None:
        child = os.fspath(desk.folder / "brands.csv")
        with started("search", f"--file={child}", "--url=http://127.0.0.1:1", "--key=k") as run:
            out, err = run.communicate(timeout=30)
        message.append(Ran(run.returncode, out, err))
        return None

    with answered(Service(again)) as server:
        desk.search(server)

    assert "another command is searching this list" in message[0].error(2)


def test_files_of_something_else_are_left_alone(desk: Desk) -> None:
    results = desk.folder / "brands.results.csv"
    with answered(Service()) as server:
        assert "No such file" in desk.search(server).error(2)
        desk.write("")
        assert "names no brand" in desk.search(server).error(2)
        assert [path.name for path in desk.folder.iterdir()] == ["brands.csv"]
        desk.write("Acme\n")
        results.write_text("mine")
        assert "move it away, or name other --results" in desk.search(server).error(2)
        assert results.read_text() == "mine"
        results.unlink()
        desk.journal.write_text("hello\n")
        assert "line 1 is no entry" in desk.search(server).error(2)


def test_a_list_that_takes_days_says_so_once(desk: Desk) -> None:
    desk.write("".join(f"Brand {number}\n" for number in range(7)))
    policy = {"RateLimit-Policy": '"day";q=2;w=86400', "RateLimit": '"day";r=1;t=9'}
    service = Service()

    def limited(got: Got) -> Answer:
        status, body, headers = service(got)
        return status, body, headers | policy

    with answered(limited) as server:
        ended = desk.search(server)

    assert ended.error(0) == "a key may search 2 brands a day: the list takes about 3 days"


def failing(reason: str) -> Respond:
    def fail(brand: str, _service: Service) -> Answer | None:
        if brand != "Beta":
            return None
        used = {"quota": 9, "used": 1, "remaining": 8}
        record = {"id": "srch_9", "brand": brand, "usage": used, "status": "failed"}
        body = msgspec.json.encode(record | {"reason": reason, "charged": False})
        return 200, body, {"Content-Type": "application/json"}

    return fail


@pytest.mark.parametrize("reason", ["scrape_error", "timeout", "error", "no_emails"])
def test_a_search_that_the_service_could_not_finish_is_made_again_on_demand(
    desk: Desk, reason: str
) -> None:
    desk.write("Acme\nBeta\n")
    service = Service(failing(reason))
    with answered(service) as server:
        first = desk.search(server)
        left_alone = desk.search(server)
        service.respond = lambda brand, _: (500, b"", {}) if brand == "Beta" else None
        desk.search(server, "--retry-failed")
        service.respond = ordinary
        retried = desk.search(server, "--retry-failed")
        asked = [got.headers["idempotency-key"] for got in server.got]

    again = reason != "no_emails"
    assert (first.code, left_alone.code, retried.code) == (3, 3, 0 if again else 3)
    assert service.asked == ["Acme", "Beta", *(["Beta", "Beta"] if again else [])]
    assert len(set(asked)) == (3 if again else 2), "another search, one key until answered"


def test_a_row_that_a_proxy_refuses_is_reported_and_stops_no_other(desk: Desk) -> None:
    desk.write("Acme\nBeta\nGamma\n")
    service = Service(lambda brand, _: BLOCKED if brand == "Acme" else None)
    with answered(service) as server:
        ended = desk.search(server)

    assert ended.code == 1
    assert ended.out.startswith("2 done, 0 failed, 1 left; 2 charged")
    assert "line 1, 'Acme': not_this_api: " in ended.err
    assert service.asked == ["Acme", "Beta", "Gamma"]


def test_three_unanswered_rows_in_a_row_stop_the_list(desk: Desk) -> None:
    desk.write("".join(f"Brand {number}\n" for number in range(9)))
    service = Service(lambda *_: BLOCKED)
    with answered(service) as server:
        ended = desk.search(server)

    assert ended.code == 1
    assert len(service.asked) == 3
    assert "is no server of this API" in ended.err


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
