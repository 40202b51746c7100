"""A provider that takes money for every request, for stages that die while they ask."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

from outside.loopback_web import Web, WebRequest, reply, serve

PLUGIN = Path(__file__).parents[2] / "plugins" / "paid_source"
#: Name and domain of a brand: all that the plug-in asks about.
Question: TypeAlias = tuple[str, str]
#: Mean time until it answers, in which the role that asked may die.
_THINKS_S = 0.2


@dataclass
class Provider:
    """Charges for each request, whatever idempotency key comes with it."""

    chance: random.Random
    web: Web = field(default_factory=lambda: Web("", 0))

    async def answer(self, _: WebRequest, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self.chance.expovariate(1 / _THINKS_S))
        reply(writer, b"nobody")

    @property
    def charges(self) -> Counter[Question]:
        """How often each question was asked, which is what it costs."""
        asked = (parse_qs(urlsplit(each.path).query) for each in self.web.asked)
        return Counter((each["brand"][0], each.get("domain", [""])[0]) for each in asked)

    def too_often(self, lookups: Mapping[Question, int]) -> list[str]:
        """Return the questions that were charged more often than *lookups* had them."""
        return [
            f"paid twice: {question}: {times} times for {lookups.get(question, 0)} lookups"
            for question, times in self.charges.items()
            if times > lookups.get(question, 0)
        ]

    def environment(self, path: str | None) -> Mapping[str, str]:
        """Return what a role is given so that it asks this provider.

        Args:
            path: The role's PYTHONPATH without it.
        """
        return {
            "PYTHONPATH": os.pathsep.join([*([path] if path else []), str(PLUGIN)]),
            "CS_PEOPLE_SOURCES": "searxng,paid-people",  # the first is the world's own
            "CS_SOURCES__PAID_PEOPLE__URL": self.web.url,
        }


@asynccontextmanager
async def provider(chance: random.Random) -> AsyncIterator[Provider]:
    """Serve a provider on loopback until left."""
    made = Provider(chance)
    async with serve(made.answer) as web:
        made.web = web
        yield made
