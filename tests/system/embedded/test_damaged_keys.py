"""A key store that is damaged under the running service: it says so, and lives on."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from harness.in_process import on_folder
from harness.outside import ADA, SlowStaff, slow_tools

pytestmark = pytest.mark.slow


@contextmanager
def without_its_table(keys: Path) -> Iterator[None]:
    with closing(sqlite3.connect(keys)) as other:
        other.execute("ALTER TABLE data_key RENAME TO away")
        yield
        other.execute("ALTER TABLE away RENAME TO data_key")


@contextmanager
def moved_away(keys: Path) -> Iterator[None]:
    keys.rename(keys.with_name("elsewhere"))
    yield
    keys.with_name("elsewhere").rename(keys)


def scribble(keys: Path) -> None:
    with closing(sqlite3.connect(keys)) as other:  # so that no page in memory is good
        other.execute("CREATE TABLE another (one INTEGER)")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    with keys.open("r+b") as file:
        file.write(os.urandom(keys.stat().st_size))


HARM = [
    (without_its_table, "no such table: data_key"),
    (moved_away, "keys.db was deleted or replaced"),
]


@pytest.mark.parametrize(("harm", "why"), HARM)
async def test_damaged_keys_are_reported_and_the_service_goes_on(
    tmp_path: Path, harm: Callable[[Path], AbstractContextManager[None]], why: str
) -> None:
    folder, staff = tmp_path / "data", SlowStaff((ADA,))
    async with on_folder(folder, slow_tools(staff)) as service:
        key = await service.new_key()
        found = (await service.search(key, brand="Acme", wait=False)).json()["id"]
        await staff.asked.wait()
        assert (await service.readyz()).status_code == 200

        with harm(folder / "keys.db"), capture_logs() as lines:
            staff.let.set()  # who was found cannot be stored now
            ready = await service.readyz()
            running = await service.read(key, found)

        body = ready.json()
        assert (ready.status_code, body["ready"], body["log"]) == (503, False, "ok")
        assert why in body["keys"]
        logged = [line for line in lines if line["event"] == "keys_unavailable"]
        assert {line["log_level"] for line in logged} == {"error"}
        assert why in logged[0]["why"]
        assert running["status"] == "running"

        await service.running.reading.until_settled(found)
        ended = await service.read(key, found)
        assert [contact["email"] for contact in ended["contacts"]] == ["ada.kern@acme.test"]
        assert (await service.readyz()).json()["keys"] == "ok"


async def test_overwritten_keys_are_reported_and_calls_without_people_are_answered(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data"
    async with on_folder(folder) as service:
        key = await service.new_key()

        scribble(folder / "keys.db")
        ready = await service.readyz()
        async with service.client(key) as client:
            usage = await client.get("/usage")

    assert ready.status_code == 503
    assert "it is damaged (file is not a database)" in ready.json()["keys"]
    assert usage.status_code == 200
