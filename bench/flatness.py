"""Whether a call costs the same however much is stored: a long log compared with a short one.

    PYTHONPATH=tests .venv/bin/python bench/flatness.py [--events N] [--keys N] [--brands N]
        [--json]

Two data folders of `cs serve` on SQLite.  Both have the keys that are called with, their old
searches and the brands those were about; the long one has besides so many keys, brands and
events that it holds as many of each as asked for (ten million events, a million keys and a
million brands unless given: some 6 GB).  Views are at the log's head.

Measured, by turns over five rounds: processor time of a call and calls a second, GET of an old
search, GET of the usage, and POST of an old brand, answered from reuse; no round calls with a
key or about a search of another, so that nothing is in memory yet.  Then what both took to the
first answer, and their memory.  ``ratio`` is long by short; the goal is 1.2, and 5 s to the
first answer of ten million events.
"""

import asyncio
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from cs.assembly.folder import open_folder
from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent, topic_of
from cs.domain.contact import Query
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.eventlog.streams import Streams
from cs.operations.operator import NewSecret, Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from harness.served import Served, served
from http_load import CONNECTIONS, Took, call, load
from many_keys import build_views, fill_sqlite, memory_mib
from shown import command, show

ROUNDS = 5
#: Keys called with in a round, and calls of each with one: below every limit.
OF_A_ROUND, POSTS, GETS = 60, 5, 25
#: Old searches of each key that is called with, about as many brands.
SEARCHES = 20
#: When all of the past happened: no limit counts it, and all of it is reused.
PAST = timedelta(days=2)
Stored = tuple[str, int, AnyEvent]


def name_of(brand: int) -> str:
    return f"Flatness {brand}"


def brand_history(number: int, at: datetime, run: int = 1) -> Iterator[Stored]:
    """Yield lookup *run* of a brand, which found no person and is reused."""
    query = Query(name_of(number))
    stream = brand_stream(query)
    lookup, version = f"{stream}.{run}", 2 * run - 2
    began = LookupStarted(lookup=lookup, number=run, query=query, deadline_at=at, at=at)
    yield stream, version, began
    yield (
        stream,
        version + 1,
        LookupFinished(lookup=lookup, outcome="no_contacts", reusable=True, verified=0, at=at),
    )


def searched(key_id: str, brand: int, version: int, at: datetime) -> Iterator[Stored]:
    """Yield a search of a key for a brand, from version *version* on."""
    query = Query(name_of(brand))
    search, lookup = search_of(key_id, version), f"{brand_stream(query)}.1"
    admitted = SearchAdmitted(
        search=search, brand=name_of(brand), query=query, lookup=lookup, at=at
    )
    yield f"key-{key_id}", version, admitted
    settled = SearchSettled(
        search=search, lookup=lookup, outcome="no_contacts", charged=False, cached=True, at=at
    )
    yield f"key-{key_id}", version + 1, settled


def search_of(key_id: str, version: int) -> str:
    return f"srch_{key_id}_{version}"


