"""Days of a sandbox service in moments: its clock, moved over HTTP, and what follows it."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest

from harness.served import Served
from system.cluster.fixtures import Service

pytestmark = pytest.mark.slow

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


class SandboxTime:
    """`/sandbox/clock` of a service."""

    def __init__(self, service: Service) -> None:
        self.url = service.clock_url

    def now(self) -> datetime:
        return self._time_in(httpx.get(self.url))

    def advance(self, by: timedelta) -> datetime:
        body = {"advance": by.total_seconds()}
        return self._time_in(httpx.post(self.url, json=body, timeout=100))

    def advance_to(self, when: datetime) -> None:
        self.advance(max(when - self.now(), timedelta()))

    def _time_in(self, answer: httpx.Response) -> datetime:
        text: str = answer.raise_for_status().json()["now"]
        assert text.endswith("Z")
        return datetime.fromisoformat(text)


def test_a_moved_clock_holds_for_commands_and_after_a_restart(service: Service) -> None:
    moved = SandboxTime(service).advance(10 * DAY)
    key = service.new_key()
    shown = json.loads(service.command("keys", "show", key["id"], "--json"))
    with service.client(key) as client:
        client.post("/contacts", json={"brand": "Veltrana", "wait": True})
    service.kill()
    service.start()
    started = SandboxTime(service).now()
    with service.client(key) as client:
        again = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()

    assert datetime.fromisoformat(shown["issued_at"]) > moved - SECOND
    assert moved < started < moved + timedelta(minutes=5)
    assert again["cached"] is True


JSON = {"Content-Type": "application/json"}
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


def test_an_invalid_time_for_the_clock_is_refused_with_a_reason(service: Service) -> None:
    clock = SandboxTime(service)
    before = clock.now()
    answers = [httpx.post(clock.url, content=body, headers=JSON) for body in BAD]
    others = {httpx.request(method, clock.url).status_code for method in ("PUT", "DELETE")}

    assert [answer.status_code for answer in answers] == [400] * len(BAD)
    assert all("a number from 0 to 31622400" in a.json()["message"] for a in answers)
    assert clock.now() - before < timedelta(minutes=1)
    assert others == {405}


def test_a_live_service_has_no_such_clock(tmp_path: Path) -> None:
    with Served(
        tmp_path / "data", sandbox=False, settings={"CS_BRAND_SOURCES": "directory"}
    ) as service:
        read = httpx.get(service.clock_url)
        moved = httpx.post(service.clock_url, json={"advance": 1})
        there = httpx.get(f"{service.admin_url}/healthz")

    assert there.status_code == 200
    assert (read.status_code, moved.status_code) == (404, 404)
