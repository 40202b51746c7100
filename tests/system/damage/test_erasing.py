"""An erased person is shown nowhere, though the stream that showed them is damaged."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.command import ran
from cs.domain.brand.events import ContactsErased, LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent
from cs.eventlog.port import DamagedEvent
from harness.in_process import on_folder
from harness.outside import ADA, BEN, Mailboxes
from harness.stores import opened
from operations.erasure.service import ADA_PROFILE, Waits, at_zenith, outside
from system.damage.stores import (
    DamagedStores,
    ended,
    is_damaged,
    position_of,
    read,
    serving,
)

MAILBOXES = frozenset(
    f"{who}@{brand}.test" for who in ("ada.kern", "ben.ode") for brand in ("acme", "zenith")
)


def at_two_brands(mailboxes: Mailboxes | None = None) -> Any:
    """Return sources that know Ada and Ben at Acme and at Zenith."""
    return outside(
        (ADA, BEN), (at_zenith(ADA), at_zenith(BEN)), mailboxes or Mailboxes(MAILBOXES)
    )


async def erase_in(stores: DamagedStores, profile: str = ADA_PROFILE) -> None:
    """Erase as the command does, while a service runs or not."""
    async with stores.opened() as other:
        await other.erasure.erase_profile(profile)


def names(answer: Mapping[str, Any]) -> list[str]:
    return [contact["full_name"] for contact in answer["contacts"]]


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [LookupStarted, LookupFinished])
async def test_no_answer_has_an_erased_person_while_their_stream_is_damaged(
    stores: DamagedStores, damaged: type[AnyEvent]
) -> None:
    async with serving(stores, at_two_brands()) as service:
        key = await service.new_key()
        acme = (await service.search(key, brand="Acme")).json()
        zenith = (await service.search(key, brand="Zenith")).json()
        assert names(acme) == names(zenith) == ["Ada Kern", "Ben Ode"]
        at = await position_of(service.running.streams.log, damaged)
        whole = await stores.replace(at, b"\xff")

        with pytest.raises(DamagedEvent):
            await erase_in(stores)

        assert is_damaged(await read(service, key, acme["id"])), (
            "and not an answer without people"
        )
        assert is_damaged(await service.search(key, brand="Acme"))
        other = (await read(service, key, zenith["id"])).json()
        assert names(other) == ["Ben Ode"]
        assert other["usage"]["used"] == 2, "what is not answered is not charged"

    async with stores.opened() as here:
        await here.views.reset()
    async with serving(stores, at_two_brands()) as service:
        assert is_damaged(await read(service, key, acme["id"])), "rebuilt views too"

    await stores.replace(at, whole)
    async with serving(stores, at_two_brands()) as service:
        await erase_in(stores)
        mended = await ended(service, key, acme["id"])
        left = [each for each in acme["contacts"] if each["full_name"] == "Ben Ode"]
        assert mended == {**acme, "contacts": left, "usage": mended["usage"]}


async def test_no_answer_has_what_a_damaged_earlier_erasure_left(stores: DamagedStores) -> None:
    async with serving(stores, at_two_brands()) as service:
        key = await service.new_key()
        acme = (await service.search(key, brand="Acme")).json()
        await erase_in(stores, "https://www.linkedin.com/in/ben-ode")
        assert "Ada" in (await read(service, key, acme["id"])).text
        async with stores.opened() as here:  # the service's hears late of other processes
            at = await position_of(here.log, ContactsErased)
        whole = await stores.replace(at, b"{}")

        with pytest.raises(DamagedEvent):
            await erase_in(stores)

        assert is_damaged(await read(service, key, acme["id"]))

        await stores.replace(at, whole)
        await erase_in(stores)
        assert names((await read(service, key, acme["id"])).json()) == []


async def test_a_lookup_that_goes_on_once_repaired_is_answered(stores: DamagedStores) -> None:
    waits = Waits(MAILBOXES)
    async with serving(stores, at_two_brands(waits)) as service:
        key = await service.new_key()
        search = (await service.search(key, brand="Acme", wait=False)).json()["id"]
        await waits.asked.wait()
        at = await position_of(service.running.streams.log, LookupStarted)
        whole = await stores.replace(at, b"\xff")
        with pytest.raises(DamagedEvent):
            await erase_in(stores)
        head = await service.running.streams.log.head()
        await service.running.views.reached(head)
        await stores.replace(at, whole)

        waits.told.set()
        async with asyncio.timeout(20):
            await service.running.reading.until_settled(search)

        assert names((await read(service, key, search)).json()) == ["Ben Ode"]


async def test_a_running_service_drops_the_key_of_the_answer(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with on_folder(folder, at_two_brands()) as service:
        key = await service.new_key()
        acme = (await service.search(key, brand="Acme")).json()
        assert "Ada" in (await read(service, key, acme["id"])).text
        at = await position_of(service.running.streams.log, LookupFinished)
        await DamagedStores(folder).replace(at, b"\xff")

        async with opened(folder) as other:
            with pytest.raises(DamagedEvent):
                await other.erasure.erase_profile(ADA_PROFILE)
            head = await other.log.head()
        async with asyncio.timeout(20):
            await service.running.streams.log.grown(head - 1)  # it hears of the others' events
            await service.running.views.reached(head)

        assert is_damaged(await read(service, key, acme["id"]))


@pytest.mark.slow
async def test_the_command_reports_that_it_is_not_finished_and_finishes_once_repaired(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data"
    async with on_folder(folder, at_two_brands()) as service:
        acme = (await service.search(await service.new_key(), brand="Acme")).json()
        assert names(acme) == ["Ada Kern", "Ben Ode"]
        at = await position_of(service.running.streams.log, LookupFinished)
    whole = await DamagedStores(folder).replace(at, b"\xff")
    words = ("people", "erase", "--profile", ADA_PROFILE, f"--data-dir={folder}")

    for again in (words, ("people", "reapply", words[-1])):
        erased = ran(*again)
        assert erased.code == 1
        assert f"cs: the erasure is not finished: event {at}, " in erased.err
    await DamagedStores(folder).replace(at, whole)
    assert ran(*words).code == 0
