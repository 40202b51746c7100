"""Days of a sandbox service in moments: its clock, moved over HTTP, and what follows it."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest

from conformance.target import Clock
from harness.served import Served, served

pytestmark = pytest.mark.slow

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "data") as service:
        yield service


def test_a_moved_clock_holds_for_commands_and_after_a_restart(service: Served) -> None:
    with closing(Clock(service.admin_url)) as clock:
        moved = clock.advance(10 * DAY)
    key = service.new_key()
    shown = json.loads(service.command("keys", "show", key["id"], "--json"))
    with service.client(key) as client:
        client.post("/contacts", json={"brand": "Veltrana", "wait": True})
    service.restart()
    with closing(Clock(service.admin_url)) as clock:
        started = clock.now()
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


def test_an_invalid_time_for_the_clock_is_refused_with_a_reason(service: Served) -> None:
    url = service.clock_url
    with closing(Clock(service.admin_url)) as clock:
        before = clock.now()
        answers = [httpx.post(url, content=body, headers=JSON) for body in BAD]
        others = {httpx.request(method, url).status_code for method in ("PUT", "DELETE")}
        after = clock.now()

    assert [answer.status_code for answer in answers] == [400] * len(BAD)
    assert all("a number from 0 to 31622400" in a.json()["message"] for a in answers)
    assert after - before < timedelta(minutes=1)
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
