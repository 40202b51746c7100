"""Answers from the views that reflect every call answered before.

A reader that finds the views behind the log waits a moment for them, then applies what
is missing in memory.  Nothing is decided here.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from cs.domain.key import SearchSettled
from cs.eventlog.mapper import DataKeys
from cs.eventlog.open_work import Unfinished, WaitingSearch
from cs.eventlog.port import EventLog, Recorded
from cs.eventlog.sealing import open_bytes
from cs.projections.brands import BRANDS, BrandRow
from cs.projections.rows import Table
from cs.projections.runner import ViewRunner, sealer
from cs.projections.searches import RESULTS, SEARCHES, ResultRow, SearchRow
from cs.projections.store import ViewStore
from cs.projections.usage import USAGE, UsageRow

#: How long the views are waited for before their rows are advanced in memory.
WAIT_S = 0.5
#: Events applied in memory for one answer; further behind, the answer waits.
AHEAD = 5_000


class Found(msgspec.Struct, frozen=True):
    """One search with what its record is made of."""

    search: str
    row: SearchRow
    usage: UsageRow
    body: bytes | None  # the fields it shares with its lookup's other searches; None: running


class Reading:
    def __init__(
        self, events: EventLog, store: ViewStore, runner: ViewRunner, keys: DataKeys
    ) -> None:
        self._events = events
        self._store = store
        self._runner = runner
        self._keys = keys
        self._settled: dict[str, set[asyncio.Event]] = {}
        runner.listen(self._wake)

    async def search(self, search: str, key_id: str) -> Found | None:
        """Return *search* if it was made with the key *key_id*."""
        newer = await self._newer()
        row = await self._get(SEARCHES, search, newer)
        if row is None or row.key_id != key_id:
            return None
        usage = await self._get(USAGE, key_id, newer)
        assert usage is not None, "a key with a search was issued"
        if row.status == "running":
            return Found(search, row, usage, None)
        return Found(search, row, usage, await self._body(row.lookup, newer))

    async def usage(self, key_id: str) -> UsageRow | None:
        row: UsageRow | None = await self._get(USAGE, key_id, await self._newer())
        return row

    async def keys(self) -> list[tuple[str, UsageRow]]:
        """Return (key id, row) of every key there is."""
        await self._newer()
        return await asyncio.to_thread(lambda: list(self._store.all(USAGE)))

    async def brands(self) -> list[tuple[str, BrandRow]]:
        await self._newer()
        return await asyncio.to_thread(lambda: list(self._store.all(BRANDS)))

    async def until_settled(self, search: str) -> None:
        """Wait until the views hold the end of *search*."""
        woken = asyncio.Event()
        self._settled.setdefault(search, set()).add(woken)
        try:
            await self._newer()
            row = await asyncio.to_thread(self._store.get, SEARCHES, search)
            if row is None or row.status == "running":
                await woken.wait()
        finally:
            waiting = self._settled[search]
            waiting.discard(woken)
            if not waiting:
                del self._settled[search]

    async def unfinished(self) -> Unfinished:
        """Return what is unfinished (the port `cs.eventlog.open_work.OpenWork`)."""

        def read() -> Unfinished:
            position = self._store.position()
            lookups = [row.live for _, row in self._store.tagged(BRANDS, "live") if row.live]
            searches = [
                WaitingSearch(search, row.key_id, row.lookup)
                for search, row in self._store.tagged(SEARCHES, "running")
            ]
            return Unfinished(position, lookups, searches)

        return await asyncio.to_thread(read)

    async def _newer(self) -> Sequence[Recorded]:
        """Wait for the views; return the events they still lack."""
        head = await self._events.head()
        while self._runner.position < head:
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._runner.reached(head)
            except TimeoutError:
                if head - self._runner.position <= AHEAD:
                    return await self._events.tail(self._runner.position, AHEAD)
        return ()

    async def _get(self, table: Table[Any], row_id: str, newer: Sequence[Recorded]) -> Any:
        if not newer:
            return await asyncio.to_thread(self._store.get, table, row_id)
        seal = await sealer(self._keys, newer)
        return await asyncio.to_thread(self._store.ahead, newer, seal, table, row_id)

    async def _body(self, lookup: str, newer: Sequence[Recorded]) -> bytes:
        result: ResultRow | None = await self._get(RESULTS, lookup, newer)
        assert result is not None, "a settled search's lookup has finished"
        contacts = await self._contacts(result)
        if contacts is None:  # perhaps sealed anew between the two reads
            result = await self._get(RESULTS, lookup, newer) or result
            contacts = await self._contacts(result)
        # Without its key everybody in it is erased.
        return result.head[:-1] + b',"contacts":' + (contacts or b"[]") + b"}"

    async def _contacts(self, result: ResultRow) -> bytes | None:
        key = (await self._keys.find([result.key])).get(result.key)
        return open_bytes(key, result.key, result.sealed) if key and result.sealed else None

    def _wake(self, page: Sequence[Recorded]) -> None:
        for recorded in page:
            if isinstance(recorded.event, SearchSettled):
                for woken in self._settled.get(recorded.event.search, ()):
                    woken.set()
