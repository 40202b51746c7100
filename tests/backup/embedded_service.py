"""A service on a data folder, with a small outside world in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cs.assembly.folder_stores import open_folder
from cs.assembly.plugins import StagePlugins
from cs.domain.contact import BrandFacts
from cs.plugins.sources import PeopleAnswer
from cs.runtime.data_folder import DataFolder
from system.loop.outside import ACME, Directory, Mailboxes, Staff, tools
from system.loop.service import Service, one_process


@dataclass
class SlowStaff(Staff):
    """Finds nobody until it is let."""

    let: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        self.asked.set()
        await self.let.wait()
        return await super().find(brand, limit=limit)


def slow_tools(staff: SlowStaff) -> StagePlugins:
    verifier = Mailboxes(frozenset({"ada.kern@acme.test"}))
    return StagePlugins([Directory({"acme": ACME, "slow": ACME})], [staff], [verifier])


@asynccontextmanager
async def service_on(
    folder: Path, outside: StagePlugins | None = None
) -> AsyncIterator[Service]:
    data_folder = DataFolder(folder)
    with data_folder.held():
        async with (
            open_folder(data_folder) as data,
            one_process(
                data.log, data.keys, data.views, outside or tools(), deadline_s=60
            ) as service,
        ):
            yield service
