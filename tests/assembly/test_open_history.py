"""The history opened from a program."""

import asyncio
from pathlib import Path

import pytest

from cs.assembly.folder import open_folder
from cs.assembly.open_history import open_history
from cs.domain.codec import AnyEvent
from cs.eventlog.port import NO_STREAM, Append
from cs.runtime.data_folder import DataFolder, DataFolderError
from domain.golden_files import golden_events


async def events_in(folder: Path) -> list[AnyEvent]:
    async with open_history(folder) as opened:
        return [recorded.event async for recorded in opened.history.stream("key-k1")]


def test_a_data_folder_is_read(tmp_path: Path) -> None:
    async def fill() -> None:
        async with open_folder(DataFolder(tmp_path)) as data:
            await data.log.append([Append("key-k1", NO_STREAM, golden_events("key"))])

    asyncio.run(fill())

    assert asyncio.run(events_in(tmp_path)) == list(golden_events("key"))


def test_a_folder_without_data_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="nothing"):
        asyncio.run(events_in(tmp_path / "nothing"))

    assert list(tmp_path.iterdir()) == []
