"""Sixteen calls at one moment over all nodes, and what may come of them.

No stage runs here: a search that was begun runs on, so that nothing but the race decides.
Used by `test_races.py` and, over a thousand rounds, by `bench/cluster_races.py`.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

import httpx

from cluster.cluster import Cluster, running_cluster
from cluster.operating import Operating, operating
from cluster.spreading import SpreadingAsync
from cs.api.limits import CHECKS_PER_MINUTE
from cs.domain.brand_stream import brand_stream
from cs.domain.contact import Query
from cs.domain.key import IN_FLIGHT, PER_DAY, PER_MINUTE, KeyEvent, SearchAdmitted, settled
from cs.eventlog.port import Append

RACERS = 16
NODES = 2
_NUMBERS = count()
#: So many searches a day may be started by the nodes that have a ceiling.
CEILING = 1
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@contextmanager
def running_nodes() -> Iterator[Cluster]:
    """Run nodes of the API alone, with what keeps their views: two, and two with a ceiling."""
    with running_cluster(kinds=("project",)) as cluster:
        for _ in range(NODES):
            cluster.add("api", CS_LOOKUPS_AT_ONCE="1000000")
        for _ in range(NODES):
            cluster.add("api", CS_LOOKUPS_AT_ONCE="1000000", CS_LOOKUPS_PER_DAY=str(CEILING))
        cluster.start_missing()
        yield cluster


@dataclass
class Race:
    """Rounds of one race each; every one returns how often each answer was given."""

    operating: Operating
    free: httpx.AsyncClient  # of the nodes without a ceiling
    bound: httpx.AsyncClient  # of those with one
    bound_clocks: Sequence[str]  # where those say what time it is
    numbers: Iterator[int]  # none comes twice on this cluster

    async def for_the_last_unit(self) -> Counter[str]:
        (key,) = await self.operating.keys(1, quota=1)
        return _codes(await self._search(self.free, [key] * RACERS, self._brands()))

    async def for_places_in_flight(self) -> Counter[str]:
        (key,) = await self.operating.keys(1)
        return _codes(await self._search(self.free, [key] * RACERS, self._brands()))

    async def for_a_minute(self) -> Counter[str]:
        (key,) = await self.operating.keys(1)
        return _codes(await self._search(self.free, [key] * RACERS, self._brand()))

    async def for_a_day(self, left: int = 3) -> Counter[str]:
        """Race for the last *left* of sixty searches."""
        new = await self.operating.operator.create_key("test", 100)
        await self._search_before(new.id, PER_DAY - left)
        return _codes(await self._search(self.free, [new.key] * RACERS, self._brand()))

    async def for_one_idempotency_key(self) -> Counter[str]:
        """Return how often each search was answered with."""
        (key,) = await self.operating.keys(1)
        named = {"Idempotency-Key": f"race-{next(self.numbers)}"}
        answers = await self._search(self.free, [key] * RACERS, self._brand(), named)
        return Counter(_told(answer, answer.json().get("id", "")) for answer in answers)

    async def for_the_ceiling(self) -> Counter[str]:
        """Race for what a new day allows, each racer with a key and a brand of its own."""
        await self.operating.pass_time(DAY)
        keys = await self.operating.keys(RACERS)
        await self._at_this_time()
        return _codes(await self._search(self.bound, keys, self._brands()))

    async def for_checks(self, more: int = 30) -> Counter[str]:
        """Check *more* often than a minute allows, all at once."""
        (key,) = await self.operating.keys(1)
        calls = (
            self.free.get("/usage", headers=_bearer(key))
            for _ in range(CHECKS_PER_MINUTE + more)
        )
        return _codes(await asyncio.gather(*calls))

    async def _search(
        self,
        client: httpx.AsyncClient,
        keys: list[str],
        brands: list[str],
        headers: Mapping[str, str] | None = None,
    ) -> list[httpx.Response]:
        return await asyncio.gather(
            *(
                client.post(
                    "/contacts",
                    json={"brand": brand},
                    headers={**_bearer(key), **(headers or {})},
                )
                for key, brand in zip(keys, brands, strict=True)
            )
        )

    async def _search_before(self, key_id: str, number: int) -> None:
        """Store *number* searches of the last hours, answered from reuse."""
        stream, query = f"key-{key_id}", Query("Long Ago")
        version = (await self.operating.streams.key(key_id)).version
        lookup, now = f"{brand_stream(query)}.1", self.operating.clock.now()
        events: list[KeyEvent] = []
        for n in range(number):
            at, search = now - HOUR + timedelta(seconds=n), f"srch_{key_id}{n}"
            events.append(
                SearchAdmitted(
                    search=search, brand="Long Ago", query=query, lookup=lookup, at=at
                )
            )
            events.append(settled(search, lookup, "no_contacts", 0, cached=True, at=at))
        await self.operating.streams.log.append([Append(stream, version, events)])

    async def _at_this_time(self) -> None:
        """Return when the nodes with a ceiling go by the time that was set."""
        least = self.operating.clock.now() - HOUR
        async with httpx.AsyncClient() as admin:
            for url in self.bound_clocks:
                while datetime.fromisoformat((await admin.get(url)).json()["now"]) < least:
                    pass

    def _brands(self) -> list[str]:
        """Return a new brand for each racer."""
        return [f"Race {next(self.numbers)}" for _ in range(RACERS)]

    def _brand(self) -> list[str]:
        """Return one new brand for all."""
        return [f"Race {next(self.numbers)}"] * RACERS


@asynccontextmanager
async def racing(cluster: Cluster) -> AsyncIterator[Race]:
    """Open the races of `running_nodes`."""
    ports = list(cluster.ports.values())
    async with (
        operating(cluster) as operated,
        _over(cluster, ports[:NODES]) as free,
        _over(cluster, ports[NODES:]) as bound,
    ):
        admin = list(cluster.admin_ports.values())[-NODES:]
        clocks = [f"http://127.0.0.1:{port}/sandbox/clock" for port in admin]
        yield Race(operated, free, bound, clocks, _NUMBERS)


def expected(race: str) -> Counter[str]:
    """Return what every round of *race* has to come to; for checks with 30 more."""
    return Counter(_EXPECTED[race])


_EXPECTED: Mapping[str, Mapping[str, int]] = {
    "for_the_last_unit": {"202": 1, "too_many_in_flight": RACERS - 1},
    "for_places_in_flight": {"202": IN_FLIGHT, "too_many_in_flight": RACERS - IN_FLIGHT},
    "for_a_minute": {"202": PER_MINUTE, "rate_limited": RACERS - PER_MINUTE},
    "for_a_day": {"202": 3, "rate_limited": RACERS - 3},
    "for_the_ceiling": {"202": CEILING, "at_capacity": RACERS - CEILING},
    "for_checks": {"200": CHECKS_PER_MINUTE, "rate_limited": 30},
}


def _over(cluster: Cluster, ports: list[int]) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=cluster.urls[0], transport=SpreadingAsync(ports), timeout=30
    )


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _codes(answers: list[httpx.Response]) -> Counter[str]:
    return Counter(_told(answer, str(answer.status_code)) for answer in answers)


def _told(answer: httpx.Response, good: str) -> str:
    if answer.is_success:
        return good
    code: str = answer.json()["error"]["code"]
    return code
