"""Damage in the stream `service` ends the commands that need it, and no other."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.command import Here, Ran
from harness.in_process import on_folder

FIRST, LATER = 0, 1


class Data:
    """The data of a service that was paused once."""

    def __init__(self, folder: Path, here: Here) -> None:
        self._folder = folder
        self._here = here

    def damage(self, version: int) -> None:
        with closing(sqlite3.connect(self._folder / "log.db")) as log, log:
            log.execute(
                "UPDATE stored_events SET state = ? "
                "WHERE originator_id = 'service' AND originator_version = ?",
                (b"{nonsense", version),
            )

    def cs(self, *words: str) -> Ran:
        return self._here(*words, width=200, CS_DATA_DIR=str(self._folder), CS_ADMIN_PORT="1")


@pytest.fixture
def data(folder: Path, here: Here) -> Data:
    async def choose_world() -> None:
        async with on_folder(folder):
            pass

    asyncio.run(choose_world())
    data = Data(folder, here)
    assert data.cs("pause").code == 0
    return data


@pytest.mark.parametrize("version", [FIRST, LATER])
def test_what_needs_no_pause_switch_goes_on(data: Data, version: int) -> None:
    data.damage(version)

    listed = data.cs("keys", "list", "--json")
    key = listed.rows[0]["id"]
    granted = data.cs("keys", "grant", key, "5", "--json")
    revoked = data.cs("keys", "revoke", key)
    brands = data.cs("brands", "list")
    suppressed = data.cs("people", "suppressed")

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
