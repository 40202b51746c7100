"""`cs search --file`: a whole list, once, however often it is begun."""

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from cli.brand_list.list_desk import KEY, Desk, Respond, Service, ordinary
from cli.command import Here, Ran, started
from client.answering import Answer, Got, answered, refusal
from cs.cli.list_journal import RowState

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(here: Here, tmp_path: Path) -> Desk:
    return Desk(here, tmp_path)


def test_a_list_is_searched_and_its_people_written(desk: Desk) -> None:
    desk.write("brand,domain\nAcme,acme.example\nbad one,\n")
    with answered(Service()) as server:
        ended = desk.search(server)

    assert ended.code == 3, ended
    assert ended.out.startswith("1 done, 1 failed, 0 left; 1 charged: ")
    acme, bad = desk.results
    assert (acme["row"], acme["asked_domain"], acme["status"]) == ("2", "acme.example", "done")
    assert (acme["full_name"], acme["email"]) == ("Ada of Acme", "ada@a.example")
    assert (bad["row"], bad["status"], bad["reason"]) == ("3", "failed", "no_linkedin")


def test_lines_of_json_are_written_on_demand(desk: Desk) -> None:
    desk.write("Acme\n")
    with answered(Service()) as server:
        ended = desk.search(server, "--json")

    line = (desk.folder / "brands.results.jsonl").read_bytes()
    assert ended.code == 0
    row = msgspec.json.decode(line)
    assert (row["row"], row["brand"], row["domain"]) == (1, "Acme", None)
    assert row["search"]["status"] == "done"


def test_a_second_run_asks_nothing_and_says_the_same(desk: Desk) -> None:
    desk.write("Acme\nBeta\n")
    service = Service()
    with answered(service) as server:
        first = desk.search(server)
        before = desk.results
        asked = len(service.asked)
        second = desk.search(server)

    assert (first.code, first.out) == (second.code, second.out)
    assert desk.results == before
    assert len(service.asked) == asked == 2


