"""Our own time in a search: POST to done, time inside outside calls subtracted.

The sandbox answers at once, yet its answers take time too: what the sources and the
verifier were waited for is measured around them and taken off.  The baseline is the
same search answered from reuse, in the same run.

    .venv/bin/python bench/own_time.py [SEARCHES]
"""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from cs import logs
from cs.cli.sandbox_service import sandbox_service
from cs.domain.contact import Query
from cs.domain.mailbox import DomainFacts, Evidence
from cs.sandbox.world import load
from cs.tools import Tools

BRAND = "Veltrana"


@dataclass
class Outside:
    """Adds up the time during which at least one outside call was under way."""

    inside: int = 0
    since: float = 0.0
    total: float = 0.0

    def enter(self) -> None:
        if self.inside == 0:
            self.since = time.perf_counter()
        self.inside += 1

    def leave(self) -> None:
        self.inside -= 1
        if self.inside == 0:
            self.total += time.perf_counter() - self.since


@dataclass
class TimedSource:
    source: Any
    outside: Outside
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.source.name

    async def find(self, *arguments: Any, **named: Any) -> Any:
        self.outside.enter()
        try:
            return await self.source.find(*arguments, **named)
        finally:
            self.outside.leave()


@dataclass
class TimedCheck:
    check_: Any
    outside: Outside

    @property
    def learned(self) -> DomainFacts:
        learned: DomainFacts = self.check_.learned
        return learned

    async def check(self, address: str) -> Evidence:
        self.outside.enter()
        try:
            evidence: Evidence = await self.check_.check(address)
            return evidence
        finally:
            self.outside.leave()


@dataclass
class TimedVerifier:
    verifier: Any
    outside: Outside
    name: str = "smtp"
    cost: int = 0

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[TimedCheck]:
        async with self.verifier.open(mail_domain, known) as check:
            yield TimedCheck(check, self.outside)


async def main(searches: int) -> None:
    logs.configure("error")
    outside = Outside()

    def timed(tools: Tools) -> Tools:
        return Tools(
            [TimedSource(source, outside) for source in tools.brand_sources],
            [TimedSource(source, outside) for source in tools.people_sources],
            [TimedVerifier(verifier, outside) for verifier in tools.verifiers],
        )

    live, own, reused = [], [], []
    async with (
        sandbox_service(load(None), around=timed) as sandbox,
        httpx.AsyncClient(timeout=100) as client,
    ):

        async def search(key: str) -> dict[str, Any]:
            answer = await client.post(
                f"{sandbox.base_url}/contacts",
                json={"brand": BRAND, "wait": True},
                headers={"Authorization": f"Bearer {key}"},
            )
            body: dict[str, Any] = answer.raise_for_status().json()
            return body

        for _ in range(searches):
            key = (await sandbox.operator.create_key("bench", 10)).key
            await sandbox.operator.forget_brand(Query(BRAND))
            outside.total, began = 0.0, time.perf_counter()
            body = await search(key)
            took = time.perf_counter() - began
            assert (body["status"], body["cached"]) == ("done", False), body
            live.append(took * 1000)
            own.append((took - outside.total) * 1000)
            began = time.perf_counter()
            assert (await search(key))["cached"]
            reused.append((time.perf_counter() - began) * 1000)
    base = statistics.median(reused)
    print(f"{searches} live searches of {BRAND}, ms (p50 / p95, and p50 against reuse)")
    for name, times in (("POST to done", live), ("our own time", own), ("from reuse", reused)):
        p50, p95 = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
        print(f"{name:<14}{p50:8.1f} / {p95:6.1f}   {p50 / base:5.1f}x")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
