"""What analysts wait for on a long history: export, replay, report; time and memory.

    .venv/bin/python bench/long_history.py [EVENTS] [--keep FOLDER]

The history is the year of ``cs demo --history``, so often over that it has EVENTS events
(200,000 unless told otherwise): every copy with streams, ids, mail domains, profiles and data
keys of its own, side by side in time.  Each command runs in a process of its own, its output
to a file.  Beside them run two that read the same log and do nothing with it: the
eventsourcing library's own notification log, 500 at a time, and a plain ``SELECT``.

Prints seconds, of processor time too, events a second, the peak of memory, and how long each
took as a multiple of both.  FOLDER keeps the history for another run.
"""

import argparse
import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from cs.assembly.folder import open_folder
from cs.cli.demo_year import make_year
from cs.domain.codec import to_plain, topic_of
from cs.eventlog.port import RecordedEvent
from cs.eventlog.sealing import SEALED_WITH, key_id, key_name, needs_key, personal_values
from cs.keystore.port import KeyStore
from cs.runtime import logs
from cs.runtime.data_folder import DataFolder

#: Copies that are written in one transaction.
COPIES_AT_ONCE = 250
LIBRARY = """
import sys
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
store = SQLiteDatastore(f"file:{sys.argv[1]}/log.db", originator_id_type="text")
recorder, start = SQLiteApplicationRecorder(store), 1
while page := recorder.select_notifications(start, 500):
    start = page[-1].id + 1
print(start - 1)
"""
SELECT = """
import sqlite3, sys
log, count = sqlite3.connect(f"file:{sys.argv[1]}/log.db?mode=ro", uri=True), 0
for row in log.execute("SELECT rowid, originator_id, originator_version, topic, state FROM stored_events ORDER BY rowid"):
    count += 1
print(count)
"""  # noqa: E501
MEASURE = """
import json, os, subprocess, sys, time
out, *words = sys.argv[1:]
began = time.monotonic()
with open(out, "wb") as output, open(out + ".errors", "wb") as errors:
    process = subprocess.Popen(words, stdout=output, stderr=errors)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
said = open(out + ".errors", errors="replace").read().split("\\n")
print(json.dumps({
    "wall_s": time.monotonic() - began,
    "cpu_s": usage.ru_utime + usage.ru_stime,
    "peak_mib": usage.ru_maxrss / 1024,
    "failed": said[-2] if process.returncode and len(said) > 1 else "",
}))
"""
#: What an analyst runs: its name, and what stands behind ``cs``.  ``{}``: a new file or
#: folder.
COMMANDS = (
    ("export, NDJSON", "events export --out {}.ndjson"),
    ("export, Parquet", "events export --format tables --out {}"),
    ("export, DuckDB", "events export --format duckdb --out {}.duckdb"),
    ("replay ranking", "replay ranking --json"),
    ("replay verdicts", "replay verdicts --json"),
    ("replay resolution", "replay resolution --json"),
    ("report", "report --json"),
)


class Original(msgspec.Struct, frozen=True):
    """One event of the year, ready to be copied.

    Attributes:
        plain: Its JSON, a mark in place of each personal value.
        values: By mark: the person, the kind, and the JSON of a personal value.
    """

    stream: str
    version: int
    topic: str
    lookup: str
    plain: bytes
    values: Mapping[str, tuple[str, str, bytes]]


def original(recorded: RecordedEvent) -> Original:
    plain = to_plain(recorded.event)
    values: dict[str, tuple[str, str, bytes]] = {}
    marked = _marked(plain, values)
    return Original(
        recorded.stream,
        recorded.version,
        topic_of(recorded.event),
        str(plain.get("lookup", "")),
        msgspec.json.encode(marked),
        values,
    )


def _marked(plain: Any, values: dict[str, tuple[str, str, bytes]]) -> Any:
    if isinstance(plain, dict):
        if next(personal_values(plain), None) is plain:
            mark = f"@@{len(values)}@@"
            says = msgspec.json.encode(plain) if needs_key(plain) else b""
            values[mark] = (plain["person"], plain["personal"], says)
            return {"sealed": plain["personal"], "person": plain["person"], "box": mark}
        return {name: _marked(value, values) for name, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_marked(value, values) for value in plain]
    return plain


class Copy:
    """One of the years side by side: what is called otherwise in it."""

    def __init__(self, number: int, streams: Sequence[str]) -> None:
        self.number = number
        self.names = {stream: _named(stream, number) for stream in streams}
        self._texts = [
            (b".test", b"-%d.test" % number),
            (b".example", b"-%d.example" % number),
            (b"linkedin.com/in/", b"linkedin.com/in/c%d-" % number),
            (b'"srch_', b'"srch_%06d' % number),
        ]

    def text(self, data: bytes, stream: str) -> bytes:
        """Return *data*, of an event of *stream*, as it is here."""
        for old, new in self._texts:
            data = data.replace(old, new)
        for old_stream in _streams_in(data, stream):
            data = data.replace(old_stream.encode(), self.names[old_stream].encode())
        return data


def _named(stream: str, number: int) -> str:
    if stream.startswith("brand-"):
        return f"brand-{sha256(f'{stream} {number}'.encode()).hexdigest()[:32]}"
    if stream.startswith("key-"):
        return f"{stream[:-6]}{number:06d}"
    return stream if stream == "service" else f"{stream}-{number}"


