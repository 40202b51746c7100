"""Measure the service against its goals, and print one table.

    PYTHONPATH=tests .venv/bin/python bench/goals.py [PART ...] [--against CHECKOUT]

``make bench`` is this command, ``make bench ONLY="http live"`` some parts.  A part is a
program of its own in this folder, which measures pairs in one run and prints JSON; what is
compared with what is at the top of each.  ``flat`` needs 6 GB and some 20 minutes, so it runs
only by name.  With a checkout of another version, live searches of both are measured: the
goal is that a search takes no more processor time than there.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
#: The driver of the library's own recorder for PostgreSQL, which nothing of ours needs: put
#: there before the part that measures it.  Without a package index that part fails.
PSYCOPG = HERE.parent / "build" / "psycopg"
DRIVER = ("-m", "pip", "install", "--quiet", "--target", str(PSYCOPG), "psycopg[binary,pool]")
#: A live search may cost this much of another version's: two runs differ by some per cent.
NO_MORE = 1.05
#: Longest that a part may take, seconds.
LIMIT_S = 2_400


class Row(NamedTuple):
    """A goal, what was measured, and whether it was reached; ``None``: nothing to compare."""

    what: str
    measured: str
    goal: str
    reached: bool | None


def http(found: Any) -> Iterator[Row]:
    rows = found["rows"]
    for name, against, least in (
        ("ours, GET finished search", "CRUD on SQLite", 1.0),
        ("ours, POST from reuse", "CRUD on SQLite", 0.3),
        ("ours on PostgreSQL, GET finished search", "CRUD with keys", 0.7),
    ):
        row = rows[name]
        shown = f"{row['ratio']} ×, {row['per_s']:,}/s, {row['cpu_ms']} ms of processor time"
        what = f"{name}, compared with {against}"
        yield Row(what, shown, f"≥ {least} ×", row["ratio"] >= least)


def live(found: Any) -> Iterator[Row]:
    yield _no_more("A live search, one process", found["cpu_ms"]["python"])


def cluster(found: Any) -> Iterator[Row]:
    yield _no_more("A live search, every role", found["cpu_ms"]["python"])


def _no_more(what: str, cpu_ms: Mapping[str, float]) -> Row:
    ours, other = cpu_ms["ours"], cpu_ms.get("other")
    shown = f"{ours} ms of processor time" + ("" if other is None else f", {other} ms there")
    reached = None if other is None else ours <= other * NO_MORE
    return Row(what, shown, "no more than in --against", reached)


def append(found: Any) -> Iterator[Row]:
    rate = {name: row["per_s"] for name, row in found["rows"].items()}
    times = rate["ours"] / rate["the library's recorder"]
    shown = f"{times:.1f} ×, {rate['ours']:,} events/s"
    yield Row("Append, 16 callers, compared with the library", shown, "≥ 8 ×", times >= 8)


def start(found: Any) -> Iterator[Row]:
    for form, row in found["rows"].items():
        shown = f"{row['ready_s']:.1f} s, {row['peak_mib']} MiB"
        reached = row["ready_s"] <= 3 and row["peak_mib"] <= 200
        yield Row(f"Start with 1 million keys, {form}", shown, "≤ 3 s, ≤ 200 MiB", reached)


def fair(found: Any) -> Iterator[Row]:
    row, most = found["rows"]["with a list"], found["most"]
    shown = f"{row['median_lookups']} lookups, at most {row['longest_lookups']}"
    what = "A single search next to another key's list"
    yield Row(what, shown, "at most 1 lookup more", row["longest_lookups"] <= 2)
    calm, busy = most["without the flood"], most["with it"]
    refused, bound = found["rows"]["flood"]["refused"], found["lookups_at_once"]
    waits = busy["bus_waiting_messages"]
    shown = f"{refused:.0%} refused, {busy['memory_mib']} MiB, {waits} messages wait"
    reached = refused > 0 and busy["memory_mib"] <= 1.25 * calm["memory_mib"] and waits <= bound
    goal = f"refused; ≤ 1.25 × {calm['memory_mib']} MiB, ≤ {bound} messages"
    yield Row("More searches than are carried", shown, goal, reached)


def flat(found: Any) -> Iterator[Row]:
    for call, row in found["rows"].items():
        yield Row(
            f"{call}, 10 million events compared with a short log",
            f"{row['ratio']} × the processor time",
            "≤ 1.2 ×",
            row["ratio"] <= 1.2,
        )


#: Each part: its program, and what its figures say.  The last runs only by name.
PARTS: Mapping[str, tuple[Sequence[str], Callable[[Any], Iterator[Row]]]] = {
    "http": (("thin_path.py", "800"), http),
    "live": (("live_searches.py", "64"), live),
    "cluster": (("live_searches.py", "64", "--cluster"), cluster),
    "append": (("event_log_postgres.py", "8000"), append),
    "start": (("many_keys.py",), start),
    "fair": (("fairness.py",), fair),
    "flat": (("flatness.py",), flat),
}


def measure(words: Sequence[str], checkout: Path = HERE.parent) -> Any:
    """Return what a program of *checkout*, run with its code, printed."""
    searched = [checkout / "src", checkout / "tests", PSYCOPG]
    done = subprocess.run(
        [sys.executable, checkout / "bench" / words[0], *words[1:], "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, searched))},
        timeout=LIMIT_S,
        check=True,
    )
    return json.loads(done.stdout)


def measured(part: str, against: Path | None) -> Any:
    words, _ = PARTS[part]
    if part == "append" and not (PSYCOPG / "psycopg").is_dir():
        subprocess.run([sys.executable, *DRIVER], check=True)
    if against is None or part not in {"live", "cluster"}:
        return measure(words)
    if part == "live":
        return measure([*words, "--against", str(against)])
    ours, theirs = measure(words), measure(words, against)
    ours["cpu_ms"]["python"]["other"] = theirs["cpu_ms"]["python"]["ours"]
    return ours


def main(parts: Sequence[str], against: Path | None) -> int:
    rows: list[Row] = []
    failed = False
    for part in parts:
        print(f"{part}: bench/{' '.join(PARTS[part][0])}", file=sys.stderr, flush=True)
        try:
            rows += PARTS[part][1](measured(part, against))
        except (subprocess.SubprocessError, ValueError, KeyError) as error:
            rows.append(Row(part, f"failed: {error!r}", "", False))
    print("| What | Measured | Goal | Reached |\n| --- | --- | --- | --- |")
    for row in rows:
        failed |= row.reached is False
        shown = {None: "–", True: "yes", False: "**no**"}[row.reached]
        print(f"| {row.what} | {row.measured} | {row.goal} | {shown} |")
    return int(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--against", type=Path, metavar="CHECKOUT")
    given = parser.parse_args()
    if unknown := sorted(set(given.parts) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    sys.exit(main(given.parts or list(PARTS)[:-1], given.against))
