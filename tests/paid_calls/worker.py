"""A stage worker in a process of its own, whose people source costs money.

Run with: where the register is (a DSN or a file), the provider's base URL, and
``takes-key`` or ``plain``; ``dies`` as a fourth word kills it when the provider has answered
and nothing of that is stored.  It does one piece of work, fed by its topic, and prints how
the source ended.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cs.bus.memory import MemoryBus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS, decode_outcome, encode
from cs.domain.stages.work import Discovered, DiscoveryInput, Failed, Work
from cs.outside.http import TrustedClient
from cs.paid_calls import register as paid_calls
from cs.paid_calls.register import CallRegister, PaidCalls, calls_away
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.pipeline.runner import Runner
from cs.plugins.entry_points import Group
from cs.plugins.registry import load_plugins
from cs.plugins.sources import BrandFacts, SourceContext
from cs.postgres.pool import open_pool
from cs.postgres.sql import PostgresDatabase
from cs.runtime import logs
from cs.runtime.clock import SystemClock

KEY = b"k" * 32
#: What a killed worker held is over so soon.
paid_calls.LEASE_S = 0.5


class Dying(CallRegister):
    async def answer(self, *_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@asynccontextmanager
async def register(where: str, *, dies: bool) -> AsyncIterator[CallRegister]:
    kind = Dying if dies else CallRegister
    if where.startswith("postgres"):
        async with open_pool(where, role="test") as pool:
            yield kind(PostgresDatabase(pool, calls_away), lambda: KEY)
    else:
        async with kind.in_file(Path(where), lambda: KEY) as calls:
            yield calls


async def main(where: str, url: str, takes_key: bool, dies: bool) -> None:
    async with register(where, dies=dies) as calls, TrustedClient(user_agent="test") as web:

        def context(name: str) -> SourceContext:
            own = {"url": url, "takes_key": takes_key}
            return SourceContext(
                trusted=web,
                guarded=web,
                settings=own if name == "paid-people" else {},
                now=lambda: datetime.now(UTC),
                paid=PaidCalls(calls),
            )

        found = load_plugins(Group.PEOPLE_SOURCES, context)
        sources = [source for source in found if source.name == "paid-people"]
        print(await ended(ContactDiscovery(sources)))  # noqa: T201


async def ended(stage: ContactDiscovery) -> str:
    """Return how the only source of *stage* ended its work."""
    work = Work(
        lookup="brand-a.1",
        stage="contact-discovery",
        attempt=1,
        deadline_at=datetime.now(UTC) + timedelta(seconds=40),
        input=DiscoveryInput(BrandFacts(name="Acme", domain="acme.example")),
    )
    topic = STAGE_TOPICS[stage.name]
    bus = MemoryBus([(topic, stage.name)])
    async with bus.subscribe(OUTCOMES, group="test") as outcomes:
        await bus.publish(topic, key=b"", value=encode(work))
        running = asyncio.create_task(Runner(stage, bus, SystemClock()).run())
        finding = decode_outcome((await anext(aiter(outcomes))).value).finding
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    match finding:
        case Failed(why=why):
            return why
        case Discovered(sources=sources):
            return sources["paid-people"]
        case other:
            return repr(other)


if __name__ == "__main__":
    logs.configure("error", "json")
    asyncio.run(main(sys.argv[1], sys.argv[2], "takes-key" in sys.argv, "dies" in sys.argv))
