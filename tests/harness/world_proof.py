"""Runs every search of a made-up world, and compares the end with the intended one."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec

from cs.admin.sandbox_clock import PATIENT
from cs.cli.sandbox import SandboxService, sandbox_service
from cs.client import AsyncClient, Done, Failed
from cs.sandbox.shapes import Behaviour, World
from cs.sandbox.world import WorldSearch, listing, load

#: Real time between two looks at whether every call has come in.
LOOK_S = 0.05
#: How far the clock is moved at once.
STEP = timedelta(seconds=5)


class SearchProof(msgspec.Struct, frozen=True):
    """One search: addresses are of invented people."""

    asked: str
    intended: str
    ended: str
    expected: tuple[str, ...]
    maybe: tuple[str, ...]  # right to find and right to leave out
    verified: tuple[str, ...]
    seconds: float  # of the service's clock
    charged: bool

    @property
    def differs(self) -> tuple[str, ...]:
        """What is not as intended."""
        found, expected = set(self.verified), set(self.expected)
        wrong = {
            "outcome": self.ended != self.intended,
            "people": not expected <= found <= expected | set(self.maybe),
            "charge": self.charged != (self.intended == "done"),
        }
        return tuple(name for name, differs in wrong.items() if differs)


async def prove_world(world: World | None = None) -> list[SearchProof]:
    """Search everything in *world*, else the bundled one, each with a key of its own.

    The clock is moved on whenever every search waits for it: for a retry, a hold's end, a slow
    answer.  Brands whose end rests on a silent server are left out, because time-outs go by
    real time.
    """
    world = world or load(None)
    silent = asking_the_silent(world)
    rows = [
        (row, way) for row in listing(world) if row.domain not in silent for way in row.asked_by
    ]
    async with sandbox_service(world) as sandbox, asyncio.TaskGroup() as tasks:
        searches = [tasks.create_task(prove_search(sandbox, row, way)) for row, way in rows]
        moving = tasks.create_task(move_clock(sandbox, searches))
        await asyncio.wait(searches)
        moving.cancel()
    return [search.result() for search in searches]


def asking_the_silent(world: World) -> frozenset[str]:
    """Return the domains of the brands whose mail, or name server for it, may say nothing."""

    def is_silent(behaviour: Behaviour | None) -> bool:
        return behaviour is not None and (
            behaviour.kind == "silent" or behaviour.then == "silent"
        )

    mail = {
        mail.domain
        for mail in world.mail
        if mail.dns == "silent"
        or is_silent(mail.behaviour)
        or any(is_silent(host.behaviour) for host in mail.hosts)
    }
    return frozenset(b.domain for b in world.brands if (b.mail_domain or b.domain) in mail)


async def move_clock(sandbox: SandboxService, searches: Sequence[asyncio.Task[Any]]) -> None:
    """Move the clock on while everything waits for it, once all *searches* are in."""
    while sandbox.service.api.held + sum(each.done() for each in searches) < len(searches):  # noqa: ASYNC110  calls come in elsewhere
        await asyncio.sleep(LOOK_S)
    sandbox.clock_advancer.pace = PATIENT
    while True:
        await sandbox.clock_advancer.advance(STEP)


async def prove_search(sandbox: SandboxService, row: WorldSearch, way: str) -> SearchProof:
    """Search for *row* by *way* (brand, domain or both), with a key of its own, to its end.

    Raises:
        ClientError: The service refuses, or does not answer.
    """
    brand = row.brand if way in {"brand", "both"} else None
    domain = row.domain if way in {"domain", "both"} else None
    key = (await sandbox.operator.create_key("proof", 1)).key
    began = sandbox.clock.monotonic()
    async with AsyncClient(sandbox.base_url, key) as client:
        found = await client.contacts.search(brand, domain=domain)
    assert isinstance(found, Done | Failed)
    emails = (contact.email for contact in found.contacts)
    return SearchProof(
        asked=" + ".join(filter(None, (brand, domain))),
        intended=row.outcome,
        ended="done" if isinstance(found, Done) else found.reason,
        expected=tuple(sorted(row.verified)),
        maybe=tuple(sorted(row.may)),
        verified=tuple(sorted(email for email in emails if email)),
        seconds=round(sandbox.clock.monotonic() - began, 2),
        charged=bool(found.charged),
    )
