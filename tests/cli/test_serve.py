"""`cs serve` as a process: how it starts, what it says, how it leaves, how it fails.

What a caller sees of any service is in `tests/conformance`.
"""

import re
import signal
import socket
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command import Here, ran
from harness.served import Served, served

pytestmark = pytest.mark.slow

#: Its mail server says nothing for so long that the search outlasts any test.
ENDLESS = "Zephrine"


def usage_status(service: Served, key: dict[str, Any]) -> int:
    with service.client(key) as client:
        return client.get("/usage").status_code


def test_its_log_holds_nothing_of_the_people_it_found(tmp_path: Path) -> None:
    with served(tmp_path / "data", CS_LOG_LEVEL="debug") as service:
        key = service.new_key()
        people = []
        with service.client(key) as client:
            for brand in ("Veltrana", "Dunmorrow", "Nuvarro"):
                record = client.post("/contacts", json={"brand": brand, "wait": True}).json()
                people += record["contacts"]
        assert service.stop(timeout_s=2) == 0

    personal = {
        contact[name]
        for contact in people
        for name in ("full_name", "last_name", "email", "headline", "linkedin_url")
        if contact[name]
    }
    assert len(personal) > 20
    assert [text for text in personal | {key["key"]} if text in service.output] == []
    assert not re.search(r"[\w.]+@[\w.]+", service.output)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_answers_held_calls_and_ends_it_in_time(
    tmp_path: Path, number: signal.Signals
) -> None:
    with served(tmp_path / "data") as service:
        key = service.new_key()
        answers: list[httpx.Response] = []
        with service.client(key) as client, service.client(key) as watching:

            def hold() -> None:
                answers.append(client.post("/contacts", json={"brand": ENDLESS, "wait": True}))

            holding = threading.Thread(target=hold)
            holding.start()
            listing = ("brands", "list", "--json", f"--data-dir={service.folder}")
            while not any(row["running"] for row in ran(*listing).rows):
                assert holding.is_alive()
            assert watching.get("/usage").status_code == 200
            began = time.monotonic()

            service.send(number)

            holding.join(timeout=2)
            assert service.wait(timeout_s=2) == 0
            assert time.monotonic() - began < 2
    assert [answer.status_code for answer in answers] == [202]
    assert "Traceback" not in service.output


def test_one_service_at_a_time_and_the_next_takes_up_its_data(tmp_path: Path) -> None:
    folder = tmp_path / "{data}"
    options = ("--port=0", "--admin-port=0", f"--data-dir={folder}")
    with served(folder) as first:
        key = first.new_key()
        second = ran("serve", "--sandbox", *options)
        message = second.error()
        assert message.startswith(f"another service (process {first.pid}) runs on")
        assert first.stop(timeout_s=2) == 0

    with served(folder) as again:
        assert usage_status(again, key) == 200
        again.restart()
        assert usage_status(again, key) == 200


def test_data_of_the_sandbox_is_refused_by_the_real_world(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with served(folder):
        pass

    message = ran("serve", "--port=0", "--admin-port=0", f"--data-dir={folder}").error()

    assert "sandbox" in message
    assert "live" in message


def without(table: str, file: Path) -> None:
    """Take *table* away under a running service."""
    data = sqlite3.connect(file)
    data.execute(f"DROP TABLE {table}")
    data.close()


def test_a_role_that_fails_ends_the_service_with_a_reason(tmp_path: Path) -> None:
    bug = {"CS_FAILPOINTS": "projection.before-apply=fail@3"}
    with served(tmp_path / "data", CS_LOG_LEVEL="error", **bug) as service:
        key = service.new_key()

        with suppress(httpx.HTTPError), service.client(key) as client:
            client.post("/contacts", json={"brand": "Veltrana"})

        assert service.wait(timeout_s=10) == 1
    last = service.last_line
    assert last.startswith(f"cs: the service on {service.folder} has ended, FailPointReached: ")
    assert '"event": "role_failed"' in service.output


def test_a_log_that_is_lost_makes_it_not_ready(tmp_path: Path) -> None:
    with served(tmp_path / "data") as service:
        assert service.ready_answer().status_code == 200

        without("stored_events", service.folder / "log.db")

        answer = service.ready_answer()
        assert (answer.status_code, answer.json()["ready"]) == (503, False)


def test_a_port_in_use_is_reported(tmp_path: Path, here: Here) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        data = f"--data-dir={tmp_path / 'data'}"
        api = here("serve", f"--port={port}", "--admin-port=0", data)
        admin = here("serve", "--port=0", f"--admin-port={port}", data)

    message = f"port {port} of 127.0.0.1 is in use; choose another with"
    assert api.error() == f"{message} --port, 0: any free"
    assert admin.error() == f"{message} --admin-port, 0: any free"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--port=99999"], 2, "option --port: port: a whole number from 0 to 65535, not 99999"),
        (["--host=192.0.2.1", "--port=0"], 1, "cannot listen on 192.0.2.1: "),
        (["--host=no..host", "--port=0"], 1, "host is an address of this machine, like 127."),
        (["world.json"], 2, "a world file goes with --sandbox"),
        (["--providers"], 2, "--providers goes with --sandbox"),
        (
            ["--sandbox", "none.json", "--port=0", "--admin-port=0"],
            1,
            "cannot be read: No such",
        ),
    ],
)
def test_what_is_wrong_is_reported_before_anything_is_made(
    tmp_path: Path, here: Here, words: list[str], code: int, message: str
) -> None:
    ended = here("serve", *words, f"--data-dir={tmp_path / 'data'}")

    assert message in ended.error(code)
    assert not (tmp_path / "data").exists()


def test_a_port_without_the_right_to_it_is_reported(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's refusal is made here: a test's own user may be allowed any port."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", refuse)

    message = here("serve", "--port=80", f"--data-dir={tmp_path / 'data'}").error()

    assert message.startswith(
        "this user may not listen on port 80 of 127.0.0.1; choose one from"
    )
