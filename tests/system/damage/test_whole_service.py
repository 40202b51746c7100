"""A damaged stream as callers and operators meet it: the whole service on a data folder."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cs.assembly.folder import open_folder
from cs.assembly.one_process import memory_bus, run_service
from cs.assembly.plugins import build_stages
from cs.domain.brand.events import DEADLINE
from cs.domain.key import SearchAdmitted
from cs.operations.operator import NewSecret, Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings
from harness.in_process import Service
from harness.outside import tools
from system.damage.stores import state

pytestmark = pytest.mark.slow


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Service]:
    async with open_folder(DataFolder(folder)) as data:
        clock = SystemClock()
        async with run_service(
            data.log,
            data.keys,
            data.views,
            build_stages(tools()),
            bus=memory_bus(),
            clock=clock,
            settings=Settings(lookup_deadline_s=DEADLINE.total_seconds()),
        ) as service:
            operator = Operator(service.streams, clock)
            await operator.choose_world("sandbox")
            yield Service(service, operator)


async def two_keys(folder: Path) -> tuple[NewSecret, NewSecret, int, str]:
    """Return two keys, where the first one's search was admitted, and its id."""
    async with serving(folder) as service:
        hurt, other = await service.new_key(), await service.new_key()
        answer = await service.search(hurt, brand="Acme")
        assert answer.json()["status"] == "done"
        events = await service.running.streams.log.tail(0)
        position = next(e.position for e in events if isinstance(e.event, SearchAdmitted))
    return hurt, other, position, answer.json()["id"]


async def test_one_damaged_key_gets_a_clear_error_and_all_others_their_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.eventlog.damage.RETRY_S", 0.01)
    hurt, other, position, search = await two_keys(tmp_path)
    whole = state(tmp_path, position, b"\xff\xfe")
    (tmp_path / "views.db").unlink()

    async with serving(tmp_path) as service:
        answer = await service.search(hurt, brand="Acme")
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "server_error")
        assert "is damaged; nothing was charged" in answer.json()["error"]["message"]
        assert "Retry-After" not in answer.headers
        async with service.client(hurt) as client:
            assert (await client.get(f"/searches/{search}")).status_code == 500
            assert (await client.get("/usage")).status_code == 500

        done = await service.search(other, brand="Acme")
        assert done.json()["status"] == "done"
        ready, told = await service.running.ready.check()
        assert ready
        assert told["set_aside"] == [f"the event at position {position} cannot be read"]

        state(tmp_path, position, whole)
        async with asyncio.timeout(20):
            while "set_aside" in (await service.running.ready.check())[1]:
                await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
        answer = await service.search(hurt, brand="Acme")
        assert answer.json()["status"] == "done"
        assert answer.json()["usage"]["used"] == 2
