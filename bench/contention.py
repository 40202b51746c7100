"""Deciding on long histories, and many callers at one key, one brand and one ceiling.

    .venv/bin/python bench/contention.py [SEARCHES]

Admissions as `POST /contacts` makes them, durable on return, on a SQLite log in a folder
of its own.  No stage runs, so lookups stay live.  Each figure stands beside its baseline
from the same run.
"""

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import median

from cs.api.body import ContactsRequest
from cs.api.keys import Caller
from cs.assembly.call_answering import ApiTerms
from cs.assembly.one_process import RunningService, memory_bus, run_service
from cs.domain.api_key import hash_key
from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.contact import Query
from cs.domain.key import IN_FLIGHT, KeyEvent, SearchAdmitted, SearchSettled
from cs.domain.refusal import Refusal
from cs.eventlog.port import NO_STREAM, Append
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.projections.catalogue import projections
from cs.projections.sqlite.views import SqliteViews
from cs.runtime.clock import ManualClock
from harness.memory_keys import MemoryKeyStore

AT = datetime(2026, 1, 1, tzinfo=UTC)
REUSED = Query("Miruvane")
#: Between two searches of a key: 60 a day.
STEP = timedelta(minutes=24)
DECISIONS = 500
JOINERS = 400
CALLERS = 64
CEILING = 7


