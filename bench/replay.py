"""How fast `cs replay` runs rules again: events and people a second, and what it holds.

    .venv/bin/python bench/replay.py [EVENTS] [--keep FOLDER]

Over the history of bench/long_history.py (200,000 events unless it is said), SQLite, each
replay as the command in a process of its own, all differences to a file.  Beside them two that
read the same log and do nothing with it: the eventsourcing library's own notification log, 500
at a time, and a plain ``SELECT``.

Seconds are those of the processor, which other work on the machine disturbs less, and without
those that the command takes to start (``cs replay --help``); of two processes both have to,
and only the one start is left out.  Events are all that are in the
log: which of them a replay reads is its own affair.  Answers are what was run again: people
ranked, mailboxes judged, brands resolved.
"""

import argparse
import asyncio
import sqlite3
import sys
import tempfile
from pathlib import Path

import msgspec

from long_history import LIBRARY, SELECT, Measured, measured, write

#: What is run, and by how many processes.
REPLAYS = (
    ("ranking", 1),
    ("ranking", 2),
    ("verdicts", 1),
    ("resolution", 1),
)


class Total(msgspec.Struct):
    """The last line of a replay: what is printed of it."""

    answers: int
    lookups: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("events", type=int, nargs="?", default=200_000)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cs-replay-") as name:
        folder = chosen.keep or Path(name) / "data"
        if not folder.exists():
            asyncio.run(write(folder, chosen.events))
        compare(folder, Path(name) / "printed")


def compare(folder: Path, out: Path) -> None:
    """Print how long each replay of what is in *folder* takes."""
    log = sqlite3.connect(f"file:{folder / 'log.db'}?mode=ro", uri=True)
    events: int = log.execute("SELECT max(rowid) FROM stored_events").fetchone()[0]
    log.close()
    library = measured([sys.executable, "-c", LIBRARY, str(folder)], out)
    select = measured([sys.executable, "-c", SELECT, str(folder)], out)
    start = measured([sys.executable, "-m", "cs", "replay", "ranking", "--help"], out)
    print(f"{events:,} events; the start of a command takes {start.cpu_s:.1f} s of processor")
    row = "{:24} {:>8} {:>8} {:>11} {:>11} {:>6} {:>10} {:>9}"
    heads = ("wall s", "CPU s", "events/s", "answers/s", "MiB", "× library", "× SELECT")
    print(row.format("", *heads))

    def show(name: str, took: Measured, cpu_s: float, answers: int = 0) -> None:
        print(
            row.format(
                name,
                f"{took.wall_s:.1f}",
                f"{cpu_s:.1f}",
                f"{events / cpu_s:,.0f}",
                f"{answers / cpu_s:,.0f}" if answers else "",
                f"{took.peak_mib:.0f}",
                f"{cpu_s / library.cpu_s:.2f}",
                f"{cpu_s / select.cpu_s:.2f}",
            )
        )

    show("library's log", library, library.cpu_s)
    show("SELECT", select, select.cpu_s)
    for kind, processes in REPLAYS:
        words = ["replay", kind, "--json", f"--processes={processes}", f"--data-dir={folder}"]
        took = measured([sys.executable, "-m", "cs", *words], out)
        if took.failed:
            print(f"{kind}: {took.failed}")
            continue
        total = msgspec.json.decode(out.read_bytes().splitlines()[-1], type=Total)
        name = f"{kind}, {processes} process{'es' * (processes > 1)}"
        show(name, took, max(took.cpu_s - start.cpu_s, 0.01), total.answers)


if __name__ == "__main__":
    main()
