"""Calls on a service that meets an event of a newer version in one key's stream."""

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from cs.operations.operator import NewSecret
from harness.in_process import Service, in_memory
from harness.outside import tools
from system.upgrades.newer import TOPIC, quickly, upgraded, write_newer
from system.upgrades.test_views import ready


@pytest.fixture
async def service(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    quickly(monkeypatch)
    async with in_memory(tools()) as service:
        yield service


async def lend(service: Service, key: NewSecret) -> None:
    log = service.running.streams.log
    version = len(await log.read(f"key-{key.id}")) - 1
    await write_newer(log, f"key-{key.id}", version)


async def test_a_search_on_that_key_is_a_server_error_that_says_when_to_try_again(
    service: Service,
) -> None:
    key = await service.new_key()
    await lend(service, key)

    with capture_logs() as lines:
        answer = await service.search(key, brand="Acme")

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "server_error")
    assert int(answer.headers["Retry-After"]) > 0
    (line,) = [line for line in lines if line["event"] == "log_unavailable"]
    assert line["log_level"] == "error"
    assert TOPIC in line["why"]
    assert key.id not in str(line)


async def test_other_keys_are_admitted_and_told_what_their_own_events_say(
    service: Service,
) -> None:
    """The views stand still; their searches do until the upgrade, since so does the relay."""
    key, other = await service.new_key(), await service.new_key()
    await lend(service, key)
    await ready(service.running.ready, service.running.streams.log, wanted=False)

    async with service.client(other) as client:
        posted = await client.post("/contacts", json={"brand": "Acme"})
        check = await client.get(f"/searches/{posted.json()['id']}")
        usage = await client.get("/usage")

    assert (posted.status_code, posted.json()["status"]) == (202, "running")
    assert (check.status_code, check.json()["status"]) == (200, "running")
    assert usage.json()["used"] == 0

    with upgraded():
        await ready(service.running.ready, service.running.streams.log, wanted=True)
        done = await service.search(other, brand="Acme")
        again = await service.search(key, brand="Acme")
    assert (done.json()["status"], again.json()["status"]) == ("done", "done")
