"""A key store that came back from a backup is made to forget again, whatever is damaged."""

import shutil
from pathlib import Path

import pytest

from cs.domain.brand.events import PeopleFound
from cs.eventlog.port import DamagedEvent, EventLog
from harness.outside import ADA, BEN
from harness.stores import opened
from operations.erasure.service import (
    ADA_PROFILE,
    at_zenith,
    erasable,
    erasable_folder,
    outside,
)
from system.damage.stores import DamagedStores

BEN_PROFILE = "https://www.linkedin.com/in/ben-ode"


async def search(path: Path, *brands: str) -> None:
    tools = outside(acme=(ADA,), zenith=(at_zenith(BEN),))
    async with erasable_folder(path, tools) as service:
        key = await service.new_key()
        for brand in brands:
            assert (await service.search(key, brand=brand)).status_code == 200


async def where_found(log: EventLog, name: str) -> tuple[str, int]:
    """Return in which stream, and where in the log, the person *name* was found."""
    for recorded in await log.tail(0):
        if isinstance(recorded.event, PeopleFound) and name in repr(recorded.event):
            return recorded.stream, recorded.position
    raise AssertionError(f"{name} was found")


async def readable(log: EventLog, stream: str) -> str:
    return repr([each.event for each in await log.read(stream)])


async def test_one_damaged_stream_keeps_no_other_person_from_being_forgotten_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data"
    await search(path, "Acme", "Zenith")
    shutil.copyfile(path / "keys.db", tmp_path / "keys.db")
    async with opened(path) as data:
        acme, damaged_at = await where_found(data.log, "Ada Kern")
        zenith, _ = await where_found(data.log, "Ben Ode")
        await data.erasure.erase_profile(ADA_PROFILE)
        await data.erasure.erase_profile(BEN_PROFILE)
    shutil.copyfile(tmp_path / "keys.db", path / "keys.db")
    whole = await DamagedStores(path).replace(damaged_at, b"{")

    async with opened(path) as data:
        assert "Ben Ode" in await readable(data.log, zenith)
        with pytest.raises(DamagedEvent):
            await data.erasure.reapply()
        assert "Ben Ode" not in await readable(data.log, zenith)

    await DamagedStores(path).replace(damaged_at, whole)
    async with opened(path) as data:
        assert await data.erasure.reapply() == 2
        assert "Ada Kern" not in await readable(data.log, acme)


async def test_after_lifting_the_erased_data_stays_erased_and_the_person_may_be_found() -> None:
    async with erasable(outside()) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        keys = dict(service.keys._keys)
        await service.erasure.erase_profile(ADA_PROFILE)
        (one,) = await service.erasure.suppressed()
        refused = set(service.keys._suppressed)
        assert len(refused) > 1, "the profile, and what else they are known by"
        await service.erasure.lift([one.id])
        service.keys._keys |= keys
        service.keys._suppressed |= refused
        assert "Ada Kern" in await service.stored()

        assert await service.erasure.reapply() == 0

        assert "Ada Kern" not in await service.stored()
        assert await service.erasure.suppressed() == []
        assert await service.keys.suppressed(refused) == set()
