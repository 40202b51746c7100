"""A running service hears of an erasure through the log, and drops what it holds in memory."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from cs.assembly.folder import FolderStores, open_folder
from cs.assembly.plugins import StagePlugins
from cs.domain.person import PersonErased
from cs.domain.personal import Personal
from cs.eventlog.follow import follow
from cs.eventlog.streams import Streams
from cs.operations.erasure import Erasure, ErasureResult
from cs.projections.runner import ViewRunner
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from harness.in_process import Service, one_process
from operations.erasure.service import ADA_MAILBOX, ADA_PROFILE, BEN_MAILBOX, Waits, outside

pytestmark = pytest.mark.slow

#: Ways out of the service into the rest of the process.
ELSEWHERE = (ModuleType, FunctionType, FrameType, type)


def held(*roots: object) -> Iterator[Personal]:
    """Yield every value about a person that *roots* lead to."""
    gc.collect()
    seen: set[int] = set()
    left: list[Any] = list(roots)
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, ELSEWHERE):
            continue
        seen.add(id(value))
        if isinstance(value, Personal):
            yield value
        left += gc.get_referents(value)


def of_ada(*roots: object) -> list[Personal]:
    return [value for value in held(*roots) if "Ada" in repr(value) or "ada" in repr(value)]


@asynccontextmanager
async def service_on(
    folder: Path, tools: StagePlugins
) -> AsyncIterator[tuple[Service, FolderStores]]:
    async with (
        open_folder(DataFolder(folder)) as data,
        one_process(data.log, data.keys, data.views, tools) as service,
    ):
        yield service, data


async def erase_beside(folder: Path) -> ErasureResult:
    """Erase Ada as another process does: with a log, keys and views of its own."""
    async with open_folder(DataFolder(folder, make=False)) as data:
        views = ViewRunner(data.log, data.views, data.keys)
        erasure = Erasure(Streams(data.log), data.keys, SystemClock(), views.catch_up)
        return await erasure.erase_profile(ADA_PROFILE)


async def erasure_stored(data: FolderStores) -> None:
    """Return once the service can have read that somebody was erased."""
    async for page in follow(data.log, 0):
        if any(isinstance(recorded.event, PersonErased) for recorded in page):
            return


async def gone(service: Service, data: FolderStores) -> None:
    """Wait for at most a second until the service holds nothing of Ada."""
    async with asyncio.timeout(1):
        await erasure_stored(data)
        while of_ada(service, data):
            await data.log.head()


async def test_what_a_service_remembers_of_an_ended_search_is_dropped(tmp_path: Path) -> None:
    async with service_on(tmp_path / "data", outside()) as (service, data):
        key = await service.new_key()
        await service.search(key, brand="Acme")
        assert of_ada(service, data), "the newest events are kept in memory"
        name = await data.keys.matching([data.keys.fingerprint("profile", ADA_PROFILE)])
        assert set(await data.keys.find(name)) == name, "and so are data keys"

        await erase_beside(tmp_path / "data")

        await gone(service, data)
        assert await data.keys.find(name) == {}
        assert any("Ben" in repr(value) for value in held(await data.log.tail(0)))


async def test_what_a_service_remembers_of_a_search_that_runs_is_dropped(
    tmp_path: Path,
) -> None:
    mailboxes = Waits(frozenset({ADA_MAILBOX, BEN_MAILBOX}))
    tools = outside(mailboxes=mailboxes)
    async with service_on(tmp_path / "data", tools) as (service, data):
        key = await service.new_key()
        searching = asyncio.create_task(service.search(key, brand="Acme"))
        await mailboxes.asked.wait()
        states = service.running.streams._cache
        assert of_ada(states), "a run that is alive knows its people"

        await erase_beside(tmp_path / "data")
        async with asyncio.timeout(10):
            await erasure_stored(data)
            while of_ada(states):  # the stage has its work in hand until it answers
                await data.log.head()
        mailboxes.told.set()
        answer = (await searching).json()

        assert [contact["full_name"] for contact in answer["contacts"]] == ["Ben Ode"]
        await gone(service, data)
