"""Erasing somebody while another process reads the files that hold them."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from cli.command import Here, Ran
from harness.stores import opened
from history.people import Seen
from operations.erasure.service import person_everywhere
from operations.erasure.traces import traces

pytestmark = pytest.mark.slow

PROFILE = "https://www.linkedin.com/in/jane-roe"
JANE = Seen("Jane Roe", "Acme", PROFILE, "jane@acme.test")
NAMES = (JANE.full_name, "jane-roe", "jane@acme.test")
#: What holds her, by file: sealed, and readable by whoever has the keys.
SEALED = {
    "calls.db": "SELECT answer FROM calls",
    "directory.db": "SELECT box FROM person UNION SELECT who FROM person",
    "keys.db": "SELECT wrapped FROM data_key",
}


@pytest.fixture
def folder(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with her in the log, the directory and the answer of a paid call."""
    monkeypatch.setattr("cs.sqlite.database.READERS_S", 0)  # or each waits 3 s
    folder = tmp_path / "data"
    asyncio.run(person_everywhere(folder, JANE))
    file = tmp_path / "people.csv"
    file.write_text(
        f"name,company,linkedin,email\n{JANE.full_name},Acme,{PROFILE},{NAMES[2]}\n"
    )
    assert here("directory", "import", str(file), f"--data-dir={folder}").code == 0
    file.unlink()
    return folder


@contextmanager
def reading(file: Path) -> Iterator[set[bytes]]:
    """Hold a read transaction on *file*; yield what stands in it of her."""
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        yield {box for (box,) in reader.execute(SEALED[file.name]) if box is not None}


def copied(folder: Path, copy: Path) -> dict[str, bytes]:
    """Return the files of *folder* as somebody has them who copies only the databases."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    assert traces(copy, NAMES) == []
    return {file.name: file.read_bytes() for file in copy.iterdir() if file.is_file()}


def standing_in(files: dict[str, bytes], boxes: dict[str, set[bytes]]) -> set[str]:
    return {name for name, some in boxes.items() if any(box in files[name] for box in some)}


def erase(here: Here, folder: Path) -> Ran:
    return here("people", "erase", "--profile", PROFILE, f"--data-dir={folder}")


def restored(here: Here, folder: Path) -> None:
    """Erase her, and bring back the files of before, as from a backup."""
    before = {name: (folder / name).read_bytes() for name in SEALED}
    assert erase(here, folder).code == 0
    for name, content in before.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    ("command", "held"),
    [("erase", {"calls.db", "keys.db"}), ("reapply", set(SEALED))],
)
def test_an_erasure_ends_when_no_process_reads_the_files(
    folder: Path, tmp_path: Path, here: Here, command: str, held: set[str]
) -> None:
    run: Callable[[], Ran] = partial(erase, here, folder)
    if command == "reapply":
        restored(here, folder)
        run = partial(here, "people", "reapply", f"--data-dir={folder}")
    with ExitStack() as readers:
        boxes = {name: readers.enter_context(reading(folder / name)) for name in held}
        assert all(boxes.values())

        message = [run().error(), run().error()]

        for each in message:
            assert "can still be read in" in each
            assert each.endswith("end that process, then run the same command again")
            assert {name for name in SEALED if str(folder / name) in each} == held
        assert standing_in(copied(folder, tmp_path / "before"), boxes)

    assert run().code == 0

    assert not standing_in(copied(folder, tmp_path / "after"), boxes)
    assert not asyncio.run(_shown(folder))


async def _shown(folder: Path) -> bool:
    """Return whether anything of her can be opened."""
    async with opened(folder) as stores:
        return JANE.full_name in await stores.stored()
