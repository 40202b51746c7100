"""Every search of a world, made over HTTP, beside what the world intends."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec

from cs.cli.sandbox_service import SandboxService, sandbox_service
from cs.sandbox.shapes import World
from cs.sandbox.world import Listed, listing

#: Searches at once.
AT_ONCE = 64


class Proved(msgspec.Struct, frozen=True):
    """One search: addresses are of invented people."""

    asked: str
    intended: str
    ended: str
    expected: tuple[str, ...]
    maybe: tuple[str, ...]  # right to find and right to leave out
    verified: tuple[str, ...]
    seconds: float
    charged: bool

    @property
    def right(self) -> bool:
        return not self.differs

    @property
    def differs(self) -> tuple[str, ...]:
        """What is not as intended."""
        wrong = []
        if self.ended != self.intended:
            wrong.append("outcome")
        found = set(self.verified)
        if not set(self.expected) <= found <= {*self.expected, *self.maybe}:
            wrong.append("people")
        if self.charged != (self.intended == "done"):
            wrong.append("charge")
        return tuple(wrong)


async def prove_world(
    world: World, tell: Callable[[int, int, Proved], None]
) -> tuple[Proved, ...]:
    """Search everything in *world*, each with a key of its own; *tell* hears of each."""
    rows = [(row, way) for row in listing(world) for way in row.asked_by]
    places = asyncio.Semaphore(AT_ONCE)
    done = 0

    async with sandbox_service(world) as sandbox, _client(sandbox) as client:

        async def one(row: Listed, way: str) -> Proved:
            nonlocal done
            async with places:
                proved = await _prove(sandbox, client, row, way)
            done += 1
            tell(done, len(rows), proved)
            return proved

        async with asyncio.TaskGroup() as tasks:
            searches = [tasks.create_task(one(row, way)) for row, way in rows]
    return tuple(search.result() for search in searches)


def _client(sandbox: SandboxService) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=sandbox.base_url, timeout=100, trust_env=False)


async def _prove(
    sandbox: SandboxService, client: httpx.AsyncClient, row: Listed, way: str
) -> Proved:
    body: dict[str, Any] = {}
    if way in {"brand", "both"}:
        body["brand"] = row.brand
    if way in {"domain", "both"}:
        body["domain"] = row.domain
    key = (await sandbox.operator.create_key("proof", 1)).key
    headers = {"Authorization": f"Bearer {key}"}
    began = time.monotonic()
    answer = await client.post("/contacts", json={**body, "wait": True}, headers=headers)
    record = answer.raise_for_status().json()
    while record["status"] == "running":
        await asyncio.sleep(0.5)
        answer = await client.get(f"/searches/{record['id']}", headers=headers)
        record = answer.raise_for_status().json()
    emails = (contact["email"] for contact in record["contacts"])
    return Proved(
        asked=" + ".join(body.values()),
        intended=row.outcome,
        ended="done" if record["status"] == "done" else record["reason"],
        expected=tuple(sorted(person.address for person in row.people)),
        maybe=tuple(sorted(person.address for person in row.maybe)),
        verified=tuple(sorted(email for email in emails if email)),
        seconds=round(time.monotonic() - began, 2),
        charged=record["charged"],
    )
