"""API keys made as `cs keys create` makes them, without an interpreter started for each."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cs.cli.keys import desk
from cs.settings import Settings, load


def key_in(folder: Path, quota: int) -> dict[str, Any]:
    """Make a key in the data folder of a service: its ``id`` and secret ``key``."""
    return _made(load(environment={}, given={"data_dir": folder}), quota)


def key_for(environment: Mapping[str, str], quota: int) -> dict[str, Any]:
    """Make a key for the service that *environment* names the databases of."""
    return _made(load(environment=environment), quota)


def _made(settings: Settings, quota: int) -> dict[str, Any]:
    async def make() -> dict[str, Any]:
        async with desk(settings, new=True) as at:
            new = await at.operator.create_key("", quota)
        return {"id": new.id, "key": new.key, "quota": quota}

    # In a thread of its own: the caller's may have a loop that runs.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, make()).result()