def _streams_in(data: bytes, stream: str) -> Iterator[str]:
    """Yield the brands' streams that *data* names."""
    if stream.startswith("brand-"):
        yield stream
        return
    start = data.find(b'"brand-')
    if start >= 0:
        yield data[start + 1 : start + 39].decode()


async def write(folder: Path, events: int) -> int:
    """Make a history of about *events* events in *folder*; return how many it has."""
    logs.configure("error", "console")
    with tempfile.TemporaryDirectory() as year:
        await make_year(Path(year) / "data", lambda *_: None)
        async with open_folder(DataFolder(Path(year) / "data")) as data:
            recorded: list[RecordedEvent] = []
            while page := await data.log.tail(len(recorded)):
                recorded += page
    originals = [original(each) for each in recorded]
    streams = sorted({each.stream for each in originals})
    copies = [Copy(n, streams) for n in range(max(1, events // len(originals)))]
    async with open_folder(DataFolder(folder)) as data:
        log = sqlite3.connect(DataFolder(folder).log, isolation_level=None)
        log.execute("PRAGMA synchronous=OFF")
        for each in originals:
            if each.stream == "service":
                _insert(log, [(each.stream, each.version, each.topic, each.plain)])
                continue
            for n in range(0, len(copies), COPIES_AT_ONCE):
                _insert(log, await _rows(data.keys, each, copies[n : n + COPIES_AT_ONCE]))
        count: int = log.execute("SELECT max(rowid) FROM stored_events").fetchone()[0]
        log.close()
    return count


def _insert(log: sqlite3.Connection, rows: Sequence[tuple[str, int, str, bytes]]) -> None:
    log.execute("BEGIN")
    log.executemany("INSERT INTO stored_events VALUES (?, ?, ?, ?)", rows)
    log.execute("COMMIT")


async def _rows(
    keys: KeyStore, each: Original, copies: Sequence[Copy]
) -> list[tuple[str, int, str, bytes]]:
    lookups = [copy.text(each.lookup.encode(), each.stream).decode() for copy in copies]
    people = sorted({person for person, _, says in each.values.values() if says})
    held = await keys.ensure(key_name(lookup, p) for lookup in lookups for p in people)
    rows = []
    for copy, lookup in zip(copies, lookups, strict=True):
        state = copy.text(each.plain, each.stream)
        ids: dict[str, str] = {}
        for mark, (person, _, says) in each.values.items():
            box = b""
            if says:
                name = key_name(lookup, person)
                box = b64encode(_encrypted(held[name], name, copy.text(says, each.stream)))
                ids[person] = key_id(held[name])
            state = state.replace(mark.encode(), box)
        if ids:
            state = state[:-1] + b',"%s":%s}' % (SEALED_WITH.encode(), msgspec.json.encode(ids))
        rows.append((copy.names[each.stream], each.version, each.topic, state))
    return rows


def _encrypted(key: bytes, name: str, plain: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    nonce = os.urandom(12)
    return nonce + AESGCM(key).encrypt(nonce, plain, name.encode())


class Measured(msgspec.Struct, frozen=True):
    """How one reading of the history went: seconds, and the peak of memory in MiB."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    failed: str = ""


def measured(words: Sequence[str], out: Path) -> Measured:
    """Run *words* to their end, with what they print in *out*."""
    # From a small process: what is forked begins with the memory of who forks it.
    command = [sys.executable, "-S", "-c", MEASURE, str(out), *words]
    done = subprocess.run(command, capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=Measured)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("events", type=int, nargs="?", default=200_000)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cs-history-") as name:
        folder = chosen.keep or Path(name) / "data"
        if folder.exists():
            log = sqlite3.connect(f"file:{folder / 'log.db'}?mode=ro", uri=True)
            events: int = log.execute("SELECT max(rowid) FROM stored_events").fetchone()[0]
            log.close()
        else:
            began = time.monotonic()
            events = asyncio.run(write(folder, chosen.events))
            print(f"{events:,} events written in {time.monotonic() - began:.0f} s")
        compare(folder, events, Path(name))


def compare(folder: Path, events: int, work: Path) -> None:
    """Print how long everything takes on the *events* events in *folder*."""
    size = (folder / "log.db").stat().st_size / 2**20
    print(f"{events:,} events, {size:,.0f} MiB; {os.cpu_count()} processors")
    library = measured([sys.executable, "-c", LIBRARY, str(folder)], work / "library")
    select = measured([sys.executable, "-c", SELECT, str(folder)], work / "select")
    row = "{:20} {:>8} {:>8} {:>12} {:>8} {:>10} {:>9}"
    print(row.format("", "wall s", "CPU s", "events/s", "MiB", "× library", "× SELECT"))

    def show(name: str, took: Measured) -> None:
        if took.failed:
            print(f"{name:20} {took.failed}")
            return
        print(
            row.format(
                name,
                f"{took.wall_s:.1f}",
                f"{took.cpu_s:.1f}",
                f"{events / took.wall_s:,.0f}",
                f"{took.peak_mib:.0f}",
                f"{took.wall_s / library.wall_s:.2f}",
                f"{took.wall_s / select.wall_s:.2f}",
            )
        )

    show("library's log", library)
    show("SELECT", select)
    for name, words in COMMANDS:
        command = words.format(work / "out").split()
        took = measured(
            [sys.executable, "-m", "cs", *command, "--data-dir", str(folder)], work / "printed"
        )
        show(name, took)
        for made in work.glob("out*"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()


if __name__ == "__main__":
    main()
