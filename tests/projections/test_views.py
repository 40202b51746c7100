"""What the views say of a history, and that it is always the same."""

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cs.domain.brand.brand import REUSED_FOR
from cs.domain.codec import TOPICS
from cs.eventlog.port import Append, RecordedEvent
from cs.projections.brands import BRANDS
from cs.projections.builds import tables_of
from cs.projections.catalogue import projections
from cs.projections.folding import sealer
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.search_record import open_contacts
from cs.projections.searches import CONTACT_FIELDS, RESULTS, SEARCHES
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow
from cs.projections.sqlite import sqlite_views
from cs.projections.table import Projection, Table
from cs.projections.usage import USAGE, UsageRow
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from projections.history import (
    ADA_IS_AT,
    DONE,
    FAILED,
    FORGOTTEN,
    LIVE,
    done,
    issued,
    write,
)
from projections.stored import table_of

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

    async def rows(self) -> dict[str, Any]:
        """Return every row of every table, sealed contacts opened."""
        rows: dict[str, Any] = {t.name: dict(await self.store.all(t)) for t in EVERY}
        for lookup, row in rows["results"].items():
            rows["results"][lookup] = (row.head, await open_contacts(self.keys, row))
        return rows


@pytest.fixture(autouse=True)
def watched_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.projections.runner.WATCH_S", 0.01)


@pytest.fixture
async def views() -> Any:
    views = Views()
    yield await views.caught_up()
    await views.store.close()


# What they say.


async def test_a_result_is_kept_once_for_all_its_searches(views: Views) -> None:
    rows = await views.rows()

    assert set(rows["results"]) == {f"{DONE}.1", f"{FAILED}.1", f"{FORGOTTEN}.1"}
    head, contacts = (json.loads(part) for part in rows["results"][f"{DONE}.1"])
    assert head == {
        "domain": "acme.example",
        "linkedin_company_url": None,
        "parent_company": None,
        "instagram": None,
        "tiktok": None,
        "searched_at": "2026-01-01T00:00:05Z",
    }
    assert [set(contact) for contact in contacts] == [set(CONTACT_FIELDS)] * 2
    assert [contact["email"] for contact in contacts] == [ADA_IS_AT, None]


async def test_usage_adds_up(views: Views) -> None:
    one, two = [await views.store.get(USAGE, key) for key in ("one", "two")]

    assert one is not None
    assert two is not None
    assert (one.quota, one.used, one.reserved, one.searches) == (12, 1, 1, 3)
    assert (one.secret_hash, one.last4, one.revoked) == ("h2", "bbbb", False)
    assert (two.quota, two.used, two.reserved, two.searches) == (2, 1, 0, 1)
    assert two.revoked


async def test_a_brand_is_live_reused_or_neither(views: Views) -> None:
    rows = dict(await views.store.all(BRANDS))

    finished_at = done().finish.at
    assert rows[DONE].reused_until == finished_at + REUSED_FOR
    assert (rows[DONE].outcome, rows[DONE].verified, rows[DONE].live) == ("done", 1, None)
    assert rows[FAILED].outcome == "no_linkedin"
    assert (rows[LIVE].live, rows[LIVE].outcome) == (f"{LIVE}.1", None)
    assert (rows[FORGOTTEN].outcome, rows[FORGOTTEN].reused_until) == ("done", None)


async def test_what_is_unfinished_is_found_by_its_tag(views: Views) -> None:
    runner = ViewRunner(views.log, views.store, views.keys)

    unfinished = await Reading(views.log, views.store, runner, views.keys).unfinished()

    assert unfinished.position == await views.log.head()
    assert list(unfinished.lookups) == [f"{LIVE}.1"]
    assert [(w.search, w.key_id, w.lookup) for w in unfinished.searches] == [
        ("s-live", "one", f"{LIVE}.1")
    ]


# That it is always the same.


async def test_views_that_were_emptied_are_rebuilt_though_nothing_happens(
    views: Views,
) -> None:
    before = await views.rows()
    runner = ViewRunner(views.log, views.store, views.keys)
    await runner.catch_up()
    running = asyncio.create_task(runner.run())

    await views.store.reset()

    async with asyncio.timeout(5):
        while await views.store.position() < await views.log.head():
            await views.store.moved(await views.store.position())
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await views.rows() == before


async def test_listeners_hear_nothing_again_when_views_are_rebuilt(
    views: Views,
) -> None:
    """The ring of keys would take a revoked one for a new one."""
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


# In a file.


async def test_a_page_that_fails_half_way_leaves_neither_rows_nor_checkpoint(
    views: Views,
) -> None:
    def fold(row: Any, recorded: RecordedEvent) -> Any:
        if recorded.position == 9:
            raise RuntimeError("a bug in a projection")
        return row

    stops = Table("stops", UsageRow, EVERY_TYPE, lambda each: each.stream, fold)
    store = sqlite_views(None, [*projections(), Projection("stops", 1, [stops])])
    events = await views.log.tail(0)
    with pytest.raises(RuntimeError, match="a bug"):
        await store.apply(events, await sealer(views.keys, events))

    assert await store.position() == 0
    assert await store.all(SEARCHES) == []
    await store.apply(events[:8], await sealer(views.keys, events))
    assert await store.position() == 8
    await store.close()


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


async def test_no_row_and_no_byte_of_the_views_tells_who_was_found(tmp_path: Path) -> None:
    views = await Views(tmp_path / "views.db").caught_up()

    results = b"".join(row.head + row.sealed for _, row in await views.store.all(RESULTS))
    stored = results + b"".join(f.read_bytes() for f in tmp_path.iterdir())  # noqa: ASYNC240
    await views.store.close()

    assert b"acme.example" in results
    assert b"s-done" in stored
    for told in (b"Ada", b"Kern", b"kern@", b"linkedin.com/in/", b"Manager", b"Ben Ode"):
        assert told not in stored


async def test_tables_are_those_of_the_projections(tmp_path: Path) -> None:
    views = sqlite_views(tmp_path / "views.db", projections())
    await views.position()
    await views.close()

    with closing(sqlite3.connect(tmp_path / "views.db")) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {table_of(table.name) for table in tables_of(projections())}
        assert {name for (name,) in names} == {*tables, "view_builds"}


@pytest.mark.parametrize("table", EVERY, ids=lambda table: table.name)
def test_a_table_reads_every_event_that_its_fold_knows(table: Table[Any]) -> None:
    names = table.fold.__code__.co_names
    known = vars(sys.modules[table.fold.__module__])

    assert table.reads == {known.get(name) for name in names} & EVERY_TYPE