class Bench:
    def __init__(
        self, log: SqliteEventLog, service: RunningService, clock: ManualClock
    ) -> None:
        self.log = log
        self.clock = clock
        self._admitting = service.api.admission
        self._operator = Operator(service.streams, clock)
        self._secret_hash: dict[str, str] = {}

    async def key(self) -> str:
        new = await self._operator.create_key("bench", 10_000_000)
        self._secret_hash[new.id] = hash_key(new.key)
        return new.id

    async def keys(self, number: int) -> list[str]:
        return [await self.key() for _ in range(number)]

    async def admit(self, key_id: str, brand: str) -> tuple[str, float]:
        """Return how a search was admitted, or why not, and the seconds it took."""
        asked = ContactsRequest(brand, Query(brand), wait=False, idempotency=None)
        caller = Caller(key_id, self._secret_hash[key_id])
        began = time.perf_counter()
        try:
            kind: str = (await self._admitting.admit(caller, asked, "req")).admission.kind
        except Refusal as refusal:
            kind = refusal.code
        return kind, time.perf_counter() - began

    async def at_once(self, asked: Sequence[tuple[str, str]]) -> tuple[Counter[str], float]:
        """Return what became of the searches, all made at once, and the p99 in ms."""
        answers = await asyncio.gather(*(self.admit(*each) for each in asked))
        took = sorted(seconds for _, seconds in answers)
        return Counter(kind for kind, _ in answers), took[len(took) * 99 // 100] * 1000


@asynccontextmanager
async def service(ceiling: int | None = None) -> AsyncIterator[Bench]:
    keys, clock, views = MemoryKeyStore(), ManualClock(AT), SqliteViews(None, projections())
    with tempfile.TemporaryDirectory() as folder:
        async with (
            SqliteEventLog(Path(folder, "log.db"), keys) as log,
            run_service(
                log,
                keys,
                views,
                [],
                bus=memory_bus(),
                clock=clock,
                allowed=ApiTerms(deadline=timedelta(hours=1), ceiling=ceiling),
            ) as parts,
        ):
            await Operator(Streams(log), clock).choose_world("sandbox")
            yield Bench(log, parts, clock)
    await views.close()


def searches(number: int, lookup: str) -> Iterator[KeyEvent]:
    """Yield *number* searches answered from reuse, at the pace that the limits allow."""
    at = AT
    for n in range(number):
        at += STEP
        search = f"srch_{n}"
        yield SearchAdmitted(
            search=search, brand="Miruvane", query=REUSED, lookup=lookup, at=at
        )
        yield SearchSettled(
            search=search,
            lookup=lookup,
            outcome="no_contacts",
            charged=False,
            cached=True,
            at=at,
        )


async def long_history(number: int) -> None:
    async with service() as bench:
        old, new = await bench.keys(2)
        stream = brand_stream(REUSED)
        lookup = f"{stream}.1"
        events, version = searches(number, lookup), 0
        while page := list(islice(events, 10_000)):
            await bench.log.append([Append(f"key-{old}", version, page)])
            version += len(page)
        at = AT + number * STEP
        start = LookupStarted(lookup=lookup, number=1, query=REUSED, deadline_at=at, at=at)
        finish = LookupFinished(
            lookup=lookup, outcome="no_contacts", reusable=True, verified=0, at=at
        )
        await bench.log.append([Append(stream, NO_STREAM, [start, finish])])
        bench.clock.set(at)
        took: dict[str, list[float]] = {old: [], new: []}
        # The first fold of the old key is what bench/cold_start.py measures.  After 60
        # searches the new key's windows are as full as the old one's.
        for n in range(60 + DECISIONS):
            bench.clock.set(bench.clock.now() + STEP)
            for key_id in (old, new) if n % 2 else (new, old):
                kind, seconds = await bench.admit(key_id, REUSED.brand or "")
                assert kind == "cached", kind
                if n >= 60:
                    took[key_id].append(seconds)
    base, ours = median(took[new]) * 1e6, median(took[old]) * 1e6
    print(
        f"one decision, key with {number:,} searches: {ours:.0f} us; "
        f"new key {base:.0f} us; {ours / base:.2f}x (target 1.2x)"
    )


async def hot_brand() -> None:
    async with service() as bench:
        apart = [(key, f"Brand {n}") for n, key in enumerate(await bench.keys(JOINERS))]
        new = [(key, "Hot One") for key in await bench.keys(JOINERS)]
        live = [(key, "Hot Two") for key in await bench.keys(JOINERS)]
        await bench.admit(await bench.key(), "Hot Two")
        _, base = await bench.at_once(apart)
        print(f"{JOINERS} keys at once, a new brand each: p99 {base:.0f} ms (baseline)")
        for what, asked in (("one new brand", new), ("one live brand", live)):
            kinds, p99 = await bench.at_once(asked)
            assert kinds["started"] + kinds["joined"] == JOINERS, kinds
            print(f"  {what}: p99 {p99:.0f} ms, {p99 / base:.2f}x; {dict(kinds)}")


async def hot_key() -> None:
    async with service() as bench:
        hot = await bench.key()
        apart = [(key, f"Brand {n}") for n, key in enumerate(await bench.keys(CALLERS))]
        _, base = await bench.at_once(apart)
        kinds, p99 = await bench.at_once([(hot, f"Hot {n}") for n in range(CALLERS)])
        assert kinds["started"] == IN_FLIGHT, kinds
        print(
            f"{CALLERS} searches at once on one key: p99 {p99:.0f} ms; on {CALLERS} keys "
            f"{base:.0f} ms; {p99 / base:.2f}x; {dict(kinds)}"
        )


async def ceiling() -> None:
    async with service() as bench:
        apart = [(key, f"Brand {n}") for n, key in enumerate(await bench.keys(CALLERS))]
        _, base = await bench.at_once(apart)
    async with service(CEILING) as bench:
        apart = [(key, f"Brand {n}") for n, key in enumerate(await bench.keys(CALLERS))]
        kinds, p99 = await bench.at_once(apart)
        assert kinds == {"started": CEILING, "at_capacity": CALLERS - CEILING}, kinds
        print(
            f"{CALLERS} keys at once under a ceiling of {CEILING}: p99 {p99:.0f} ms; without "
            f"one {base:.0f} ms; {p99 / base:.2f}x; {dict(kinds)}"
        )


async def main(number: int) -> None:
    await long_history(number)
    await hot_brand()
    await hot_key()
    await ceiling()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000))