def test_a_list_that_moves_with_its_journal_goes_on(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service()
    with answered(service) as server:
        desk.search(server)
        moved = Desk(desk.here, desk.folder.rename(desk.folder.with_name("moved")))
        moved.write("Acme\nBeta\n")
        ended = moved.search(server)

    assert ended.code == 0
    assert service.asked == ["Acme", "Beta"]


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


def test_rows_that_come_later_are_all_that_is_asked(desk: Desk) -> None:
    service = Service()
    with answered(service) as server:
        desk.write("Acme\nBeta\n")
        desk.search(server)
        desk.write("New first\nAcme\nbeta\nACME\n")
        ended = desk.search(server)

    assert service.asked == ["Acme", "Beta", "New first"]
    assert ended.out.startswith("3 done, 0 failed, 0 left; 3 charged")


@pytest.mark.parametrize(
    ("refused", "exit_code"),
    [
        (refusal(429, "rate_limited", Retry_After="4000"), 4),
        (refusal(503, "api_disabled", Retry_After="300"), 4),
        (refusal(402, "quota_exhausted"), 5),
        (refusal(401, "unauthorized"), 1),
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


def test_an_answer_that_was_lost_is_found_and_not_charged_again(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service()

    def lose(brand: str, service: Service) -> Answer | None:
        service.searches.setdefault("lost", brand)
        return (500, b"", {})

    with answered(service) as server:
        service.respond = lose
        desk.search(server)
        key = msgspec.json.decode(desk.journal.read_bytes().splitlines()[1])["key"]
        sent = server.got[0].headers["idempotency-key"]
        service.respond = ordinary
        desk.search(server)

    assert key == sent == server.got[1].headers["idempotency-key"]


def test_what_was_lost_too_long_ago_is_asked_again_only_on_demand(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service(lambda *_: refusal(402, "quota_exhausted"))
    with answered(service) as server:
        desk.search(server)
        key = server.got[0].headers["idempotency-key"]
        asked_at = datetime.now(UTC) - timedelta(hours=23, minutes=1)
        desk.write_state(RowState(key=key, asked_at=asked_at))
        service.respond = ordinary
        doubtful = desk.search(server)
        asked_before = len(server.got)
        again = desk.search(server, "--ask-again")

    assert doubtful.code == 1
    assert "1 brands were asked for over 23 hours ago" in doubtful.err
    assert asked_before == 1
    assert again.code == 0


def test_a_refusal_leaves_no_doubt(desk: Desk) -> None:
    desk.write("Acme\n")
    with answered(Service(lambda *_: refusal(402, "quota_exhausted"))) as server:
        desk.search(server)

    asked, refused = desk.states
    assert asked.is_unanswered
    assert refused == RowState(key=asked.key)


def test_a_search_that_was_running_is_followed_by_its_id(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service(lives=True)
    with answered(service) as server:
        with started(
            "search",
            f"--file={desk.folder / 'brands.csv'}",
            f"--url={server.url}",
            f"--key={KEY}",
        ) as process:
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


def test_results_of_something_else_are_not_written_over(desk: Desk) -> None:
    desk.write("Acme\n")
    (desk.folder / "brands.results.csv").write_text("mine")
    with answered(Service()) as server:
        told = desk.search(server).told(2)

    assert "move it away, or name other --results" in told
    assert (desk.folder / "brands.results.csv").read_text() == "mine"


def test_a_journal_of_something_else_is_told(desk: Desk) -> None:
    desk.write("Acme\n")
    desk.journal.write_text("hello\n")
    with answered(Service()) as server:
        assert "line 1 is no entry" in desk.search(server).told(2)


def test_two_commands_do_not_search_one_list(desk: Desk) -> None:
    desk.write("Acme\n")
    told: list[Ran] = []

    def again(_brand: str, _service: Service) -> Answer | None:
        child = os.fspath(desk.folder / "brands.csv")
        with started("search", f"--file={child}", "--url=http://127.0.0.1:1", "--key=k") as run:
            out, err = run.communicate(timeout=30)
        told.append(Ran(run.returncode, out, err))
        return None

    with answered(Service(again)) as server:
        desk.search(server)

    assert "another command is searching this list" in told[0].told(2)


def test_formulas_of_anybody_are_text_in_the_results(desk: Desk) -> None:
    desk.write('"=cmd|x"\n')
    with answered(Service()) as server:
        desk.search(server)

    assert desk.results[0]["asked_brand"] == "'=cmd|x"
    assert desk.results[0]["brand"] == "'=cmd|x"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\xff\xfe", "is not UTF-8"),
        (b"brand\nCaf\xe9\n", "is not UTF-8"),
        (None, "No such file"),
        (b"", "names no brand"),
        (b'Acme\n"Beta\n', "brands.csv, line 2: a quote is opened"),
        (b"\xef\xbb\xbfbrand,domain\r\n,\r\n", "names no brand"),
    ],
)
def test_a_list_that_cannot_be_read_is_told(desk: Desk, text: bytes | None, told: str) -> None:
    if text is not None:
        (desk.folder / "brands.csv").write_bytes(text)
    with answered(Service()) as server:
        assert told in desk.search(server).told(2)


def test_a_list_that_cannot_be_read_leaves_nothing_behind(desk: Desk) -> None:
    desk.write("")
    with answered(Service()) as server:
        desk.search(server)

    assert [path.name for path in desk.folder.iterdir()] == ["brands.csv"]


def test_a_list_that_is_a_folder_is_told(desk: Desk) -> None:
    (desk.folder / "brands.csv").mkdir()
    with answered(Service()) as server:
        assert "Is a directory" in desk.search(server).told(2)


def test_results_that_are_a_folder_are_told(desk: Desk) -> None:
    desk.write("Acme\n")
    (desk.folder / "brands.results.csv").mkdir()
    with answered(Service()) as server:
        assert "is a folder; name a file in it" in desk.search(server).told(2)


def test_a_list_of_which_nothing_was_taken_is_begun_anew_with_another_key(desk: Desk) -> None:
    desk.write("Acme\n")
    service = Service(lambda *_: refusal(401, "unauthorized"))
    with answered(service) as server:
        mistaken = desk.search(server, key="cs_live_mistaken")
        service.respond = ordinary
        ended = desk.search(server)

    assert (mistaken.code, ended.code) == (1, 0), ended
    asked, finished = desk.states
    assert (asked.is_finished, finished.is_finished) == (False, True)


def test_a_wrong_address_finishes_no_row(desk: Desk) -> None:
    desk.write("Acme\nBeta\n")
    service = Service(lambda *_: refusal(404, "not_found"))
    with answered(service) as server:
        stopped = desk.search(server)
        service.respond = ordinary
        ended = desk.search(server)

    assert stopped.code == 1
    assert stopped.out.startswith("0 done, 0 failed, 2 left; 0 charged")
    assert "does the address end with /v1?" in stopped.err
    assert ended.out.startswith("2 done, 0 failed, 0 left; 2 charged")


def test_a_list_that_takes_days_says_so_once(desk: Desk) -> None:
    desk.write("".join(f"Brand {number}\n" for number in range(7)))
    policy = {"RateLimit-Policy": '"day";q=2;w=86400', "RateLimit": '"day";r=1;t=9'}
    service = Service()

    def limited(got: Got) -> Answer:
        status, body, headers = service(got)
        return status, body, headers | policy

    with answered(limited) as server:
        ended = desk.search(server)

    assert ended.told(0) == "a key may search 2 brands a day: the list takes about 3 days"


def failing(reason: str) -> Respond:
    def fail(brand: str, _service: Service) -> Answer | None:
        if brand != "Beta":
            return None
        used = {"quota": 9, "used": 1, "remaining": 8}
        record = {"id": "srch_9", "brand": brand, "usage": used, "status": "failed"}
        body = msgspec.json.encode(record | {"reason": reason, "charged": False})
        return 200, body, {"Content-Type": "application/json"}

    return fail


@pytest.mark.parametrize("reason", ["scrape_error", "timeout", "error"])
def test_what_the_service_could_not_finish_is_searched_anew_on_demand(
    desk: Desk, reason: str
) -> None:
    desk.write("Acme\nBeta\n")
    service = Service(failing(reason))
    with answered(service) as server:
        first = desk.search(server)
        service.respond = ordinary
        left_alone = desk.search(server)
        retried = desk.search(server, "--retry-failed")
        asked = [got.headers["idempotency-key"] for got in server.got]
        again = desk.search(server, "--retry-failed")

    assert (first.code, left_alone.code, retried.code, again.code) == (3, 3, 0, 0)
    assert service.asked == ["Acme", "Beta", "Beta"]
    assert len(set(asked)) == 3, "it is another wish"
    assert [row["status"] for row in desk.results] == ["done", "done"]


def test_what_left_the_list_is_not_searched_anew(desk: Desk) -> None:
    desk.write("Acme\nBeta\n")
    service = Service(failing("error"))
    with answered(service) as server:
        desk.search(server)
        desk.write("Acme\n")
        desk.search(server, "--retry-failed")

    assert service.asked == ["Acme", "Beta"]
    assert [row["status"] for row in desk.results] == ["done", "failed"]


def test_what_failed_of_itself_is_not_searched_anew(desk: Desk) -> None:
    desk.write("Acme\nBeta\n")
    service = Service(failing("no_emails"))
    with answered(service) as server:
        desk.search(server)
        retried = desk.search(server, "--retry-failed")

    assert retried.code == 3
    assert service.asked == ["Acme", "Beta"]


def test_what_is_searched_anew_keeps_its_key_until_it_is_answered(desk: Desk) -> None:
    desk.write("Beta\n")
    service = Service(failing("error"))
    with answered(service) as server:
        desk.search(server)
        service.respond = lambda *_: (500, b"", {})
        desk.search(server, "--retry-failed")
        service.respond = ordinary
        ended = desk.search(server)

    asked = [got.headers["idempotency-key"] for got in server.got]
    assert ended.code == 0
    assert asked[0] != asked[1] == asked[2]
