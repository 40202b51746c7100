"""How fast `cs events export` writes each format, and what it holds in memory.

    PYTHONPATH=tests .venv/bin/python bench/export.py [EVENTS]

Each export is the command in a process of its own, over a history of the domain's own events
(bench/synthetic_history.py, 200,000 unless it is said), SQLite.  Prints events a second of
the whole command, start included, and the peak of its memory.  Processor time counts on a
machine with other work.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synthetic_history import filled, reuse


def run(folder: Path, name: str, out: str, *words: str) -> None:
    """Print what the export *words* to the file *out* takes."""
    target = folder.parent / out
    command = [sys.executable, "-m", "cs", "events", "export", f"--data-dir={folder}"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, f"--out={target}", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    took, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
    assert status == 0, told
    files = target.rglob("*") if target.is_dir() else [target]
    size = sum(file.stat().st_size for file in files)
    events = int(told.split()[0]) if " events " in told else EVENTS
    print(
        f"{name:26} {events:>8} events {took:6.1f} s, {events / took:8,.0f} a second; "
        f"{cpu:6.1f} s of processor, {events / cpu:8,.0f} a second of it; "
        f"{used.ru_maxrss / 1024:5.0f} MiB held, {size / 2**20:6.1f} MiB written"
    )
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()


EVENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        data = filled(Path(folder) / "data", EVENTS)
        print(f"{EVENTS} events made in {time.perf_counter() - began:.1f} s")
        keys = filled(Path(folder) / "keys", EVENTS, reuse())
        run(keys, "lines of JSON, no people", "keys.ndjson")
        run(keys, "Parquet, no people", "keys.parquet")
        run(data, "lines of JSON", "all.ndjson")
        run(data, "Parquet", "all.parquet")
        run(data, "tables in a DuckDB file", "all.duckdb")
        run(data, "tables as Parquet", "tables", "--format=tables")


if __name__ == "__main__":
    main()