def others(events: int, keys: int, brands: int, at: datetime) -> Iterator[Stored]:
    """Yield the past of so many other keys and brands, and searches up to *events*."""
    for number in range(keys):
        issued = KeyIssued(
            label="x", quota=100, secret_hash=f"{number:064x}", last4="aaaa", at=at
        )
        yield f"key-key_{number:016d}", 0, issued
    for number in range(brands):
        yield from brand_history(SEARCHES * 1_000 + number, at)
    left, version = events - keys - 2 * brands, 1
    while left > 0:
        for number in range(min(keys, left // 2 or 1)):
            brand = SEARCHES * 1_000 + (number * 7 + version) % brands
            yield from searched(f"key_{number:016d}", brand, version, at)
            left -= 2
        version += 2


def called(keys: Sequence[NewSecret], at: datetime) -> Iterator[Stored]:
    """Yield the past of the keys that are called with, and of the brands it is about."""
    for number in range(SEARCHES):
        yield from brand_history(number, at)
    for n, key in enumerate(keys):
        for search in range(SEARCHES):
            yield from searched(key.id, (n + search) % SEARCHES, 1 + 2 * search, at)


def write(path: Path, history: Iterator[Stored]) -> None:
    rows = (
        (stream, version, topic_of(event), msgspec.json.encode(event))
        for stream, version, event in history
    )
    fill_sqlite(path, rows)


async def made(path: Path, more: Iterator[Stored], at: datetime) -> list[NewSecret]:
    """Make a folder with the keys that are called with, *more*, and views at the head."""
    async with open_folder(DataFolder(path)) as data:
        operator = Operator(Streams(data.log), SystemClock())
        await operator.choose_world("sandbox")
        keys = [
            await operator.create_key("bench", 1_000)
            for _ in range(OF_A_ROUND * ROUNDS + CONNECTIONS)
        ]
    write(path, called(keys, at))
    write(path, more)
    async with open_folder(DataFolder(path)) as data:
        await build_views(data.log, data.views)
    return keys


def calls_of(keys: Sequence[NewSecret], rng: random.Random) -> dict[str, list[bytes]]:
    """Return the calls of one round by kind, none of them a second time."""
    old = [
        call("GET", f"/v1/searches/{search_of(key.id, 1 + 2 * n)}", key.key)
        for key in keys
        for n in range(SEARCHES)
    ]
    usage = [call("GET", "/v1/usage", key.key) for key in keys for _ in range(GETS)]
    bodies = [json.dumps({"brand": name_of(n)}).encode() for n in range(SEARCHES)]
    posts = [
        call("POST", "/v1/contacts", key.key, rng.choice(bodies))
        for _ in range(POSTS)
        for key in keys
    ]
    rng.shuffle(old)
    return {"GET an old search": old, "GET usage": usage, "POST from reuse": posts}


async def one_round(at: Served, keys: Sequence[NewSecret], turn: int) -> dict[str, Took]:
    url, calls = at.base_url.removesuffix("/v1"), calls_of(keys, random.Random(turn))
    return {kind: await load(url, of_kind, pid=at.pid) for kind, of_kind in calls.items()}


async def started(stack: ExitStack, path: Path, key: NewSecret) -> tuple[Served, float]:
    """Start a service on *path*; return it, and the seconds until its first answer."""
    began = time.perf_counter()
    at = stack.enter_context(served(path, CS_LOG_LEVEL="error"))
    url = at.base_url.removesuffix("/v1")
    await load(url, [call("GET", "/v1/usage", key.key)])
    return at, time.perf_counter() - began


async def main(events: int, keys: int, brands: int) -> dict[str, Any]:
    at = datetime.now(UTC) - PAST
    with ExitStack() as stack:
        own = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        short_keys = await made(own / "short", iter(()), at)
        long_keys = await made(own / "long", others(events, keys, brands, at), at)
        folders = {"short": (own / "short", short_keys), "long": (own / "long", long_keys)}
        services, first_s = {}, {}
        for name, (path, of) in folders.items():
            services[name], first_s[name] = await started(stack, path, of[-1])
        measured: dict[str, list[dict[str, Took]]] = {"short": [], "long": []}
        for turn in range(ROUNDS):
            for name, (_, of) in folders.items():
                part = of[turn * OF_A_ROUND : (turn + 1) * OF_A_ROUND]
                measured[name].append(await one_round(services[name], part, turn))
        memory = {name: memory_mib(service.pid) for name, service in services.items()}
    rows = {
        kind: row([m[kind] for m in measured["short"]], [m[kind] for m in measured["long"]])
        for kind in measured["short"][0]
    }
    return {
        "load_1m": round(os.getloadavg()[0], 1),
        "rows": rows,
        "first_answer_s": {name: round(value, 2) for name, value in first_s.items()},
        "memory_mib": memory,
    }


def row(short: Sequence[Took], long: Sequence[Took]) -> dict[str, float]:
    cpu = [median(took.cpu_ms for took in each) for each in (short, long)]
    rate = [median(took.per_s for took in each) for each in (short, long)]
    return {
        "short_cpu_ms": round(cpu[0], 3),
        "long_cpu_ms": round(cpu[1], 3),
        "ratio": round(cpu[1] / cpu[0], 2),
        "short_per_s": round(rate[0]),
        "long_per_s": round(rate[1]),
    }


if __name__ == "__main__":
    parser = command(__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--brands", type=int, default=1_000_000)
    given = parser.parse_args()
    found = asyncio.run(main(given.events, given.keys, given.brands))
    show(found, as_json=given.json)
