"""Every benchmark that the report is made of, one after the other, and the report.

    PYTHONPATH=tests .venv/bin/python bench/report.py [PART ...]

Without a name all of `PARTS` are run; ``make bench`` is this command, ``make bench ONLY=thin``
one part.  What a part measured is kept in ``bench/report.json`` until it is measured again, and
``bench/report.md`` is written from all that is there; ``--write`` does only that.

A part is a program of its own in this folder, which measures pairs in one run and prints JSON;
one that lasts longer than it may is ended, and the report says so.  The report begins with what
was to be reached (`bench/goals.py`).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from goals import held_against_goals

HERE = Path(__file__).parent
KEPT, WRITTEN = HERE / "report.json", HERE / "report.md"
#: How long a part that was told to end may take to end what it has started.
END_S = 30
#: The driver of the library's own recorder for PostgreSQL, which nothing of ours needs: put
#: there before the part that measures it.  Without a package index that row is left out.
PSYCOPG = HERE.parent / "build" / "psycopg"
DRIVER = ("-m", "pip", "install", "--quiet", "--target", str(PSYCOPG), "psycopg[binary,pool]")

Rows = Iterator[Sequence[object]]


class Part(NamedTuple):
    """A benchmark of the report.

    Attributes:
        title: What it measures, for a heading.
        words: The program and what it is given.
        limit_s: How long it may take.
        table: Makes a table of what it printed: the head, then its rows.
        prepare: Called before, outside of that time.
    """

    title: str
    words: Sequence[str]
    limit_s: int
    table: Callable[[Any], Rows]
    prepare: Callable[[], None] = lambda: None


def thin(found: Any) -> Rows:
    rows = found["rows"]
    yield (
        *("Call", "a second", "spread", "p50, ms", "p99, ms"),
        *("rate of CRUD", "of CRUD with keys", "CPU, ms", "CPU of CRUD", "caller"),
    )
    for row in rows:
        yield (
            *(row["name"], f"{row['per_s']:,}", row["spread"], row["p50_ms"], row["p99_ms"]),
            *(row["of_crud"], row["of_keyed"]),
            *(row["cpu_ms"], row["cpu_of_crud"], row["caller"]),
        )


def live(found: Any) -> Rows:
    yield "Figure", "median", "lowest", "highest"
    for name, (mid, low, high) in found["rows"]["ours"].items():
        yield name, mid, low, high


def cluster(found: Any) -> Rows:
    yield "Figure", "all rounds together"
    for name in ("per_s", "p50_ms", "p95_ms"):
        yield name, found[name]
    for name, cpu_ms in sorted(found["cpu_ms"].items(), key=lambda each: -each[1]):
        yield f"CPU a search, ms: {name}", round(cpu_ms, 1)


def path(found: Any) -> Rows:
    yield "Figure", "median", "lowest", "highest"
    for name in ("total_ms", "path_ms", "ratio"):
        yield name, *found[name]


def observing(found: Any) -> Rows:
    yield "What", "figures"
    for name, figures in found.items():
        told = figures if isinstance(figures, dict) else {"": figures}
        yield name, ", ".join(f"{key} {value}".strip() for key, value in told.items())


def speeds(found: Any) -> Rows:
    yield "What", "events a second, median", "lowest", "highest", "times the first"
    base = found["rows"][0]["median"]
    for row in found["rows"]:
        shown = (f"{row[name]:,.0f}" for name in ("median", "low", "high"))
        yield row["name"], *shown, f"{row['median'] / base:.1f}"


def own_time(found: Any) -> Rows:
    yield "What", "p50, ms", "p95, ms"
    for name, quantiles in found.items():
        if isinstance(quantiles, list):
            yield name, *quantiles


def library_driver() -> None:
    if not (PSYCOPG / "psycopg").is_dir():
        subprocess.run([sys.executable, *DRIVER], check=False)


PARTS: Mapping[str, Part] = {
    "thin": Part(
        "Short calls, beside services written by hand",
        ("thin_path.py", "800", "--json", "--postgres", "own", "--nodes", "2"),
        240,
        thin,
    ),
    "live": Part(
        "Live searches in one process, the world in another",
        ("live_searches.py", "64", "--rounds", "5", "--json"),
        180,
        live,
    ),
    "cluster": Part(
        "Live searches through every role",
        ("live_searches_cluster.py", "64", "--rounds", "5", "--json"),
        240,
        cluster,
    ),
    "path": Part(
        "A live search against the longest chain of what it waits for",
        ("critical_path.py", "12", "--json"),
        120,
        path,
    ),
    "own-time": Part(
        "Our own time in a search, through every role",
        ("cluster_own_time.py", "60", "--json"),
        150,
        own_time,
    ),
    "observing": Part(
        "What figures and traces cost", ("observing.py", "3000", "--json"), 150, observing
    ),
    "projections": Part(
        "Projecting into a SQLite file", ("projections.py", "20000", "--json"), 90, speeds
    ),
    "append": Part(
        "Appending to PostgreSQL, 16 callers",
        ("event_log_postgres.py", "8000", "--json"),
        120,
        speeds,
        library_driver,
    ),
}


def measure(part: Part) -> dict[str, Any]:
    """Run *part*; return what it printed, or why there is nothing."""
    part.prepare()
    began = time.monotonic()
    searched = [str(HERE.parent / "tests"), str(PSYCOPG)]
    with subprocess.Popen(
        [sys.executable, str(HERE / part.words[0]), *part.words[1:]],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(searched)},
        start_new_session=True,
    ) as running:
        try:
            printed, _ = running.communicate(timeout=part.limit_s)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGINT)  # it ends what it has started
            try:
                running.wait(END_S)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
            return {"why": f"took longer than {part.limit_s} s"}
    if running.returncode:
        return {"why": f"ended with {running.returncode}; run it by itself"}
    return {
        "found": json.loads(printed),
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "took_s": round(time.monotonic() - began),
        "load_1m": round(os.getloadavg()[0], 1),
    }


def report(kept: Mapping[str, Any]) -> str:
    """Return the report on what is *kept*."""
    out = ["# What was measured", "", _FOREWORD, "", "## What was to be reached", ""]
    found = {name: run["found"] for name, run in kept.items() if "found" in run}
    goals = ("What", "Measured", "Goal", "Reached")
    out += [_row(goals), _row(["---"] * len(goals)), *map(_row, held_against_goals(found))]
    out += ["", _GOALS]
    for name, part in PARTS.items():
        run = kept.get(name, {"why": "not measured yet"})
        out += ["", f"## {part.title}", "", f"`make bench ONLY={name}`: `{_command(part)}`"]
        if "why" in run:
            out += ["", f"Nothing: {run['why']}."]
            continue
        out[-1] += (
            f"; {run['at']} UTC on {run['cores']} cores, {run['took_s']} s; "
            f"load {run['load_1m']} at its end"
        )
        head, *rows = part.table(run["found"])
        out += ["", _row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(out) + "\n"


_FOREWORD = (
    "Written by `make bench` from `bench/report.json`; not by hand. What is compared with what "
    "stands at the top of each program; what follows from it in "
    "[docs/performance.md](../docs/performance.md). Rates are of the machine that it was "
    "measured on: compare within a table."
)


_GOALS = (
    "Beside CRUD: calls a second of ours against a service without keys, limits and reuse, and "
    "in brackets against one with keys. What takes longer than this report is measured by "
    "itself: `bench/flatness.py` (10 million events, a million keys and brands), "
    "`bench/cold_start.py`, `bench/month.py`."
)


def _command(part: Part) -> str:
    return f"bench/{' '.join(part.words)}"


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in cells)} |"


def main(names: Sequence[str]) -> int:
    kept: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    failed = 0
    for name in names:
        print(f"{name}: {_command(PARTS[name])}", flush=True)
        run = measure(PARTS[name])
        if "why" in run:
            failed += 1
            print(f"  nothing: {run['why']}", flush=True)
            if name in kept and "found" in kept[name]:
                continue  # what was measured before is better than nothing
        kept[name] = run | {"cores": len(os.sched_getaffinity(0))}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    WRITTEN.write_text(report(kept))
    print(f"written: {WRITTEN.relative_to(HERE.parent)}")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--write", action="store_true", help="measure nothing")
    given = parser.parse_args()
    if unknown := sorted(set(given.parts) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    sys.exit(main([] if given.write else given.parts or list(PARTS)))
