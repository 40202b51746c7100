"""Who is erased is shown nowhere any more, though the stream that shows them is damaged."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command import ran
from cs.assembly.folder import open_folder as opened_folder
from cs.assembly.one_process import memory_bus, run_service
from cs.assembly.plugins import build_stages
from cs.domain.brand.events import DEADLINE, ContactsErased, LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent
from cs.domain.person import PersonErased
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.follow import follow
from cs.eventlog.port import EventLog
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.erasure import Erasure, ErasureResult
from cs.operations.operator import NewSecret, Operator
from cs.projections.runner import ViewRunner
from cs.projections.views import Views
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings
from harness.in_process import Service
from harness.outside import ADA, BEN, Mailboxes
from operations.erasure.service import ADA_PROFILE, Waits, at_zenith, outside
from system.damage.stores import PostgresStores, SqliteStores, Stores, opened, state

MAILBOXES = frozenset(
    f"{who}@{brand}.test" for who in ("ada.kern", "ben.ode") for brand in ("acme", "zenith")
)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for what is mended without waiting long."""
    monkeypatch.setattr("cs.eventlog.damage.RETRY_S", 0.01)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "sqlite":
        return SqliteStores(tmp_path)
    return PostgresStores(request.getfixturevalue("database"))


@asynccontextmanager
async def serving(
    log: EventLog, keys: KeyStore, views: Views, mailboxes: Mailboxes | None = None
) -> AsyncIterator[Service]:
    """Serve with Ada and Ben at Acme and at Zenith."""
    clock = SystemClock()
    staff = (at_zenith(ADA), at_zenith(BEN))
    tools = outside((ADA, BEN), staff, mailboxes or Mailboxes(MAILBOXES))
    async with run_service(
        log,
        keys,
        views,
        build_stages(tools),
        bus=memory_bus(),
        clock=clock,
        settings=Settings(lookup_deadline_s=DEADLINE.total_seconds()),
    ) as service:
        operator = Operator(service.streams, clock)
        await operator.choose_world("sandbox")
        yield Service(service, operator)


async def erase_ada(log: EventLog, keys: KeyStore, views: Views) -> ErasureResult:
    """Erase as the command does: beside the service, or without one."""
    reflected = ViewRunner(log, views, keys).catch_up
    return await Erasure(Streams(log), keys, SystemClock(), reflected).erase_profile(
        ADA_PROFILE
    )


async def erase_in(stores: Stores) -> ErasureResult:
    async with opened(stores) as (log, views):
        return await erase_ada(log, stores.keys, views)


async def read(service: Service, key: NewSecret, search: str) -> httpx.Response:
    async with service.client(key) as client:
        return await client.get(f"/searches/{search}")


def names(answer: Mapping[str, Any]) -> list[str]:
    return [contact["full_name"] for contact in answer["contacts"]]


def is_damaged(answer: httpx.Response) -> bool:
    return answer.status_code == 500 and "is damaged" in answer.json()["error"]["message"]


async def position_of(log: EventLog, kind: type[AnyEvent]) -> int:
    """Return where the first event of *kind* is: of Acme, which is searched for first."""
    return next(e.position for e in await log.tail(0, 1_000) if isinstance(e.event, kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LookupStarted, LookupFinished])
async def test_nobody_is_answered_with_an_erased_person_while_their_stream_is_damaged(
    stores: Stores, kind: type[AnyEvent]
) -> None:
    async with opened(stores) as (log, views), serving(log, stores.keys, views) as service:
        key = await service.new_key()
        acme = (await service.search(key, brand="Acme")).json()
        zenith = (await service.search(key, brand="Zenith")).json()
        assert names(acme) == names(zenith) == ["Ada Kern", "Ben Ode"]
        at = await position_of(log, kind)
        whole = await stores.state(at)
        await stores.write(at, b"\xff")

        with pytest.raises(DamagedEvent):
            await erase_in(stores)

        assert is_damaged(await read(service, key, acme["id"])), "rather than with nobody"
        assert is_damaged(await service.search(key, brand="Acme"))
        other = (await read(service, key, zenith["id"])).json()
        assert names(other) == ["Ben Ode"]
        assert other["usage"]["used"] == 2, "what is not answered is not charged"

    async with opened(stores) as (_, views):
        await views.reset()
    async with opened(stores) as (log, views), serving(log, stores.keys, views) as service:
        assert is_damaged(await read(service, key, acme["id"])), "views made anew too"

    await stores.write(at, whole)
    async with opened(stores) as (log, views), serving(log, stores.keys, views) as service:
        await erase_in(stores)
        async with asyncio.timeout(20):  # the views take it up
            while (answer := await read(service, key, acme["id"])).status_code != 200:
                assert is_damaged(answer)
        mended = answer.json()
        left = [each for each in acme["contacts"] if each["full_name"] == "Ben Ode"]
        assert mended == {**acme, "contacts": left, "usage": mended["usage"]}


