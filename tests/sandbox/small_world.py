"""Worlds in miniature, and the questions that tests ask one that runs."""

import asyncio
import smtplib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import dns.asyncquery
import dns.message
import msgspec

from cs.sandbox.run import Addresses
from cs.sandbox.shapes import World
from cs.sandbox.world import WorldSearch, listing, load

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

    async def rcpt(self, host: str, *addresses: str, within_s: float = 5) -> list[str]:
        """Return the replies to RCPT of *addresses*, all in one session."""
        at, port = await self.address(host), self.addresses.smtp_port

        def ask() -> list[str]:
            with smtplib.SMTP(at, port, "probe.test", timeout=within_s) as client:
                client.ehlo()
                client.mail("check@probe.test")
                replies = [client.rcpt(each) for each in addresses]
            return [f"{code} {text.decode()}" for code, text in replies]

        return await asyncio.to_thread(ask)


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
