"""The client against the service, with faults between them: each search is charged once."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from client.faulty_proxy import AFTER, BEFORE, FaultyProxy, faulty_proxy
from cs.client import AsyncClient, Client, Done, Failed, Outcome, Patience, Query, QuotaExceeded
from harness.served import Served, served

pytestmark = pytest.mark.slow

#: Brands of the bundled world that end at once, and one that nobody knows.
BRANDS = ("Veltrana", "Ossowen Skincare", "Kestrelle", "Ivorene", "Nowhere Known Trading")
#: What a key may search within 24 hours (contract text 8).
PER_DAY = 60
SEARCHES = 240
PATIENT = Patience(tries=30, total_s=100_000)


@dataclass
class ServiceTime:
    """Time of the service in its sandbox: a pause of the client lets it go by at once."""

    url: str
    at: float = 0.0
    http: httpx.Client = field(
        default_factory=lambda: httpx.Client(trust_env=False, timeout=60)
    )

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds
        moved = self.http.post(self.url, json={"advance": seconds})
        assert moved.status_code == 200, moved.text

    async def asleep(self, seconds: float) -> None:
        await asyncio.to_thread(self.sleep, seconds)


#: Searches brands with a key of its own and returns how each ended.
Way = Callable[[str, str, Sequence[str], ServiceTime], list[Outcome]]


def one_by_one(url: str, key: str, brands: Sequence[str], time: ServiceTime) -> list[Outcome]:
    ended = []
    with Client(url, key, patience=PATIENT, sleep=time.sleep, now=time.now) as client:
        for brand in brands:
            try:
                ended.append(Outcome(Query(brand), client.contacts.search(brand)))
            except QuotaExceeded as error:
                ended.append(Outcome(Query(brand), error=error))
    return ended


def many_awaited(url: str, key: str, brands: Sequence[str], time: ServiceTime) -> list[Outcome]:
    async def run() -> list[Outcome]:
        async with AsyncClient(
            url, key, patience=PATIENT, sleep=time.asleep, now=time.now
        ) as client:
            asked = client.contacts.search_many(brands)
            return [each async for each in asked]

    return asyncio.run(run())


WAYS: tuple[Way, ...] = (one_by_one, many_awaited)


@dataclass(frozen=True)
class KeyOutcome:
    """What client and service say of one key."""

    wishes: int
    ended: list[Outcome]
    key: dict[str, Any]  # of `cs keys list`

    def assert_each_was_charged_once(self) -> None:
        found = [each.search for each in self.ended if each.search is not None]
        done = [search for search in found if isinstance(search, Done)]
        refused = [each.error for each in self.ended if each.error is not None]

        assert len(self.ended) == self.wishes
        assert all(isinstance(search, Done | Failed) for search in found)
        assert [error for error in refused if not isinstance(error, QuotaExceeded)] == []
        assert len({search.id for search in found}) == len(found) == self.key["searches"]
        assert all(search.charged for search in done)
        assert self.key["used"] == len(done)


def searched(service: Served, proxy: FaultyProxy) -> list[KeyOutcome]:
    """Make `SEARCHES` through *proxy*, in all ways and with as many keys as it takes.

    The second key has a quota for half of what is wished.
    """
    time = ServiceTime(service.clock_url)
    ended: dict[str, list[Outcome]] = {}
    with time.http:
        while (
            sum(each.search is not None for all_ in ended.values() for each in all_) < SEARCHES
        ):
            key = service.new_key(PER_DAY // 2 if len(ended) == 1 else PER_DAY)
            brands = [BRANDS[number % len(BRANDS)] for number in range(PER_DAY)]
            way = WAYS[len(ended) % len(WAYS)]
            ended[key["id"]] = way(proxy.url, key["key"], brands, time)
    shown = map(msgspec.json.decode, service.command("keys", "list", "--json").splitlines())
    keys = {key["id"]: key for key in shown}
    return [KeyOutcome(PER_DAY, outcomes, keys[key]) for key, outcomes in ended.items()]


def test_no_search_is_charged_twice_whatever_happens_on_the_way(tmp_path: Path) -> None:
    with (
        served(tmp_path / "data") as service,
        faulty_proxy(service.base_url, seed=SEARCHES, rate=0.35) as proxy,
    ):
        keys = searched(service, proxy)

    for each in keys:
        each.assert_each_was_charged_once()
    assert sum(each.key["searches"] for each in keys) >= SEARCHES
    assert len(keys) >= len(WAYS), "each way was gone"
    assert any(e.error for e in keys[1].ended), "a quota has been met"
    assert len(proxy.sent) > len(set(proxy.sent)), "searches were sent again"
    assert set(BEFORE + AFTER) <= set(proxy.faults), "each fault has been met"
