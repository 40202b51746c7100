"""A running service hears of an erasure through the log, and drops what it holds in memory."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from cs.domain.personal import Personal
from harness.stores import opened
from operations.erasure.service import (
    ADA_MAILBOX,
    ADA_PROFILE,
    BEN_MAILBOX,
    Erasable,
    Waits,
    erasable_folder,
    outside,
)

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


async def erase_beside(folder: Path) -> None:
    """Erase Ada as another process does: with a log, keys and views of its own."""
    async with opened(folder) as stores:
        await stores.erasure.erase_profile(ADA_PROFILE)


async def gone(service: Erasable) -> None:
    """Wait until the service holds nothing of Ada; looking through it takes a while."""
    async with asyncio.timeout(20):
        while of_ada(service):
            await service.log.head()


async def test_what_a_service_remembers_of_an_ended_search_is_dropped(tmp_path: Path) -> None:
    async with erasable_folder(tmp_path / "data", outside()) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        name = await service.keys.matching([service.keys.fingerprint("profile", ADA_PROFILE)])
        assert set(await service.keys.find(name)) == name, "data keys are kept in memory"

        await erase_beside(tmp_path / "data")

        async with asyncio.timeout(20):
            while await service.keys.find(name):
                await service.log.head()
        await gone(service)
        assert any("Ben" in repr(value) for value in held(await service.log.tail(0)))


async def test_what_a_service_remembers_of_a_search_that_runs_is_dropped(
    tmp_path: Path,
) -> None:
    mailboxes = Waits(frozenset({ADA_MAILBOX, BEN_MAILBOX}))
    tools = outside(mailboxes=mailboxes)
    async with erasable_folder(tmp_path / "data", tools) as service:
        key = await service.new_key()
        searching = asyncio.create_task(service.search(key, brand="Acme"))
        await mailboxes.asked.wait()
        states = service.running.streams._cache
        assert of_ada(states), "a run that is alive knows its people"

        await erase_beside(tmp_path / "data")
        async with asyncio.timeout(10):
            while of_ada(states):  # the stage has its work in hand until it answers
                await service.log.head()
        mailboxes.told.set()
        answer = (await searching).json()

        assert [contact["full_name"] for contact in answer["contacts"]] == ["Ben Ode"]
        await gone(service)
