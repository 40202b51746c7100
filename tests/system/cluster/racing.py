"""Sixteen calls at one moment over all nodes, and what may come of them.

No stage runs here: a search that was begun runs on, so that nothing but the race decides.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from cs.checks.checks import CHECKS_PER_MINUTE
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.domain.key import IN_FLIGHT, KeyEvent, SearchAdmitted, settled
from cs.domain.rate_limits import PER_DAY, PER_MINUTE
from cs.eventlog.port import Append
from cs.operations.operator import NewSecret
from system.cluster.cluster import Cluster, running_cluster
from system.cluster.operating import Operating, operating
from system.cluster.quick_calls import Answer, QuickCalls, calling

RACERS = 16
NODES = 2
#: Rounds side by side: the key of one is nothing to the others, and no node is ever idle.
AT_ONCE = 10
_NUMBERS = count()
#: So many searches a day may be started by the nodes that have a ceiling.
CEILING = 1
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
NO_HEADERS: Mapping[str, str] = {}


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
    """Rounds of one race each; every one returns how often each answer was given.

    Each is given a new key that every node knows.
    """

    operating: Operating
    free: QuickCalls  # of the nodes without a ceiling
    bound: QuickCalls  # of those with one
    bound_clocks: Sequence[QuickCalls]  # of the admin port of each of those
    numbers: Iterator[int]  # none comes twice on this cluster
    idle: list[NewSecret] = field(default_factory=list)  # keys with which nothing was begun

    async def keys(self, number: int, quota: int = 100) -> list[NewSecret]:
        """Return new keys that every node knows: those of a flood are looked for in turn."""
        make = self.operating.operator.create_key
        made = await asyncio.gather(*(make("test", quota) for _ in range(number)))
        newest = _bearer(await make("test", quota))  # who knows it knows the others
        for calls in (self.free, self.bound):
            told: set[str] = set()
            while told != {"200"}:
                told = {(await calls.get("/v1/usage", **newest)).told for _ in range(NODES)}
        return made

    async def for_the_last_unit(self, key: NewSecret) -> Counter[str]:
        return _codes(await self._search(self.free, [key] * RACERS, self._brands()))

    async def for_places_in_flight(self, key: NewSecret) -> Counter[str]:
        return _codes(await self._search(self.free, [key] * RACERS, self._brands()))

    async def for_a_minute(self, key: NewSecret) -> Counter[str]:
        return _codes(await self._search(self.free, [key] * RACERS, self._brand()))

    async def for_a_day(self, key: NewSecret, left: int = 3) -> Counter[str]:
        """Race for the last *left* of sixty searches."""
        await self._search_before(key.id, PER_DAY - left)
        return _codes(await self._search(self.free, [key] * RACERS, self._brand()))

    async def for_one_idempotency_key(self, key: NewSecret) -> Counter[str]:
        """Return how often each search was answered with."""
        named = {"Idempotency_Key": f"race-{next(self.numbers)}"}
        answers = await self._search(self.free, [key] * RACERS, self._brand(), named)
        return Counter(answer.body.get("id", answer.told) for answer in answers)

    async def for_the_ceiling(self, key: NewSecret) -> Counter[str]:
        """Race for what a new day allows, each racer with a key and a brand of its own."""
        missing = RACERS - len(self.idle) - 1
        self.idle += [key, *(await self.keys(missing) if missing > 0 else ())]
        await self.operating.pass_time(DAY)
        await self._at_this_time()
        racers = self.idle[:RACERS]
        answers = await self._search(self.bound, racers, self._brands())
        for racer, answer in zip(racers, answers, strict=True):
            if answer.status < 400:
                self.idle.remove(racer)
        return _codes(answers)

    async def for_checks(self, key: NewSecret, more: int = 30) -> Counter[str]:
        """Check *more* often than a minute allows, all at once."""
        calls = (
            self.free.get("/v1/usage", **_bearer(key)) for _ in range(CHECKS_PER_MINUTE + more)
        )
        return _codes(await asyncio.gather(*calls))

    async def _search(
        self,
        calls: QuickCalls,
        keys: list[NewSecret],
        brands: list[str],
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> list[Answer]:
        return await asyncio.gather(
            *(
                calls.post(
                    "/v1/contacts",
                    {"brand": brand},
                    Content_Type="application/json",
                    **_bearer(key),
                    **headers,
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
        for clock in self.bound_clocks:
            while (
                datetime.fromisoformat((await clock.get("/sandbox/clock")).body["now"]) < least
            ):
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
    admin = list(cluster.admin_ports.values())[-NODES:]
    async with AsyncExitStack() as stack:
        operated = await stack.enter_async_context(operating(cluster))
        free, bound, *clocks = [
            await stack.enter_async_context(calling(each))
            for each in (ports[:NODES], ports[NODES:], *([port] for port in admin))
        ]
        yield Race(operated, free, bound, clocks, _NUMBERS)


#: One round of a race.
Round = Callable[[Race, NewSecret], Awaitable[Counter[str]]]


async def rounds(race: Race, run: Round, number: int) -> list[Counter[str]]:
    """Return what each of *number* rounds came to."""
    # A day has one ceiling; and the calls of one round of checks are many enough.
    alone = run in {Race.for_the_ceiling, Race.for_checks}
    places = asyncio.Semaphore(1 if alone else AT_ONCE)

    async def one(key: NewSecret) -> Counter[str]:
        async with places:
            return await run(race, key)

    keys = await race.keys(number, quota=1 if run == Race.for_the_last_unit else 100)
    return await asyncio.gather(*map(one, keys))


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


def _bearer(key: NewSecret) -> dict[str, str]:
    return {"Authorization": f"Bearer {key.key}"}


def _codes(answers: list[Answer]) -> Counter[str]:
    return Counter(answer.told for answer in answers)
