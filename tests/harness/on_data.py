"""The data of a service that does not run: read, and filled with events as a test likes."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.eventlog.port import Append
from cs.settings import Settings


@asynccontextmanager
async def data_of(place: Path | Settings) -> AsyncIterator[CommandContext]:
    """Open a data folder, made if it is not there, or the databases of settings."""
    settings = place if isinstance(place, Settings) else Settings(data_dir=place)
    async with open_command_context(settings, new=True) as data:
        yield data


def plant(folder: Path, *appends: Append, folded: bool = False) -> None:
    """Append to the log of *folder*; the views exist then, and are up to date if *folded*."""

    async def fill() -> None:
        async with data_of(folder) as data:
            for each in appends:
                await data.log.append([each])
            await data.views.position()
            if folded:
                await data.view_runner().catch_up()

    # In a thread of its own: the caller's may have a loop that runs.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, fill()).result()
