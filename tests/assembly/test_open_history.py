"""The history opened from a program, as docs/analysts.md shows it."""

import os
import subprocess
import sys
from pathlib import Path

from cli.command import Here, environment

#: Prints what happened to the keys of a data folder.
PROGRAM = """
import asyncio, sys
from cs.assembly.open_history import open_history

async def main():
    async with open_history(sys.argv[1]) as opened:
        for stream in sys.argv[2:]:
            async for recorded in opened.history.stream(stream):
                print(type(recorded.event).__name__, recorded.event.quota)

asyncio.run(main())
"""


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment(PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
    )


def test_a_data_folder_is_read(here: Here, tmp_path: Path) -> None:
    made = here("keys", "create", "--quota=7", "--json", f"--data-dir={tmp_path}").rows[0]

    ran = run(str(tmp_path), f"key-{made['id']}")

    assert ran.stdout == "KeyIssued 7\n"


def test_a_folder_without_data_is_refused_and_left_alone(tmp_path: Path) -> None:
    ran = run(str(tmp_path / "nothing"))

    assert ran.stderr.splitlines()[-1].startswith("cs.runtime.data_folder.DataFolderError")
    assert list(tmp_path.iterdir()) == []
