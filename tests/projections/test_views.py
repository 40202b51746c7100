"""What the views say of a history, and that it is always the same."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cs.domain.brand.brand import REUSED_FOR
from cs.domain.codec import TOPICS
from cs.eventlog.port import Append, RecordedEvent
from cs.projections.brands import BRANDS
from cs.projections.catalogue import projections
from cs.projections.folding import sealer
from cs.projections.runner import ViewRunner
from cs.projections.search_record import open_contacts
from cs.projections.searches import RESULTS, SEARCHES
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow
from cs.projections.sqlite import sqlite_views
from cs.projections.table import Projection, Table
from cs.projections.usage import USAGE
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from projections.history import (
    DONE,
    FAILED,
    FORGOTTEN,
    LIVE,
    done,
    issued,
    write,
)

EVERY: tuple[Table[Any], ...] = (SEARCHES, USAGE, BRANDS, RESULTS)
EVERY_TYPE = frozenset[Any](TOPICS.values())


class Views:
    """A history, and views of it in memory or in a file."""

    def __init__(self, path: Path | None = None) -> None:
        self.keys = MemoryKeyStore()
        self.log = MemoryEventLog(self.keys)
        self.store = sqlite_views(path, projections())

    async def caught_up(self) -> "Views":
        await write(self.log)
        await ViewRunner(self.log, self.store, self.keys).catch_up()
        return self


@pytest.fixture
async def views() -> Any:
    views = Views()
    yield await views.caught_up()
    await views.store.close()


async def test_a_brand_is_live_reused_or_neither(views: Views) -> None:
    rows = dict(await views.store.all(BRANDS))

    finished_at = done().finish.at
    assert rows[DONE].reused_until == finished_at + REUSED_FOR
    assert (rows[DONE].outcome, rows[DONE].verified, rows[DONE].live) == ("done", 1, None)
    assert rows[FAILED].outcome == "no_linkedin"
    assert (rows[LIVE].live, rows[LIVE].outcome) == (f"{LIVE}.1", None)
    assert (rows[FORGOTTEN].outcome, rows[FORGOTTEN].reused_until) == ("done", None)


async def test_listeners_hear_nothing_again_when_views_are_rebuilt(
    views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ring of keys would take a revoked one for a new one."""
    monkeypatch.setattr("cs.projections.runner.WATCH_S", 0.01)
    runner = ViewRunner(views.log, views.store, views.keys)
    await runner.catch_up()
    heard = list[int]()
    runner.listen(lambda page: heard.extend(each.position for each in page))
    running = asyncio.create_task(runner.run())

    await views.store.reset()
    async with asyncio.timeout(5):
        while await views.store.position() < await views.log.head():
            await views.store.moved(await views.store.position())
    newest = await views.log.append([Append("key-late", -1, [issued()])])
    async with asyncio.timeout(5):
        await runner.reached(newest)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert heard == [newest]


async def test_a_rebuild_after_an_erasure_leaves_the_person_out(views: Views) -> None:
    """Also of a view that was not there when the person was erased."""
    await views.keys.destroy([f"{DONE}.1#p1"])
    fresh = sqlite_views(None, projections())
    await ViewRunner(views.log, fresh, views.keys).catch_up()

    row = await fresh.get(RESULTS, f"{DONE}.1")
    assert row is not None
    contacts = json.loads(await open_contacts(views.keys, row) or b"")
    assert [contact["full_name"] for contact in contacts] == ["Ben Ode"]
    search = await fresh.get(SEARCHES, "s-done")
    assert search is not None
    assert (search.status, search.charged) == ("done", True)  # Contract C9
    await fresh.close()


async def test_an_event_that_makes_no_sense_sets_its_stream_aside(views: Views) -> None:
    events = await views.log.tail(0)
    bad = [each for each in events if each.stream == "key-one"][3]

    def fold(_: Any, recorded: RecordedEvent) -> Any:
        if recorded.position == bad.position:
            raise ValueError("no such thing")
        return recorded  # the last event of its stream

    last = Table("last", RecordedEvent, EVERY_TYPE, lambda each: each.stream, fold)
    store = sqlite_views(None, [*projections(), Projection("last", 1, [last])])
    await store.apply(events, await sealer(views.keys, events))

    aside = AsideRow(position=bad.position, stream="key-one", version=bad.version)
    assert await store.tagged(ASIDE, SET_ASIDE) == [("key-one", aside)]
    _, rows = await store.page(last, "", 100)
    ends = {row.row_id: json.loads(row.row)["version"] for row in rows}
    assert ends == {each.stream: each.version for each in events} | {"key-one": bad.version - 1}
    usage = await store.get(USAGE, "two")
    assert usage is not None
    assert usage.used == 1
    await store.close()


async def test_no_row_and_no_byte_of_the_views_names_a_person(tmp_path: Path) -> None:
    views = await Views(tmp_path / "views.db").caught_up()

    results = b"".join(row.head + row.sealed for _, row in await views.store.all(RESULTS))
    stored = results + b"".join(f.read_bytes() for f in tmp_path.iterdir())  # noqa: ASYNC240
    await views.store.close()

    assert b"acme.example" in results
    assert b"s-done" in stored
    for told in (b"Ada", b"Kern", b"kern@", b"linkedin.com/in/", b"Manager", b"Ben Ode"):
        assert told not in stored


@pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)
def test_a_table_reads_every_event_that_its_fold_knows(table: Table[Any]) -> None:
    names = table.fold.__code__.co_names
    known = vars(sys.modules[table.fold.__module__])

    assert table.reads == {known.get(name) for name in names} & EVERY_TYPE
