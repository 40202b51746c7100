"""`cs search`, `cs get` and `cs usage`: what is printed, and what they end with."""

import csv
import io
import os
import signal
import subprocess
import sys
from threading import Event

import pytest

from cli.command import Here, environment, started
from client.answering import DONE, FAILED, RUNNING, Answer, Got, answered, answering, refusal

pytestmark = pytest.mark.slow

KEY = "cs_live_x"
NOW = "--patience=0"
COMMANDS = [["search", "Acme"], ["get", "srch_1"], ["usage"]]


def ok(body: bytes, status: int = 200) -> Answer:
    return status, body, {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>hello</html>"),
        (404, b"not found"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_of_something_else_is_reported(
    here: Here, command: list[str], status: int, body: bytes
) -> None:
    with answering((status, body, {})) as server:
        ended = here(*command, NOW, f"--url={server.url}", f"--key={KEY}")

    said = f"not_this_api: {server.url} answers with status {status} and is no server"
    assert ended.code == 1
    assert said in ended.err
    # Whatever it is, it does not know what became of the search.
    assert ("--idempotency-key" in ended.err) is (command[0] == "search")


def test_a_search_that_may_have_been_made_is_reported_with_its_name(here: Here) -> None:
    with answering(refusal(500, "server_error")) as server:
        ended = here("search", "Acme", NOW, f"--url={server.url}", f"--key={KEY}")

    name = server.got[0].headers["idempotency-key"]
    assert ended.code == 1
    assert f"the search may go on; ask for it with --idempotency-key={name}" in ended.err
    assert "server_error: not so" in ended.err


def test_ctrl_c_while_a_call_is_held_prints_the_idempotency_key() -> None:
    held, over = Event(), Event()

    def hold(_: Got) -> Answer:
        held.set()
        over.wait(timeout=60)
        return ok(DONE)

    with (
        answered(hold) as server,
        started("search", "Acme", f"--url={server.url}", f"--key={KEY}") as process,
    ):
        assert held.wait(timeout=30)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        over.set()

    name = server.got[0].headers["idempotency-key"]
    assert process.returncode == 130
    assert said == f"cs: the search may go on; ask for it with --idempotency-key={name}\n"


def test_a_terminal_is_shown_what_goes_on() -> None:
    ours, theirs = os.openpty()
    with answering(ok(DONE)) as server, os.fdopen(ours, "rb", buffering=0) as terminal:
        ended = subprocess.run(
            [sys.executable, "-m", "cs", "search", "Acme", f"--url={server.url}"],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=environment(CS_API_KEY=KEY, TERM="xterm"),
            check=False,
            timeout=60,
        )
        os.close(theirs)
        said = terminal.read(65536)

    assert ended.returncode == 0
    assert b"searching Acme" in said
    assert b"searching" not in ended.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_key_is_reported(here: Here, command: list[str]) -> None:
    assert here(*command).error(2).startswith("no API key: give --key or set CS_API_KEY")


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (429, "rate_limited", 4),
        (429, "too_many_in_flight", 4),
        (503, "at_capacity", 4),
        (503, "api_disabled", 4),
        (402, "quota_exhausted", 5),
        (400, "invalid_request", 1),
    ],
)
def test_a_refusal_ends_with_its_own_exit_code(
    here: Here, status: int, code: str, exit_code: int
) -> None:
    with answering(refusal(status, code, Retry_After="7")) as server:
        ended = here("search", "Acme", NOW, f"--url={server.url}", f"--key={KEY}")

    assert ended.error(exit_code) == f"{code}: not so (try again in 7 s)"


@pytest.mark.parametrize(("body", "exit_code"), [(DONE, 0), (FAILED, 3)])
@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_how_a_search_ended_is_the_exit_code_in_every_form(
    here: Here, body: bytes, exit_code: int, form: list[str]
) -> None:
    with answering(ok(body)) as server:
        ended = here("search", "Acme", *form, f"--url={server.url}", f"--key={KEY}")

    assert ended.code == exit_code
    assert "srch_1" in ended.out
    assert ended.err == ""


def test_without_waiting_the_search_is_reported_as_it_is(here: Here) -> None:
    with answering(ok(RUNNING, 202)) as server:
        url = f"--url={server.url}"
        words = ("--no-wait", "--json", "--idempotency-key=order-66")
        ended = here("search", "Acme", *words, url, f"--key={KEY}")

    assert ended.code == 0
    assert server.got[0].headers["idempotency-key"] == "order-66"
    assert (ended.rows[0]["id"], ended.rows[0]["status"]) == ("srch_1", "running")
    assert b'"wait":false' in server.got[0].body


def test_csv_has_a_row_for_each_person_and_no_formulas(here: Here) -> None:
    people = (
        b'"contacts": [{"full_name": "=HYPERLINK(\\"x\\")", "headline": "@me, \\"me\\"\\nand"},'
        b' {"full_name": "Bo", "email": "bo@a.example", "email_status": "verified"}], "usage"'
    )
    with answering(ok(DONE.replace(b'"usage"', people))) as server:
        shown = here("get", "srch_1", "--csv", f"--url={server.url}", f"--key={KEY}").out

    rows = list(csv.DictReader(io.StringIO(shown, newline="")))
    assert [row["full_name"] for row in rows] == ['\'=HYPERLINK("x")', "Bo"]
    assert rows[0]["headline"] == '\'@me, "me" and'
    assert [row["email"] for row in rows] == ["", "bo@a.example"]
    assert {row["id"] for row in rows} == {"srch_1"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["search"], "name a brand, a --domain or both"),
        (["search", "Acme", "--json", "--csv"], "--json or --csv"),
        (["get", "srch_1", "--json", "--csv"], "--json or --csv"),
        (["search", "Acme", "--file=x.csv"], "--file takes the brands from the file"),
        (["search", "Acme", "--retry-failed"], "--results, --ask-again and --retry-failed"),
        (["search", "--file="], "--file and --results are names of files"),
        (["search", "--file=/"], "--file and --results are names of files"),
        (["search", "--file=x.csv", "--results="], "--file and --results are names of files"),
        (["search", "--file=x.csv", "--no-wait"], "--file takes the brands from the file"),
        (["search", "--file=x.csv", "--json", "--results=y.csv"], "the name of the results"),
        (["search", "--file=x.csv", "--csv", "--results=y.jsonl"], "the name of the results"),
        (["search", "Acme", "--results=x.csv"], "--results, --ask-again and --retry-failed"),
        (["search", "Acme", "--idempotency-key=a b"], "an idempotency key has 1 to 255"),
        (["search", "Ac\udcffme"], "brand and domain: the words are not UTF-8"),
        (["get", "srch_\udcff"], "the id of the search: the words are not UTF-8"),
    ],
)
def test_what_does_not_go_together_is_reported(
    here: Here, words: list[str], message: str
) -> None:
    ended = here(*words, "--url=http://127.0.0.1:1/v1", f"--key={KEY}")

    assert ended.error(2).startswith(message)


@pytest.mark.parametrize(("form", "shown"), [([], "archived, a"), (["--json"], "archived")])
def test_a_status_that_is_not_known_is_shown_and_is_no_success(
    here: Here, form: list[str], shown: str
) -> None:
    with answering(ok(DONE.replace(b"done", b"archived"))) as server:
        ended = here("search", "Acme", *form, f"--url={server.url}", f"--key={KEY}")

    assert ended.code == 3
    assert shown in ended.out
    assert "done" not in ended.out
    assert "not charged" not in ended.out
