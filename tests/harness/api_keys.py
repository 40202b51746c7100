"""API keys made as `cs keys create` makes them, without an interpreter started for each."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cs.assembly.folder import open_folder
from cs.assembly.operator_command import open_command_context
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings, load


def key_in(folder: Path, quota: int) -> dict[str, Any]:
    """Make a key in the data folder of a service: its ``id`` and secret ``key``."""
    return _made(load(environment={}, given={"data_dir": folder}), quota)


def key_for(environment: Mapping[str, str], quota: int) -> dict[str, Any]:
    """Make a key for the service that *environment* names the databases of."""
    return _made(load(environment=environment), quota)


async def new_keys(folder: Path, number: int, quota: int = 10) -> list[str]:
    """Return the secrets of *number* new keys, made while the service on *folder* runs."""
    async with open_folder(DataFolder(folder, make=False)) as data:
        operator = Operator(Streams(data.log, data.snapshots), SystemClock())
        made = [operator.create_key(f"key-{n}", quota) for n in range(number)]
        return [new.key for new in await asyncio.gather(*made)]


@asynccontextmanager
async def operating(environment: Mapping[str, str]) -> AsyncIterator[Operator]:
    """Open the commands of the service that *environment* names the databases of."""
    async with open_command_context(load(environment=environment), new=True) as data:
        yield data.operator


def _made(settings: Settings, quota: int) -> dict[str, Any]:
    async def make() -> dict[str, Any]:
        async with open_command_context(settings, new=True) as data:
            new = await data.operator.create_key("", quota)
        return {"id": new.id, "key": new.key, "quota": quota}

    # In a thread of its own: the caller's may have a loop that runs.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, make()).result()
