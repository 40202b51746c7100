"""Events of a newer version, as the version before it meets them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from cs.domain import codec
from cs.domain.brand.events import BrandForgotten
from cs.domain.key import QuotaGranted
from cs.eventlog.follow import VersionGate
from cs.eventlog.port import Append, EventLog

AT = datetime(2026, 1, 1, tzinfo=UTC)
TOPIC = "key.lent.v1"


class Lent(QuotaGranted, frozen=True, kw_only=True):
    """What the next version knows of keys: to it, a grant."""


class Closed(BrandForgotten, frozen=True, kw_only=True):
    """What the next version knows of brands: to it, forgotten."""


NEWER: dict[str, Any] = {TOPIC: Lent, "brand.closed.v1": Closed}


@contextmanager
def upgraded() -> Iterator[None]:
    """Know the newer events until left, as the next version does: all of this process."""
    shapes, topics = cast("dict[str, Any]", codec.TOPICS), cast("Any", codec._TOPIC_OF)
    shapes.update(NEWER)
    topics.update({shape: topic for topic, shape in NEWER.items()})
    try:
        yield
    finally:
        for topic, shape in NEWER.items():
            del shapes[topic], topics[shape]


async def write_newer(log: EventLog, stream: str, version: int) -> int:
    """Append a newer event after *version*, as a process of the next version does."""
    event = Lent(units=1, at=AT) if stream.startswith("key-") else Closed(at=AT)
    with upgraded():
        return await log.append([Append(stream, version, [event])])


async def stored(log: EventLog, topic: str, count: int = 1) -> list[str]:
    """Wait for so many events of *topic*; return their streams.  Nothing is decoded."""
    async with asyncio.timeout(10):
        while True:
            head = await log.head()
            found = [e.stream for e in await log.stored(0, 10_000) if e.topic == topic]
            if len(found) >= count:
                return found
            await log.grown(head)


def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever is held try again at once."""
    defaults = VersionGate.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "retry_s", 0.01)
