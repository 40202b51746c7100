"""Telling the people of a long history apart: time and memory.

    .venv/bin/python bench/identities.py FOLDER

All that the log in FOLDER (one that ``bench/long_history.py --keep`` made) says about people is
read and told apart, as an export does before its first line.
"""

import argparse
import asyncio
import resource
import time
from pathlib import Path

from cs.assembly.operator_command import open_command_context
from cs.history.identities import identities
from cs.runtime import logs
from cs.settings import Settings


class Took:
    """Times a step, and prints what it took."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def print(self, what: str) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        wall, cpu = time.monotonic() - self._wall, time.process_time() - self._cpu
        print(f"{what:44} {wall:8.1f} s {cpu:8.1f} s CPU {peak:6} MiB")


async def in_history(folder: Path) -> None:
    async with open_command_context(Settings(data_dir=folder)) as data:
        events, took = await data.log.head(), Took()
        async with identities(data.log, data.keys) as people:
            await people.records_of("person_nobody")
        took.print(f"the people of {events:,} events told apart")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    logs.configure("error", "console")
    asyncio.run(in_history(chosen.folder))


if __name__ == "__main__":
    main()
