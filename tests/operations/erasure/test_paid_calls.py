"""What a provider was paid to say of somebody is forgotten with them."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from cs.domain.contact import BrandFacts
from cs.plugins.sources import PeopleAnswer
from harness.outside import ADA, BEN, Staff
from harness.stores import opened
from operations.erasure.service import ADA_MAILBOX, at_zenith, outside, paying_service


@dataclass
class PaidStaff:
    """Tells of the same two people for every brand, and is paid for it."""

    paid: Any
    name: str = "staff"

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        async def make(_: str) -> bytes:
            return b"Ada Kern, Ben Ode"

        await self.paid.once(self.name, {"brand": brand.name}, make)
        people = (ADA, BEN) if brand.name == "Acme" else (at_zenith(BEN),)
        return await Staff(people).find(brand, limit=limit)


async def test_a_service_that_meets_an_erased_person_does_not_wait_for_a_reader_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.sqlite.database.READERS_S", 0)  # or each waits 3 s
    folder = tmp_path / "data"

    def tools(paid: Any) -> Any:
        return replace(outside(), people_sources=[PaidStaff(paid)])

    async with paying_service(folder, tools) as service:
        key = await service.new_key()
        await service.search(key, brand="Zenith")
        async with opened(folder) as stores:  # next to the service, as the command does
            await stores.erasure.erase_mailbox(ADA_MAILBOX)

        with closing(sqlite3.connect(folder / "calls.db", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM calls").fetchall()
            with capture_logs() as lines:
                answer = (await service.search(key, brand="Acme")).json()

    assert [each["full_name"] for each in answer["contacts"]] == ["Ben Ode"]
    (why,) = {line["why"] for line in lines if line["event"] == "erased_data_remains"}
    assert str(folder / "calls.db") in why
