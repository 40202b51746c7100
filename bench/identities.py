"""Telling the people of a long history apart: time, memory and disk.

    .venv/bin/python bench/identities.py [RECORDS] [--history FOLDER]

First RECORDS (1,500,000 unless told otherwise) made-up records of a tenth as many people, three
of ten without a profile, go through `cs.history.evidence` alone.  Then, with FOLDER (one that
``bench/long_history.py --keep`` made), all that its log says about people is read and told
apart, as an export does before its first line.
"""

import argparse
import asyncio
import resource
import time
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

from cs.assembly.operator_command import open_command_context
from cs.history.evidence import Findings, IdentityEvidence
from cs.history.identities import identities
from cs.runtime import logs
from cs.settings import Settings

#: Records of one window of positions.
WINDOW = 3_000


def hashed(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()


def records(count: int) -> Iterator[Findings]:
    """Yield what is known of *count* records, each person seen ten times."""
    for n in range(count):
        person = n % (count // 10)
        name = f"brand-{hashed(n // 6)[:32]}.{n // 6}-k7f2m9qd#p{n % 6 + 1}"
        has_profile = n * 2654435761 % 10 >= 3
        prints = (hashed("name", person), hashed("mail", person))[: 1 + (n % 3 == 0)]
        yield Findings(name, hashed("profile", person) if has_profile else None, prints)


class Took:
    """Times a step, and prints what it took."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def print(self, what: str) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        wall, cpu = time.monotonic() - self._wall, time.process_time() - self._cpu
        print(f"{what:44} {wall:8.1f} s {cpu:8.1f} s CPU {peak:6} MiB")


def made_up(count: int) -> None:
    evidence, took = IdentityEvidence(lambda print_: f"person_{hashed(print_)[:16]}"), Took()
    window: list[Findings] = []
    for each in records(count):
        window.append(each)
        if len(window) == WINDOW:
            evidence.add(window)
            window.clear()
    evidence.add(window)
    took.print(f"{count:,} records added")
    took = Took()
    loose = next(each.name for each in records(count) if each.profile is None)
    assert evidence.who([loose])
    took.print("records without a profile compared")
    took = Took()
    people, names = set[str](), (each.name for each in records(count))
    while page := list(islice(names, WINDOW)):
        people.update(evidence.who(page).values())
    took.print(f"asked about all: {len(people):,} people")
    print(f"{evidence.size / 2**20:,.0f} MiB on disk")
    evidence.close()


async def in_history(folder: Path) -> None:
    async with open_command_context(Settings(data_dir=folder)) as data:
        events, took = await data.log.head(), Took()
        async with identities(data.log, data.keys) as people:
            await people.records_of("person_nobody")
        took.print(f"the people of {events:,} events told apart")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("records", type=int, nargs="?", default=1_500_000)
    parser.add_argument("--history", type=Path)
    chosen = parser.parse_args()
    logs.configure("error", "console")
    made_up(chosen.records)
    if chosen.history is not None:
        asyncio.run(in_history(chosen.history))


if __name__ == "__main__":
    main()
