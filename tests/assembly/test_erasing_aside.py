"""Erasing from the console: its words if a store is left out, or if it is not finished."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from cs.assembly.operator_command import open_command_context
from cs.assembly.work_aside import erase_in
from cs.runtime.slow_work import SlowWorkFailed
from cs.settings import load

NAMED = ("jo@acme.test", None)


async def erased(folder: Path, **without: None) -> str:
    settings = load(environment={"CS_DATA_DIR": str(folder)})
    async with open_command_context(settings, new=True) as data:
        return await erase_in(replace(data, **without), NAMED)


async def test_stores_that_are_left_out_are_named(tmp_path: Path) -> None:
    every = await erased(tmp_path / "a")
    fewer = await erased(tmp_path / "b", calls=None, directory_erasure=None)

    assert "0 rows of your own directory are deleted" in every
    assert "stages_postgres" not in every
    assert "rows of your own directory" not in fewer
    assert "Your own directory is left as it is" in fewer
    assert "answers of paid providers are not deleted" in fewer


async def test_an_erasure_that_damage_stops_says_how_to_finish_it(tmp_path: Path) -> None:
    await erased(tmp_path)
    with closing(sqlite3.connect(tmp_path / "log.db")) as log, log:
        log.execute(
            "UPDATE stored_events SET state = ? WHERE originator_id LIKE 'person-%'",
            (b"{nonsense",),
        )

    with pytest.raises(SlowWorkFailed, match=r"not finished: .*then send the form again"):
        await erased(tmp_path)
