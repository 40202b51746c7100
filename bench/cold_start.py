"""From starting the process to its first answer, on a log of a million events.

    PYTHONPATH=tests .venv/bin/python bench/cold_start.py [EVENTS]

The answer is asked for on the key with the longest history (two fifths of all events).
The baseline is the same service on a new data folder.  The first start finds no
snapshots and makes them; the second finds them.  Views are built before.
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import msgspec

from cs.assembly.folder import open_folder
from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent, topic_of
from cs.domain.contact import Query
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.streams import Streams
from cs.operations.operator import NewSecret, Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from harness.served import served

OTHER_KEYS = 100
BRAND = "Miruvane"
QUERY = Query(BRAND)
STREAM = brand_stream(QUERY)
LOOKUP = f"{STREAM}.1"
#: Between two searches of a key: 60 a day.
STEP = timedelta(minutes=24)
TARGET_S = 2.0


def one_lookup(at: datetime) -> Iterator[AnyEvent]:
    """Yield a lookup that finished at *at* and answers from reuse since."""
    yield LookupStarted(lookup=LOOKUP, number=1, query=QUERY, deadline_at=at, at=at)
    yield LookupFinished(lookup=LOOKUP, outcome="no_contacts", reusable=True, verified=0, at=at)


def searches(key_id: str, number: int, until: datetime) -> Iterator[AnyEvent]:
    """Yield *number* searches answered from reuse, the last a day before *until*."""
    at = until - timedelta(days=1) - number * STEP
    for n in range(number):
        at += STEP
        search = f"srch_{key_id}_{n}"
        yield SearchAdmitted(search=search, brand=BRAND, query=QUERY, lookup=LOOKUP, at=at)
        yield SearchSettled(
            search=search,
            lookup=LOOKUP,
            outcome="no_contacts",
            charged=False,
            cached=True,
            at=at,
        )


def history(
    keys: list[NewSecret], events: int, now: datetime
) -> Iterator[tuple[str, int, AnyEvent]]:
    """Yield stream, version and event: the first key has two fifths of all."""
    for version, event in enumerate(one_lookup(now - timedelta(hours=1))):
        yield STREAM, version, event
    for n, key in enumerate(keys):
        share = events * 2 // 5 if n == 0 else events * 3 // 5 // OTHER_KEYS
        for version, event in enumerate(searches(key.id, share // 2, now), 1):
            yield f"key-{key.id}", version, event


async def issue(path: Path) -> list[NewSecret]:
    async with open_folder(DataFolder(path)) as data:
        operator = Operator(Streams(data.log), SystemClock())
        await operator.choose_world("sandbox")
        return [await operator.create_key("bench", 10) for _ in range(OTHER_KEYS + 1)]


def fill(path: Path, events: int) -> NewSecret:
    """Make a data folder with *events* events and its views; return the busiest key."""
    keys = asyncio.run(issue(path))
    folder = DataFolder(path)
    log = sqlite3.connect(folder.log, isolation_level=None)
    log.execute("PRAGMA synchronous=OFF")
    rows = (
        (stream, version, topic_of(event), msgspec.json.encode(event))
        for stream, version, event in history(keys, events, datetime.now(UTC))
    )
    while page := list(islice(rows, 50_000)):
        log.execute("BEGIN")
        log.executemany("INSERT INTO stored_events VALUES (?, ?, ?, ?)", page)
        log.execute("COMMIT")
    log.close()
    return keys[0]


async def build_views(path: Path) -> int:
    """Bring the views up to date; return the log's head."""
    async with open_folder(DataFolder(path)) as data:
        while page := await data.log.tail(await data.views.position(), 5_000):
            await data.views.apply(page, lambda _, body: body)
        return await data.log.head()


def first_answer(path: Path, key: NewSecret) -> tuple[float, float]:
    """Return the seconds from starting a service to its first answer, and to its second."""
    began = time.perf_counter()
    took = []
    with served(path) as service, service.client({"key": key.key}) as client:
        for _ in range(2):
            answer = client.post("/contacts", json={"brand": BRAND})
            assert answer.status_code in {200, 202}, answer.text
            took.append(time.perf_counter() - began)
    return took[0], took[1] - took[0]


def main(events: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        new, long = Path(name, "new"), Path(name, "long")
        new_key = asyncio.run(issue(new))[0]
        began = time.perf_counter()
        long_key = fill(long, events)
        head = asyncio.run(build_views(long))
        print(f"{head:,} events made in {time.perf_counter() - began:.0f} s")
        starts = (
            ("new data folder", new, new_key),
            ("first start, without snapshots", long, long_key),
            ("second start, with snapshots", long, long_key),
        )
        base = 0.0
        print(f"{'start':<34}{'first answer':>14}{'second':>10}{'ratio':>8}")
        for what, path, key in starts:
            first, second = first_answer(path, key)
            base = base or first
            print(f"{what:<34}{first:12.2f} s{second * 1000:7.1f} ms{first / base:7.2f}x")
        print(f"target: {TARGET_S} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
