"""Days of a sandbox service in moments: its clock, moved over HTTP, and what follows it."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command import ran
from cs.admin.app import build
from cs.tools import Tools
from embedded.served import Served, cs, served, stored_topics
from loop.service import in_memory

pytestmark = pytest.mark.slow

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
#: Far less than the waits that are moved past, and far more than a slow machine needs.
AT_ONCE_S = 5.0


class SandboxTime:
    """`/sandbox/clock` of a service."""

    def __init__(self, service: Served) -> None:
        self.url = service.admin_url.removesuffix("/readyz") + "/sandbox/clock"

    def now(self) -> datetime:
        return self._told(httpx.get(self.url))

    def advance(self, by: timedelta) -> datetime:
        body = {"advance": by.total_seconds()}
        return self._told(httpx.post(self.url, json=body, timeout=60))

    def advance_to(self, when: datetime) -> None:
        self.advance(when - self.now())

    def _told(self, answer: httpx.Response) -> datetime:
        text: str = answer.raise_for_status().json()["now"]
        assert text.endswith("Z")
        return datetime.fromisoformat(text)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "data") as service:
        yield service


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up, "it did not come about in time"


def is_greylisted(service: Served) -> bool:
    return "brand.attempt-failed.v1" in stored_topics(service.folder)


def test_a_result_is_reused_for_thirty_days_and_no_longer(service: Served) -> None:
    clock = SandboxTime(service)
    with service.client(service.new_key()) as client:

        def search() -> dict[str, Any]:
            answer = client.post("/contacts", json={"brand": "Veltrana", "wait": True})
            record: dict[str, Any] = answer.raise_for_status().json()
            return record

        first = search()
        # Shown in whole seconds: the run ended in the second that begins there.
        ended_at = datetime.fromisoformat(first["searched_at"])
        clock.advance_to(ended_at + 30 * DAY - SECOND)
        on_the_last_second = search()
        clock.advance_to(ended_at + 30 * DAY + SECOND)
        after = search()

    assert (first["status"], first["cached"]) == ("done", False)
    assert on_the_last_second["cached"] is True
    assert on_the_last_second["searched_at"] == first["searched_at"]
    assert (after["status"], after["cached"]) == ("done", False)
    assert datetime.fromisoformat(after["searched_at"]) >= ended_at + 30 * DAY


def test_the_sixty_first_search_of_a_day_waits_for_the_first_to_leave_it(
    service: Served,
) -> None:
    clock = SandboxTime(service)
    with service.client(service.new_key(quota=100)) as client:

        def search() -> httpx.Response:
            return client.post("/contacts", json={"brand": "Veltrana", "wait": True})

        before_first = clock.now()
        statuses = [search().status_code]
        after_first = clock.now()
        for number in range(1, 60):
            if number % 6 == 0:
                clock.advance(timedelta(minutes=1))
            statuses.append(search().status_code)
        clock.advance_to(before_first + DAY - SECOND)
        too_early = search()
        clock.advance_to(after_first + DAY)
        in_time = search()

    assert statuses == [200] * 60
    assert too_early.status_code == 429
    assert too_early.headers["RateLimit-Limit"] == "60"
    assert int(too_early.headers["Retry-After"]) in {1, 2, 3}
    assert in_time.status_code == 200


def test_a_call_is_held_85_seconds_and_its_search_times_out_after_120(
    service: Served,
) -> None:
    clock = SandboxTime(service)
    with (
        service.client(service.new_key()) as client,
        ThreadPoolExecutor() as threads,
    ):
        body = {"brand": "Zephrine", "wait": True}
        call: Future[httpx.Response] = threads.submit(client.post, "/contacts", json=body)
        until(lambda: is_greylisted(service))  # for longer than the hold, then silent
        began = time.monotonic()
        admitted_before = clock.now()
        clock.advance(timedelta(seconds=80))
        held_still = not call.done()
        clock.advance(timedelta(seconds=5))
        answer = call.result(timeout=30)
        record = answer.json()
        still = client.get(f"/searches/{record['id']}").json()
        clock.advance(timedelta(seconds=35))
        ended = client.get(f"/searches/{record['id']}").json()
        took = time.monotonic() - began

    assert held_still
    assert (answer.status_code, record["status"], still["status"]) == (
        202,
        "running",
        "running",
    )
    assert (ended["status"], ended["reason"]) == ("failed", "timeout")
    assert datetime.fromisoformat(ended["searched_at"]) > admitted_before + 110 * SECOND
    assert took < AT_ONCE_S


def test_a_search_that_is_asked_to_come_back_does_in_no_time(service: Served) -> None:
    clock = SandboxTime(service)
    with service.client(service.new_key()) as client:
        search = client.post("/contacts", json={"brand": "Quellmark"}).json()["id"]
        until(lambda: is_greylisted(service))  # for 90 seconds
        began = time.monotonic()
        clock.advance(timedelta(seconds=100))
        record = client.get(f"/searches/{search}").json()
        took = time.monotonic() - began

    assert record["status"] == "done"
    assert [c["email"] for c in record["contacts"] if c["email"]] == [
        "friederike.vogt@quellmark.test"
    ]
    assert took < AT_ONCE_S


def test_a_slow_mail_servers_delays_go_by_with_the_clock(service: Served) -> None:
    clock = SandboxTime(service)
    with service.client(service.new_key()) as client:
        began = time.monotonic()
        search = client.post("/contacts", json={"brand": "Junimar"}).json()["id"]
        clock.advance(timedelta(seconds=60))
        record = client.get(f"/searches/{search}").json()
        took = time.monotonic() - began

    assert record["status"] == "done"
    assert took < AT_ONCE_S  # six seconds and more by the real clock


def test_a_restart_and_a_command_beside_it_go_by_the_same_time(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with served(folder) as service:
        moved = SandboxTime(service).advance(10 * DAY)
        key = service.new_key()
        told = ran("keys", "show", key["id"], "--json", f"--data-dir={folder}").rows[0]
        with service.client(key) as client:
            client.post("/contacts", json={"brand": "Veltrana", "wait": True})
    with served(folder) as service:
        started = SandboxTime(service).now()
        with service.client(key) as client:
            again = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()

    assert datetime.fromisoformat(told["issued_at"]) > moved - SECOND
    assert moved < started < moved + timedelta(minutes=5)
    assert again["cached"] is True


BAD = [
    b"",
    b"10",
    b"{}",
    b"[10]",
    b'{"advance": -1}',
    b'{"advance": "10"}',
    b'{"advance": true}',
    b'{"advance": null}',
    b'{"advance": NaN}',
    b'{"advance": 1e999}',
    b'{"advance": 31622401}',
    b'{"advance": 1, "by": 2}',
    b'{"advance": 1' + b" " * 2000 + b"}",
]


def test_what_the_clock_cannot_do_is_refused_and_said(service: Served) -> None:
    clock = SandboxTime(service)
    before = clock.now()
    answers = [httpx.post(clock.url, content=body) for body in BAD]
    others = {httpx.request(method, clock.url).status_code for method in ("PUT", "DELETE")}

    assert [answer.status_code for answer in answers] == [400] * len(BAD)
    assert all("a number from 0 to 31622400" in a.json()["message"] for a in answers)
    assert clock.now() - before < timedelta(minutes=1)
    assert others == {405}


def test_all_together_the_clock_moves_ten_years_at_most(service: Served) -> None:
    clock = SandboxTime(service)
    for _ in range(10):
        clock.advance(366 * DAY)
    refused = httpx.post(clock.url, json={"advance": 600})

    assert refused.status_code == 400
    assert "at most 3660 days" in refused.json()["message"]


async def test_a_live_service_has_no_such_clock() -> None:
    async with (
        in_memory(Tools([], [], [])) as service,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(build(service.running.health)),
            base_url="http://admin.test",
        ) as admin,
    ):
        ready = await admin.get("/readyz")
        read = await admin.get("/sandbox/clock")
        moved = await admin.post("/sandbox/clock", json={"advance": 1})

    assert ready.status_code == 200
    assert (read.status_code, moved.status_code) == (404, 404)


@pytest.mark.parametrize("command", [["serve", "--port=0", "--admin-port=0"], ["keys", "list"]])
def test_live_data_with_a_moved_clock_is_refused(tmp_path: Path, command: list[str]) -> None:
    cs("keys", "create", f"--data-dir={tmp_path}")
    (tmp_path / "clock").write_text("86400\n")
    refused = ran(*command, f"--data-dir={tmp_path}")

    assert refused.code == 1
    assert "moves the clock, which only a sandbox may; delete it" in refused.err


def test_a_damaged_clock_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "clock").write_text("an hour\n")
    told = ran("serve", "--sandbox", "--port=0", "--admin-port=0", f"--data-dir={tmp_path}")

    assert "not a number of seconds" in told.told()
