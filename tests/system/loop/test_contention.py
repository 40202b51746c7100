"""Everybody at once: whatever races, exactly as many are let in as may be.

One API node, then two on one log: within a node writers of a key queue, between nodes the
expected versions decide.  No stage runs, so what starts stays live.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import pytest

from cs.assembly.one_process import RunningService, memory_bus, run_service
from cs.domain.brand.events import LookupStarted
from cs.domain.key import IN_FLIGHT, SearchAdmitted, SearchRepeated
from cs.domain.rate_limits import PER_MINUTE
from cs.eventlog.audit import Audit
from cs.eventlog.port import RecordedEvent
from cs.eventlog.sqlite import SqliteEventLog
from cs.operations.operator import NewSecret, Operator
from cs.projections.catalogue import projections
from cs.projections.sqlite import sqlite_views
from cs.runtime.clock import SystemClock
from cs.settings import Settings
from harness.memory_keys import MemoryKeyStore

pytestmark = pytest.mark.slow

CALLERS = 64


class Nodes:
    """API nodes on one log, and what they answered."""

    def __init__(
        self,
        log: Callable[[], SqliteEventLog],
        services: list[RunningService],
        clients: list[httpx.AsyncClient],
    ) -> None:
        self._log = log
        self._services = services
        self._next = cycle(clients)
        self._operator = Operator(services[0].streams, SystemClock())

    async def keys(self, number: int, quota: int = 100) -> list[NewSecret]:
        """Create keys, known to every node on return."""
        made = [await self._operator.create_key("k", quota) for _ in range(number)]
        for service in self._services:
            while len(await service.reading.keys()) < number:
                pass  # each look waits for the views
        return made

    async def ask(
        self, asked: Iterable[tuple[NewSecret, str]], **headers: str
    ) -> list[httpx.Response]:
        """Ask for each brand with its key, all at once, by turns at each node."""
        return await asyncio.gather(
            *(
                next(self._next).post(
                    "/contacts",
                    json={"brand": brand},
                    headers={"Authorization": f"Bearer {key.key}", **headers},
                )
                for key, brand in asked
            )
        )

    async def events(self, *kinds: type[Any]) -> list[RecordedEvent]:
        """Return the events of *kinds*; all of the log has to keep every promise."""
        audit, found = Audit(), list[RecordedEvent]()
        async with self._log() as log:  # each node's own hears late of the other's appends
            while page := await log.tail(audit.events):
                for recorded in page:
                    assert list(audit.check(recorded)) == []
                    found += [recorded] if isinstance(recorded.event, kinds) else []
        return found


@asynccontextmanager
async def nodes(path: Path, number: int, *, ceiling: int | None = None) -> AsyncIterator[Nodes]:
    keys, clients, services = MemoryKeyStore(), [], []
    async with AsyncExitStack() as stack:
        for _ in range(number):
            log = await stack.enter_async_context(SqliteEventLog(path, keys))
            views = sqlite_views(None, projections())
            stack.push_async_callback(views.close)
            service = await stack.enter_async_context(
                run_service(
                    log,
                    keys,
                    views,
                    [],
                    bus=memory_bus(),
                    clock=SystemClock(),
                    settings=Settings(lookup_deadline_s=3600, lookups_per_day=ceiling),
                )
            )
            client = httpx.AsyncClient(
                transport=httpx.ASGITransport(service.app), base_url="http://node.test/v1"
            )
            services.append(service)
            clients.append(await stack.enter_async_context(client))
        yield Nodes(lambda: SqliteEventLog(path, keys), services, clients)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def told(answers: list[httpx.Response]) -> Counter[str]:
    """Count the answers by their status and, of an error, its code."""
    return Counter(
        str(answer.status_code)
        if answer.is_success
        else f"{answer.status_code} {answer.json()['error']['code']}"
        for answer in answers
    )


one_and_two = pytest.mark.parametrize("number", [1, 2])


@one_and_two
async def test_a_hot_key_starts_exactly_as_many_lookups_as_may_be_in_flight(
    path: Path, number: int
) -> None:
    async with nodes(path, number) as service:
        (key,) = await service.keys(1)

        answers = told(await service.ask((key, f"Brand {n}") for n in range(CALLERS)))

        assert answers == {"202": IN_FLIGHT, "429 too_many_in_flight": CALLERS - IN_FLIGHT}
        assert len(await service.events(SearchAdmitted)) == IN_FLIGHT


@one_and_two
async def test_a_hot_key_is_admitted_exactly_as_often_as_its_minute_allows(
    path: Path, number: int
) -> None:
    async with nodes(path, number) as service:
        (key,) = await service.keys(1)

        answers = await service.ask((key, "Acme") for _ in range(CALLERS))

        assert told(answers) == {"202": PER_MINUTE, "429 rate_limited": CALLERS - PER_MINUTE}
        assert len({a.json()["id"] for a in answers if a.is_success}) == 1
        assert len(await service.events(SearchAdmitted)) == 1
        assert len(await service.events(SearchRepeated)) == PER_MINUTE - 1


@one_and_two
async def test_the_last_unit_of_quota_is_reserved_once(path: Path, number: int) -> None:
    async with nodes(path, number) as service:
        (key,) = await service.keys(1, quota=1)

        answers = told(await service.ask((key, f"Brand {n}") for n in range(CALLERS)))

        assert answers["202"] == 1
        assert len(await service.events(SearchAdmitted)) == 1


@one_and_two
async def test_an_idempotency_key_sent_by_all_at_once_is_one_search(
    path: Path, number: int
) -> None:
    async with nodes(path, number) as service:
        (key,) = await service.keys(1)

        answers = await service.ask(
            ((key, "Acme") for _ in range(CALLERS)), **{"Idempotency-Key": "once"}
        )

        assert {a.json().get("id") for a in answers if a.is_success} == {
            answers[0].json()["id"]
        }
        assert told(answers) == {"202": CALLERS}
        assert len(await service.events(SearchAdmitted, SearchRepeated)) == 1


@one_and_two
@pytest.mark.slow
async def test_four_hundred_keys_at_once_on_one_new_brand_share_one_lookup(
    path: Path, number: int
) -> None:
    async with nodes(path, number) as service:
        keys = await service.keys(400)

        answers = await service.ask((key, "Acme") for key in keys)

        assert told(answers) == {"202": 400}
        (started,) = await service.events(LookupStarted)
        admitted = [r.event for r in await service.events(SearchAdmitted)]
        assert len(admitted) == 400
        lookups = {e.lookup for e in admitted if isinstance(e, SearchAdmitted)}
        assert isinstance(started.event, LookupStarted)
        assert lookups == {started.event.lookup}


@one_and_two
async def test_joins_leave_the_brands_stream_alone(path: Path, number: int) -> None:
    async with nodes(path, number) as service:
        first, *others = await service.keys(CALLERS)
        await service.ask([(first, "Acme")])
        (started,) = await service.events(LookupStarted)

        answers = await service.ask((key, "Acme") for key in others)

        assert told(answers) == {"202": CALLERS - 1}
        events = await service.events(object)
        assert max(r.version for r in events if r.stream == started.stream) == 1


@one_and_two
@pytest.mark.parametrize("ceiling", [0, 1, 7])
async def test_the_ceiling_lets_exactly_as_many_lookups_start(
    path: Path, number: int, ceiling: int
) -> None:
    async with nodes(path, number, ceiling=ceiling) as service:
        keys = await service.keys(CALLERS)

        answers = await service.ask((key, f"Brand {n}") for n, key in enumerate(keys))

        left = CALLERS - ceiling
        assert told(answers) == Counter({"202": ceiling, "503 at_capacity": left})
        assert len(await service.events(LookupStarted)) == ceiling
        assert len(await service.events(SearchAdmitted)) == ceiling
