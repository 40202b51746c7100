"""Worlds in miniature, and the questions that tests ask one that runs."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import dns.asyncquery
import dns.message
import msgspec

from cs.sandbox.run import Addresses
from cs.sandbox.shapes import World
from cs.sandbox.world import WorldSearch, listing, load
from sandbox.raw_smtp import RawSmtp, smtp

ACME: dict[str, Any] = {
    "name": "Acme",
    "domain": "acme.test",
    "linkedin": "acme",
    "people": [{"name": "Jo Ek", "headline": "Brand Manager", "mailbox": "jo.ek"}],
    "intends": {"outcome": "done", "verified": ["jo.ek@acme.test"]},
}


class Clock:
    """Seconds that a test moves on."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Running:
    """A sandbox with the questions that most tests ask."""

    def __init__(self, addresses: Addresses, clock: Clock) -> None:
        self.addresses = addresses
        self.clock = clock

    async def ask(self, name: str, kind: str) -> dns.message.Message:
        host, port = self.addresses.dns.split(":")
        question = dns.message.make_query(name, kind)
        return await dns.asyncquery.udp(question, host, port=int(port), timeout=2)

    async def address(self, host: str) -> str:
        answer = await self.ask(host, "A")
        return str(answer.answer[0][0])

    @asynccontextmanager
    async def mail(self, host: str) -> AsyncIterator[RawSmtp]:
        async with smtp(await self.address(host), self.addresses.smtp_port) as client:
            yield client

    async def rcpt(self, host: str, *addresses: str) -> list[str]:
        async with self.mail(host) as client:
            return await client.rcpt(*addresses)


Sandbox = Callable[..., AbstractAsyncContextManager[Running]]


def world_of(**parts: Any) -> World:
    """Return a world of *parts*, as a file would say them; Acme if no brands are named."""
    return msgspec.convert({"brands": [ACME], **parts}, World)


def searches_of(file: Path | None = None) -> tuple[World, list[WorldSearch]]:
    """Return the world in *file*, the bundled one if ``None``, and what is searched in it."""
    world = load(file)
    return world, listing(world)


def acme_with(**parts: Any) -> dict[str, Any]:
    return {**ACME, **parts}
