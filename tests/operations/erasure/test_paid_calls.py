"""What a provider was paid to say of somebody is forgotten with them."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace
from structlog.testing import capture_logs

from cs.assembly.folder import open_folder, open_paid_calls
from cs.assembly.one_process import run_embedded
from cs.domain.contact import BrandFacts
from cs.eventlog.streams import Streams
from cs.operations.erasure import Erasure
from cs.operations.operator import Operator
from cs.paid_calls.register import PaidCalls
from cs.plugins.sources import PeopleAnswer
from cs.projections.runner import ViewRunner
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings
from harness.in_process import Service
from harness.outside import ADA, BEN, Staff
from operations.erasure.service import ADA_MAILBOX, at_zenith, outside


@dataclass
class PaidStaff:
    """Tells of the same two people for every brand, and is paid for it."""

    paid: PaidCalls
    name: str = "staff"

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        async def make(_: str) -> bytes:
            return b"Ada Kern, Ben Ode"

        await self.paid.once(self.name, {"brand": brand.name}, make)
        people = (ADA, BEN) if brand.name == "Acme" else (at_zenith(BEN),)
        return await Staff(people).find(brand, limit=limit)


def remembered(folder: Path) -> set[str]:
    """Return the lookups whose calls are remembered."""
    with closing(sqlite3.connect(folder / "calls.db")) as database:
        return {lookup for (lookup,) in database.execute("SELECT lookup FROM calls")}


async def erase_ada(folder: Path) -> None:
    """Erase Ada as the command does: next to the service."""
    async with open_folder(DataFolder(folder)) as data:
        views = ViewRunner(data.log, data.views, data.keys)
        erasure = Erasure(Streams(data.log), data.keys, SystemClock(), views.catch_up)
        await erasure.erase_mailbox(ADA_MAILBOX)


async def test_a_service_that_meets_somebody_erased_does_not_wait_for_who_reads_the_file(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data"
    settings = Settings(data_dir=folder)
    async with open_paid_calls(settings) as paid:
        tools = replace(outside(), people_sources=[PaidStaff(paid)])
        async with run_embedded(settings, tools, "live") as running:
            service = Service(running, Operator(running.streams, SystemClock()))
            key = await service.new_key()
            await service.search(key, brand="Zenith")
            await erase_ada(folder)

            with closing(sqlite3.connect(folder / "calls.db", isolation_level=None)) as reader:
                reader.execute("BEGIN")
                reader.execute("SELECT * FROM calls").fetchall()
                with capture_logs() as lines:
                    answer = (await service.search(key, brand="Acme")).json()

    assert [each["full_name"] for each in answer["contacts"]] == ["Ben Ode"]
    (why,) = {line["why"] for line in lines if line["event"] == "erased_data_remains"}
    assert str(folder / "calls.db") in why
