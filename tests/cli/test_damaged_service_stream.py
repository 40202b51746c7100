"""Damage in the stream `service` ends the commands that need it, and no other."""

import asyncio
from pathlib import Path

import pytest

from cli.command import Here, Ran
from cs.eventlog.port import EventLog
from cs.operations.operator import NewSecret
from harness.outside import tools
from system.damage.stores import SqliteStores, Stores
from system.older_keys.forms import Form, OnFiles

FIRST, LATER = 0, 1


class Data:
    """The data of a service that was paused once, in a form that commands can be run on."""

    def __init__(self, form: Form, stores: Stores, here: Here) -> None:
        self.form = form
        self.key = NewSecret("", "")
        self._stores = stores
        self._here = here
        self._positions: list[int] = []

    async def fill(self) -> None:
        async with self.form.service(tools()) as service:
            self.key = await service.new_key()
            await service.operator.pause()
            log: EventLog = service.running.streams.log
            self._positions = [each.position for each in await log.read("service")]

    def damage(self, version: int) -> None:
        asyncio.run(self._stores.replace(self._positions[version], b"{nonsense"))

    def cs(self, *words: str) -> Ran:
        where = self.form.environment | {"CS_ADMIN_PORT": "1"}
        return self._here(*words, width=200, **where)


@pytest.fixture
async def data(tmp_path: Path, here: Here) -> Data:
    folder = tmp_path / "data"
    on_files = Data(OnFiles(folder), SqliteStores(folder), here)
    await on_files.fill()
    return on_files


@pytest.mark.parametrize("version", [FIRST, LATER])
def test_what_needs_no_pause_switch_goes_on(data: Data, version: int) -> None:
    data.damage(version)

    listed = data.cs("keys", "list", "--json")
    granted = data.cs("keys", "grant", data.key.id, "5", "--json")
    revoked = data.cs("keys", "revoke", data.key.id)
    brands = data.cs("brands", "list")
    suppressed = data.cs("people", "suppressed")

    assert [row["id"] for row in listed.rows] == [data.key.id]
    done = (listed, granted, revoked, brands, suppressed)
    assert [each.code for each in done] == [0] * 5, done


@pytest.mark.parametrize(("version", "world"), [(FIRST, None), (LATER, "world")])
def test_a_status_says_what_is_not_known(data: Data, version: int, world: str | None) -> None:
    before = data.cs("status", "--json").rows[0]
    data.damage(version)

    shown, rows = data.cs("status"), data.cs("status", "--json").rows[0]

    assert before["paused"] is True
    assert rows["paused"] is None
    assert rows["world"] == (before["world"] if world else None)
    assert rows["events"] == before["events"]
    not_known = "not known: the stream `service` is damaged (cs log verify)"
    assert f"searches   {not_known}\n" in shown.out
    assert shown.out.count(not_known) == (1 if world else 2)


@pytest.mark.parametrize("switch", ["pause", "resume"])
def test_the_pause_switch_says_why_it_cannot_be_moved(data: Data, switch: str) -> None:
    data.damage(LATER)

    ended = data.cs(switch)

    told = ended.err.splitlines()[-1]
    assert ended.code == 1
    assert "service version 1, is damaged" in told
    assert "this needs that stream; what needs others goes on" in told
    assert "cs log verify" in told
