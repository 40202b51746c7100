"""`cs log verify` of a version that does not know all that is in the log."""

import asyncio
from pathlib import Path

import pytest

from cli.command import Here
from cli.conftest import here as here  # noqa: PLC0414  the fixture
from cs.assembly.folder import open_folder
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from system.upgrades.newer import TOPIC, write_newer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose last two events are a newer version's and one after it."""

    async def write() -> None:
        async with open_folder(DataFolder(tmp_path / "data")) as data:
            operator = Operator(Streams(data.log), SystemClock())
            await operator.choose_world("sandbox")
            await operator.create_key("a", 1)
            await write_newer(data.log, (await data.log.tail(0))[1].stream, 0)
            await operator.create_key("b", 1)

    asyncio.run(write())
    return tmp_path / "data"


def test_it_says_which_event_and_that_nothing_after_it_was_checked(
    folder: Path, here: Here
) -> None:
    ran = here("log", "verify", "--json", f"--data-dir={folder}")

    assert ran.code == 1
    violation, counts = ran.rows
    assert (violation["kind"], violation["position"]) == ("newer", 3)
    assert TOPIC in violation["what"]
    assert (counts["events"], counts["violations"]) == (2, 1)