async def test_nor_with_what_an_earlier_erasure_left_of_the_answer(stores: Stores) -> None:
    async with opened(stores) as (log, views), serving(log, stores.keys, views) as service:
        key = await service.new_key()
        acme = (await service.search(key, brand="Acme")).json()
        erasure = Erasure(
            Streams(log),
            stores.keys,
            SystemClock(),
            ViewRunner(log, views, stores.keys).catch_up,
        )
        await erasure.erase_profile("https://www.linkedin.com/in/ben-ode")
        assert "Ada" in (await read(service, key, acme["id"])).text
        at = await position_of(log, ContactsErased)
        whole = await stores.state(at)
        await stores.write(at, b"{}")

        with pytest.raises(DamagedEvent):
            await erase_in(stores)

        assert is_damaged(await read(service, key, acme["id"]))

        await stores.write(at, whole)
        await erase_in(stores)
        assert names((await read(service, key, acme["id"])).json()) == []


async def test_a_lookup_that_runs_on_once_it_is_mended_is_answered(stores: Stores) -> None:
    waits = Waits(MAILBOXES)
    async with (
        opened(stores) as (log, views),
        serving(log, stores.keys, views, waits) as service,
    ):
        key = await service.new_key()
        search = (await service.search(key, brand="Acme", wait=False)).json()["id"]
        await waits.asked.wait()
        at = await position_of(log, LookupStarted)
        whole = await stores.state(at)
        await stores.write(at, b"\xff")
        with pytest.raises(DamagedEvent):
            await erase_in(stores)
        await service.running.views.reached(await log.head())
        await stores.write(at, whole)

        waits.told.set()
        async with asyncio.timeout(20):
            await service.running.reading.until_settled(search)

        assert names((await read(service, key, search)).json()) == ["Ben Ode"]


async def test_a_service_that_holds_the_key_of_the_answer_open_drops_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with (
        opened_folder(DataFolder(folder)) as data,
        serving(data.log, data.keys, data.views) as service,
    ):
        key = await service.new_key()
        acme = (await service.search(key, brand="Acme")).json()
        assert "Ada" in (await read(service, key, acme["id"])).text
        state(folder, await position_of(data.log, LookupFinished), b"\xff")

        async with opened_folder(DataFolder(folder)) as beside:  # another process
            with pytest.raises(DamagedEvent):
                await erase_ada(beside.log, beside.keys, beside.views)
        async for page in follow(data.log, 0):
            if any(isinstance(each.event, PersonErased) for each in page):
                break

        assert is_damaged(await read(service, key, acme["id"]))


@pytest.mark.slow
async def test_the_command_says_that_it_is_not_finished_and_finishes(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with (
        opened_folder(DataFolder(folder)) as data,
        serving(data.log, data.keys, data.views) as service,
    ):
        acme = (await service.search(await service.new_key(), brand="Acme")).json()
        assert names(acme) == ["Ada Kern", "Ben Ode"]
        at = await position_of(data.log, LookupFinished)
    whole = state(folder, at, b"\xff")
    words = ("people", "erase", "--profile", ADA_PROFILE, f"--data-dir={folder}")

    for again in (words, ("people", "reapply", words[-1])):
        erased = ran(*again)
        assert erased.code == 1
        assert f"cs: the erasure is not finished: event {at}, " in erased.err
    state(folder, at, whole)
    assert ran(*words).code == 0
