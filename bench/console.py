"""What every view of the console takes on a long log, and what open consoles cost callers.

    PYTHONPATH=tests .venv/bin/python bench/console.py [--events N] [--pairs N]

A data folder of `cs serve` on SQLite with so many events (a million unless given): the past of
2,000 keys and 20,000 brands over 100 days, a quarter of all searches made with one key, 100
runs on one brand; and on top, made by the service itself in its sandbox world, live searches
of every bundled brand, several times, so that the newest 5,000 events are real ones.  It is
made once, in ``build/console-N``.

Measured: the first call of each view after a start, then p50 and p95 of 20 further ones, one
caller.  The goal is 150 ms, 50 ms for the overview.

With ``--pairs`` also what ten open consoles cost: by turns without and with them, 16 callers
read the usage of keys and search what is reused, as fast as they are answered.  A console is a
live page that is sent again whenever it shows something else, as to a browser.  The goal is
that the p99 of the calls is at most 5 % higher.
"""

import argparse
import asyncio
import os
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import median

import httpx
import msgspec

from cs.assembly.folder import open_folder
from cs.console.app import VIEWS
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.eventlog.streams import Streams
from cs.operations.operator import NewSecret, Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.sandbox.world import load as load_world
from flatness import (
    GETS,
    OF_A_ROUND,
    POSTS,
    Stored,
    brand_history,
    name_of,
    others,
    search_of,
    searched,
    write,
)
from harness.served import Served, served
from http_load import Took, call, cpu_s, load
from many_keys import build_views

KEYS, RUNS, DAYS = 2_000, 100, 100
#: Searches for each new brand: in a million events there are 20,000 brands.
OF_A_BRAND = 24
#: Live searches of every brand of the bundled world, on top of the past.
LIVE = 5
WARM = 20
#: Keys that are called with in a turn, each within its limits.
OF_A_TURN = 2 * OF_A_ROUND
#: What open consoles show.
OPEN = (*["/console/"] * 4, *["/console/dead-letters"] * 3, *["/console/events"] * 3)


