"""A process that answers calls opens whom an answer shows, for that answer, and nobody else."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path

import httpx
import pytest

from cs.assembly.postgres_stores import open_shared_stores
from cs.assembly.roles import run_api
from cs.domain.brand.brand import brand_stream
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import settled
from cs.eventlog.port import NO_STREAM, Append
from cs.eventlog.streams import Streams
from cs.keystore.store import StoredKeys
from cs.operations.operator import NewSecret, Operator
from cs.postgres.pool import connected, open_pool
from cs.postgres.schema import STORES, migrate
from cs.projections.runner import ViewRunner
from cs.runtime.clock import SystemClock
from cs.settings import Settings
from domain.acme_run import AT, AcmeRun
from harness.servers.databases import new_database
from projections.history import DONE, admitted, done

#: A brand with people found and its lookup not at an end.
LIVE = brand_stream(Query("Zenith"))
NAME = "Ada Kern"


@pytest.fixture
async def settings(postgres: str, tmp_path: Path) -> AsyncIterator[Settings]:
    key_file = tmp_path / "master.key"
    key_file.write_bytes(bytes(32))
    key_file.chmod(0o600)
    async with new_database(postgres) as dsn, new_database(postgres) as keys_dsn:
        for address, store in zip((dsn, keys_dsn), STORES, strict=False):
            async with open_pool(address, role="test") as pool, connected(pool) as connection:
                await migrate(connection, store)
        yield Settings(postgres=dsn, keys_postgres=keys_dsn, master_key_file=key_file)


@pytest.fixture
async def key(settings: Settings) -> NewSecret:
    """Return a key with one search that is done; somebody was found for both brands."""
    async with open_shared_stores(settings, "test") as data:
        operator = Operator(Streams(data.log), SystemClock())
        await operator.choose_world("live")
        key = await operator.create_key("agency", 9)
        search: list[AnyEvent] = [
            admitted("s-done", f"{DONE}.1"),
            settled("s-done", f"{DONE}.1", "done", 1, cached=False, at=AT),
        ]
        await data.log.append([Append(DONE, NO_STREAM, done().events)])
        await data.log.append([Append(LIVE, NO_STREAM, AcmeRun(stream=LIVE).resolved().events)])
        await data.log.append([Append(f"key-{key.id}", 0, search)])
        await ViewRunner(data.log, data.views, data.keys).catch_up()
        return key


class AskedFor:
    """The data keys that a process asked for, by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: set[str] = set()
        find, look = StoredKeys.find, StoredKeys.look

        async def find_noted(store: StoredKeys, names: Iterable[str]) -> Mapping[str, bytes]:
            wanted = list(names)
            self.names.update(wanted)
            return await find(store, wanted)

        async def look_noted(
            store: StoredKeys, names: Iterable[str]
        ) -> Mapping[str, bytes | None]:
            wanted = list(names)
            self.names.update(wanted)
            return await look(store, wanted)

        monkeypatch.setattr(StoredKeys, "find", find_noted)
        monkeypatch.setattr(StoredKeys, "look", look_noted)


async def test_the_api_asks_for_the_key_of_an_answer_and_of_no_person(
    settings: Settings, key: NewSecret, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = AskedFor(monkeypatch)
    async with (
        asyncio.timeout(20),
        run_api(settings, "live") as role,
        open_shared_stores(settings, "test") as others,
    ):
        assert role.app is not None
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(role.app),
            base_url="http://api/v1",
            headers={"Authorization": f"Bearer {key.key}"},
        )
        joined = await client.post("/contacts", json={"brand": "Zenith"})  # folds that brand
        assert joined.status_code == 202, joined.text
        assert not asked.names

        found = AcmeRun(stream="brand-found").resolved()
        head = await others.log.append([Append("brand-found", NO_STREAM, found.events)])
        asked.names.clear()  # by those who appended it
        ended = settled("s-new", f"{DONE}.1", "done", 1, cached=True, at=AT)
        await others.log.append(
            [Append(f"key-{key.id}", 3, [admitted("s-new", f"{DONE}.1"), ended])]
        )
        # Views that nobody moves: what they lack is read from the log.
        answer = await client.get("/searches/s-new")

        assert answer.status_code == 200, answer.text
        assert NAME in answer.text
        assert head > 0
        assert asked.names == {f"result:{DONE}.1"}
