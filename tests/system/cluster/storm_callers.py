"""Clients of a cluster in a storm: the callers of `faults.caller`, over all nodes."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, cycle

from cs.domain.contact import Query
from cs.domain.refusal import Refusal
from cs.eventlog.errors import LogUnavailable
from cs.postgres.errors import DatabaseUnavailable
from system.cluster.cluster import Cluster
from system.cluster.operating import Operating
from system.faults.caller import Caller, Notebook
from system.faults.world import Wish

#: How often a wish is one of a few that all want, comes from one of a few keys, is forgotten
#: before, so that it is searched for live, and holds the call.
_FAVOURITE, _BUSY, _FORGOTTEN, _WAIT = 0.2, 0.15, 0.8, 0.5
_BUSY_KEYS = 6


class Nodes:
    """Where the API is: another node each time it is asked."""

    def __init__(self, cluster: Cluster) -> None:
        self._urls = cycle(cluster.urls)

    async def up(self) -> str:
        return next(self._urls)


@dataclass
class Crowd:
    """Several who ask at once for *wanted*, with the keys of *callers*.

    Attributes:
        most: Ask for no more than this.
    """

    callers: Sequence[Caller]
    wanted: Sequence[Wish]
    operating: Operating
    most: int
    pause_s: float  # mean, after each answer

    def __post_init__(self) -> None:
        self._turns = cycle(self.callers)
        self._numbers = count(1)

    async def ask(self, over: asyncio.Event, chance: random.Random) -> None:
        """Ask for one wish after the other until *over* is set."""
        favourites = self.wanted[: len(self.wanted) // 8]
        while not over.is_set() and next(self._numbers) <= self.most:
            busy = chance.random() < _BUSY
            caller = chance.choice(self.callers[:_BUSY_KEYS]) if busy else next(self._turns)
            wish = chance.choice(favourites if chance.random() < _FAVOURITE else self.wanted)
            if chance.random() < _FORGOTTEN:
                await self._forget(wish)
            await caller.want(wish, wait=chance.random() < _WAIT)
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), chance.uniform(0, 2 * self.pause_s))

    async def _forget(self, wish: Wish) -> None:
        query = Query(wish.body.get("brand"), wish.body.get("domain"))
        with suppress(LogUnavailable, DatabaseUnavailable, Refusal):
            await self.operating.operator.forget_brand(query)


def asked_for(notes: Notebook) -> str:
    """Return in a few words how far the clients are."""
    answered = sum(one.answered_at is not None for one in notes.requests)
    waiting = [one.sent_at for one in notes.requests if one.answered_at is None]
    oldest = f", the oldest for {time.monotonic() - min(waiting):.0f} s" if waiting else ""
    return f"{answered} of {len(notes.requests)} wishes answered{oldest}"
