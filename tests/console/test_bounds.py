"""How much of the log and the views one page of the console reads at most."""

import asyncio
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import KeyIssued, SearchAdmitted, SearchRepeated, SearchSettled
from cs.eventlog.port import NO_STREAM, Append, SealedEvent, Where
from harness.in_process import in_memory
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import tools

AT = datetime.now(UTC) - timedelta(days=1)
ISSUED = KeyIssued(at=AT, label="long", quota=10**6, secret_hash="0" * 64, last4="0000")


class CountingLog(MemoryEventLog):
    """The log in memory, and the positions that searches of the history went over."""

    looked_through = 0

    async def select(self, where: Where, after: int, upto: int) -> Sequence[SealedEvent]:
        self.looked_through += upto - after
        return await super().select(where, after, upto)


def run_of(number: int) -> tuple[SearchAdmitted, SearchSettled, list[LookupStarted], str]:
    """Return a search, how it ended, the beginning of its run, and the stream of that."""
    query = Query(f"Bound {number}")
    stream = brand_stream(query)
    lookup, search = f"{stream}.1", f"srch_bound{number}"
    admitted = SearchAdmitted(
        at=AT, search=search, brand=f"Bound {number}", query=query, lookup=lookup
    )
    settled = SearchSettled(
        at=AT, search=search, lookup=lookup, outcome="no_contacts", charged=False, cached=False
    )
    began = LookupStarted(at=AT, lookup=lookup, number=1, query=query, deadline_at=AT)
    return admitted, settled, [began], stream


def ended(lookup: str) -> LookupFinished:
    return LookupFinished(
        at=AT, lookup=lookup, outcome="no_contacts", reusable=True, verified=0
    )


async def page_with(client: httpx.AsyncClient, path: str, words: str) -> str:
    """Return the page at *path* once it has *words*: the views have caught up."""
    async with asyncio.timeout(30):
        page = ""
        while words not in page:
            page = (await client.get(path)).text
    return page


async def test_a_search_that_waited_for_long_is_read_at_its_two_ends() -> None:
    keys = MemoryKeyStore()
    log = CountingLog(keys)
    admitted, settled, began, stream = run_of(1)
    others: list[AnyEvent] = []
    for number in range(2, 5_000):
        one, end, _, _ = run_of(number)
        others += [one, end]
    repeated = SearchRepeated(at=AT, search=admitted.search)
    of_key: list[AnyEvent] = [ISSUED, admitted, repeated, *others, settled]
    await log.append(
        [
            Append(stream, NO_STREAM, [*began, ended(admitted.lookup)]),
            Append("key-long", NO_STREAM, of_key),
        ]
    )
    async with (
        in_memory(tools(), keys=keys, log=log, console=True) as service,
        service.console() as client,
    ):
        path = f"/searches/{admitted.search}"
        await page_with(client, path, "no_contacts")
        before = log.looked_through
        page = (await client.get(path)).text
        looked_through = log.looked_through - before

    assert "no_contacts" in page
    assert "not counted here: its key has many searches" in page
    assert 0 < looked_through <= 4_100


async def test_people_who_are_shown_of_a_running_search_are_not_sent_away_hidden() -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    admitted, _, began, stream = run_of(1)
    await log.append([Append(stream, NO_STREAM, [*began])])
    await log.append([Append("key-long", NO_STREAM, [ISSUED, admitted])])
    async with (
        in_memory(tools(), keys=keys, log=log, console=True) as service,
        service.console() as client,
    ):
        path = f"/searches/{admitted.search}"
        page = await page_with(client, path, "Show people")
        (csrf,) = set(re.findall(r'name="csrf" value="(\w+)"', page))
        form = {"csrf": csrf, "why": "asked for by the person"}
        in_clear = await client.post(path, data=form)

    assert "data-live" in page
    assert in_clear.status_code == 200
    assert "data-live" not in in_clear.text


async def test_a_name_that_no_brand_has_is_looked_for_in_part_of_them_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.console.brands.LOOKED_THROUGH", 1)
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    for number in range(25):
        _, _, began, stream = run_of(number)
        await log.append([Append(stream, NO_STREAM, [*began, ended(began[0].lookup)])])
    async with (
        in_memory(tools(), keys=keys, log=log, console=True) as service,
        service.console() as client,
    ):
        await page_with(client, "/brands", "Bound 24")

        async def pages(word: str) -> list[str]:
            found, path = list[str](), f"/console/brands?q={word}"
            while path:
                found.append((await client.get(f"http://localhost{path}")).text)
                link = re.search(r'rel="next" href="([^"]+)"', found[-1])
                path = link[1].replace("&amp;", "&") if link else ""
            return found

        none, named = await pages("nonsense"), await pages("bound")

    assert [re.findall(r'rel="next"', each) != [] for each in none] == [True, True, False]
    assert all("None that was looked through" in each for each in none)
    names = [name for each in named for name in re.findall(r">(Bound \d+)<", each)]
    assert sorted(names) == sorted(f"Bound {number}" for number in range(25))