def past(events: int, long: str) -> Iterator[Stored]:
    """Yield the past: keys, then brands and searches, until there are *events*."""
    now, keys = datetime.now(UTC), [f"key_{number:016d}" for number in range(KEYS)]
    yield from others(0, KEYS, 0, now - timedelta(days=DAYS))
    versions, runs, done = dict.fromkeys([*keys, long], 1), 1, KEYS
    for n in count():
        at = now - timedelta(days=1 + (DAYS - 1) * (1 - done / events))
        brands = n // OF_A_BRAND
        if n % OF_A_BRAND == 0:
            yield from brand_history(brands, at)
            done += 2
        elif n % (events // 2 // RUNS) == 1:
            runs += 1
            yield from brand_history(0, at, runs)
            done += 2
        key = long if n % 4 == 0 else keys[n % KEYS]
        yield from searched(key, n * 7 % (brands + 1), versions[key], at)
        versions[key] += 2
        done += 2
        if done >= events:
            return


async def make(folder: Path, events: int) -> None:
    """Make the data in *folder*, with the views at the head."""
    async with open_folder(DataFolder(folder)) as data:
        await Operator(Streams(data.log), SystemClock()).choose_world("sandbox")
    keys = await new_keys(folder, 2)
    write(folder, past(events, keys[0].id))
    async with open_folder(DataFolder(folder)) as data:
        await build_views(data.log, data.views)
        await Streams(data.log, data.snapshots).key(keys[0].id)  # has its snapshot made
    with served(folder, CS_LOG_LEVEL="error") as at:
        for _ in range(LIVE):
            await search_live(at, keys[1])
    (folder / "keys.json").write_bytes(msgspec.json.encode(keys))


async def search_live(at: Served, key: NewSecret) -> None:
    """Search every brand of the bundled world, live."""
    names = [brand.name for brand in load_world(None).brands]
    async with open_folder(DataFolder(at.folder)) as data:
        operator = Operator(Streams(data.log), SystemClock())
        for name in names:
            await operator.forget_brand(Query(name))
    headers, limits = {"Authorization": f"Bearer {key.key}"}, httpx.Limits(max_connections=4)
    async with httpx.AsyncClient(
        headers=headers, limits=limits, timeout=None, trust_env=False
    ) as client:
        url, asked = f"{at.base_url}/contacts", [{"brand": n, "wait": True} for n in names]
        await asyncio.gather(*(client.post(url, json=each) for each in asked))


async def views(admin_url: str, long: NewSecret, events: int) -> dict[str, str]:
    """Return the views by what they are, in the order in which they are called."""
    many_runs, old = brand_stream(Query(name_of(0))), search_of(long.id, events // 50 | 1)
    async with httpx.AsyncClient(base_url=admin_url, trust_env=False, timeout=60) as client:

        async def first(path: str, link: str) -> str:
            page = await client.get(path)
            return str(re.findall(f'href="(/console/{link}[^"]*)"', page.text)[0])

        search = await first("/console/searches", "searches/srch_")
        of_lookup = await first(search, r"events\?lookup=")
        event = await first(of_lookup, r"events/\d+")
    return {path: f"/console{path}" for path in VIEWS if "{" not in path} | {
        "Overview, week": "/console/?span=week",
        "Searches of the long key": f"/console/searches?key={long.id}",
        "A search": search,
        "An old search of the long key": f"/console/searches/{old}",
        "Brands by name": "/console/brands?q=flatness+199",
        "A brand with 100 runs": f"/console/brands/{many_runs}",
        "The long key": f"/console/keys/{long.id}",
        "A mail domain": "/console/mail-domains?domain=veltrana.test",
        "Events of a rare type": "/console/events?type=paused",
        "Events of a long stream": f"/console/events?stream=key-{long.id}",
        "Events of a lookup": of_lookup,
        "Events of an old lookup": f"/console/events?lookup={many_runs}.1",
        "An event with its causes": event,
    }


async def measure(at: Served, which: dict[str, str]) -> None:
    """Print first call, p50, p95 and processor time of each view, in ms."""
    first: dict[str, float] = {}
    async with httpx.AsyncClient(base_url=at.admin_url, trust_env=False, timeout=60) as client:

        async def took_ms(path: str) -> float:
            began = time.perf_counter()
            (await client.get(path, follow_redirects=True)).raise_for_status()
            return (time.perf_counter() - began) * 1000

        for name, path in which.items():
            first[name] = await took_ms(path)
        for name, path in which.items():
            used_s = cpu_s(at.pid)
            times = sorted([await took_ms(path) for _ in range(WARM)])
            cpu_ms = (cpu_s(at.pid) - used_s) * 1000 / WARM
            figures = (first[name], median(times), times[WARM * 95 // 100 - 1], cpu_ms)
            print(f"{name:<32}" + "".join(f"{each:>9.1f}" for each in figures), flush=True)


async def look_at(url: str) -> None:
    """Keep the pages `OPEN` of the console at *url* open until killed."""

    async def keep_open(path: str) -> None:
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=None) as client:
            await client.get(path)
            as_it_changes = {"Accept": "text/event-stream"}
            async with client.stream("GET", path, headers=as_it_changes) as live:
                live.raise_for_status()
                async for _ in live.aiter_raw():
                    pass

    await asyncio.gather(*map(keep_open, OPEN))


async def calls_with(at: Served, keys: Sequence[NewSecret], newest: int) -> Took:
    """Return what calls with *keys* took, a sixth of them searches of the *newest* fifth."""
    calls = [call("GET", "/v1/usage", key.key) for key in keys for _ in range(GETS)]
    for n, key in enumerate([*keys] * POSTS):
        body = msgspec.json.encode({"brand": name_of(newest - n % (newest // 5))})
        calls.append(call("POST", "/v1/contacts", key.key, body))
    random.Random(0).shuffle(calls)
    return await load(at.base_url.removesuffix("/v1"), calls, pid=at.pid)


async def pairs(at: Served, keys: Sequence[NewSecret], newest: int) -> str:
    """Return the p99 of calls without and with open consoles, by turns."""
    found: dict[str, list[float]] = {"without": [], "with": []}
    cpu: dict[str, list[float]] = {"without": [], "with": []}
    words = (sys.executable, __file__, "--look-at", at.admin_url)
    for turn in range(len(keys) // OF_A_TURN):
        # Without, with, with, without: what drifts hits both alike.
        name = "with" if turn % 4 in {1, 2} else "without"
        consoles = await asyncio.create_subprocess_exec(*words) if name == "with" else None
        await asyncio.sleep(3)
        used = keys[turn * OF_A_TURN : (turn + 1) * OF_A_TURN]
        took = await calls_with(at, used, newest)
        found[name].append(round(took.quantile_ms(0.99), 1))
        cpu[name].append(took.cpu_s)
        if consoles is not None:
            assert consoles.returncode is None, "the consoles ended"
            consoles.kill()
            await consoles.wait()
    p99, busy = (
        median(w / wo for w, wo in zip(each["with"], each["without"], strict=True))
        for each in (found, cpu)
    )
    return f"{found}; medians of the ratios: p99 {p99:.3f}, processor time {busy:.3f}"


async def new_keys(folder: Path, count: int) -> list[NewSecret]:
    async with open_folder(DataFolder(folder)) as data:
        operator = Operator(Streams(data.log), SystemClock())
        return [await operator.create_key("bench", 10**6) for _ in range(count)]


async def main(events: int, turns: int) -> None:
    folder = Path(__file__).parents[1] / "build" / f"console-{events}"
    if not (folder / "keys.json").exists():
        await make(folder, events)
    long = msgspec.json.decode((folder / "keys.json").read_bytes(), type=list[NewSecret])[0]
    keys = await new_keys(folder, 2 * turns * OF_A_TURN)
    print(f"load {os.getloadavg()[0]:<27.1f}    first      p50      p95      cpu")
    with served(folder, CS_LOG_LEVEL="error") as at:
        which = await views(at.admin_url, long, events)
        at.restart()
        await measure(at, which)
        if turns:
            brands = (events - KEYS) // (2 * OF_A_BRAND + 4)  # fewer than there are
            print(f"p99 of calls: {await pairs(at, keys, brands)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--look-at", metavar="URL", help=argparse.SUPPRESS)
    given = parser.parse_args()
    url = given.look_at
    asyncio.run(look_at(url) if url else main(given.events, given.pairs))
