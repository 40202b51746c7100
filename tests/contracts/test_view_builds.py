"""What a rebuild does next to running views, and several versions in one place."""

import dataclasses
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contracts.views import STORED, History
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    DamagedEvent,
    EventNeeds,
    LogUnavailable,
    RecordedEvent,
)
from cs.projections.catalogue import projections
from cs.projections.following import ViewFollower
from cs.projections.rebuild import (
    NotReplayable,
    ReplaySummary,
    RowDifference,
    ViewRebuild,
)
from cs.projections.searches import SEARCHES
from cs.projections.table import Projection, SealBody, Table
from cs.projections.views import Views
from harness.places import Place, sql, views_in
from projections.history import DONE, issued, write

#: Runs a statement on the running views; ``{name}`` in it is a table of theirs.
Execute = Callable[[str], Awaitable[None]]


@dataclass
class Running:
    """Where views are kept: running ones, and room for others next to them."""

    running: Views
    execute: Execute
    tables: Callable[[], Awaitable[Sequence[str]]]
    opened: Callable[..., AbstractAsyncContextManager[Views]]
    history: History = field(default_factory=History)

    async def fill(self) -> None:
        await write(self.history.log)
        await self.history.runner(self.running).catch_up()

    def replay(self) -> ViewRebuild:
        return ViewRebuild(
            self.history.log,
            self.running,
            self.history.keys,
            projections(),
            progress=lambda _: None,
            pause=lambda _: 0.0,
        )

    async def run(self, *, switch: bool = True) -> ReplaySummary:
        return await self.replay().run(switch=switch)

    async def is_as_the_log_says(self) -> bool:
        return await self.history.rows(self.running) == await self.history.replayed()

    async def more(self, stream: str) -> None:
        """Let the service go on: something is appended, and the running views show it."""
        await self.history.log.append([Append(stream, NO_STREAM, [issued()])])
        await self.history.runner(self.running).catch_up()


def before_switching(rebuild: ViewRebuild, first: Callable[[], Awaitable[None]]) -> ViewRebuild:
    """Return *rebuild*, with *first* done before the new build takes over, once."""
    take_over, todo = rebuild._shadow.take_over, [first]

    async def taking_over(page: Sequence[RecordedEvent], seal: SealBody) -> bool:
        if todo:
            await todo.pop()()
        return await take_over(page, seal)

    rebuild._shadow.take_over = taking_over  # type: ignore[method-assign]
    return rebuild


_USED = """UPDATE {usage} SET row = {blob}(replace({text}(row), '"used":1', '"used":7'))
WHERE id = 'one'"""
_NEW = """INSERT INTO {returned} SELECT 'nothing', tag, row FROM {returned}
WHERE id = 'brand-done.1'"""
_NOISE = "UPDATE {brands} SET row = {blob}('nonsense') WHERE id = 'brand-done'"
_SEALED = """UPDATE {results}
SET row = {blob}(replace({text}(row), '"sealed":"', '"sealed":"AAAA'))
WHERE id = 'brand-done.1'"""
#: What somebody did to the running views by hand: statement, table, row, why.
HARM = {
    "changed": (_USED, ("usage", "one", "")),
    "gone": ("DELETE FROM {searches} WHERE id = 's-done'", ("searches", "s-done", "")),
    "added": (_NEW, ("returned", "nothing", "")),
    "unreadable": (_NOISE, ("brands", DONE, "unreadable")),
    "found otherwise": (
        "UPDATE {searches} SET tag = NULL WHERE id = 's-live'",
        ("searches", "s-live", "tag"),
    ),
    "another's people": (_SEALED, ("results", f"{DONE}.1", "contacts")),
}


FUNCTIONS = """
CREATE FUNCTION as_blob(said text) RETURNS bytea LANGUAGE sql AS $$
    SELECT convert_to(said, 'UTF8')
$$;
CREATE FUNCTION as_text(said bytea) RETURNS text LANGUAGE sql AS $$
    SELECT convert_from(said, 'UTF8')
$$;
"""
TABLES = """
SELECT relname::text FROM pg_class WHERE relname LIKE 'view%' AND relkind IN ('r', 'i')
ORDER BY 1
"""


@pytest.fixture
async def here(place: Place) -> AsyncIterator[Running]:
    """Views of a history."""

    async def execute(statement: str) -> None:
        said = statement.format(**STORED, blob="as_blob", text="as_text")
        if not isinstance(place, Path):
            assert await place.execute(said) not in {"UPDATE 0", "DELETE 0", "INSERT 0 0"}
            return
        with closing(sqlite3.connect(place / "views.db", isolation_level=None)) as database:
            database.create_function("as_blob", 1, str.encode)
            database.create_function("as_text", 1, bytes.decode)
            assert database.execute(said).rowcount

    async def tables() -> Sequence[str]:
        of_file = "SELECT tbl_name FROM sqlite_master ORDER BY 1"
        found = await sql(place, "views.db", of_file if isinstance(place, Path) else TABLES)
        return [name for (name,) in found]

    @asynccontextmanager
    async def opened(*versions: Projection) -> AsyncIterator[Views]:
        views = views_in(place, *versions)
        yield views
        await views.close()

    if not isinstance(place, Path):
        await place.execute(FUNCTIONS)
    async with opened() as running:
        found = Running(running, execute, tables, opened)
        await found.fill()
        yield found


async def test_right_views_are_left_as_they_are(here: Running) -> None:
    before, replaced = await here.tables(), list[int]()
    here.running.on_replaced(lambda: replaced.append(1))

    found = await here.run()

    assert found.kept == "equal"
    assert not found.switched
    assert found.different == {}
    rows = await here.history.replayed()
    assert found.rows == {name: len(each) for name, each in rows.items() if each}
    assert found.position == await here.history.log.head()
    assert replaced == []
    assert await here.tables() == before


@pytest.mark.parametrize("harm", HARM)
async def test_a_spoiled_row_is_found_shown_and_healed(here: Running, harm: str) -> None:
    statement, (table, row_id, why) = HARM[harm]
    await here.execute(statement)
    tables = await here.tables()

    shown = await here.run(switch=False)
    assert (shown.kept, shown.switched) == ("not-asked", False)
    found = await here.run()

    assert shown.differences == found.differences
    (difference,) = found.differences
    assert (difference.table, difference.row_id, difference.why) == (table, row_id, why)
    assert found.different == {table: 1}
    assert found.switched
    assert found.switched_at == await here.history.log.head()
    assert await here.is_as_the_log_says()
    assert (await here.run()).kept == "equal"
    assert len(await here.tables()) == len(tables)


async def test_views_move_on_before_and_after(here: Running) -> None:
    await here.execute(HARM["changed"][0])

    async def goes_on() -> None:
        await here.more("key-meanwhile")

    found = await before_switching(here.replay(), goes_on).run(switch=True)

    assert found.switched
    assert found.switched_at == found.position + 1 == await here.history.log.head()
    assert await here.is_as_the_log_says()
    await here.more("key-later")
    assert await here.is_as_the_log_says()
    assert (await here.run()).kept == "equal"


async def test_a_reader_is_woken_once(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.projections.sqlite.LOOK_S", 0.01)
    monkeypatch.setattr("cs.projections.postgres.POLL_S", 0.01)
    await here.execute(HARM["changed"][0])
    async with here.opened() as reader:
        follower, replaced = ViewFollower(here.history.log, reader), list[int]()
        reader.on_replaced(lambda: replaced.append(1))
        await follower.catch_up()
        await here.run(switch=False)
        await follower._look()
        assert replaced == []

        await here.run()

        await follower._look()
        await follower._look()
        assert replaced == [1]
        assert await here.history.rows(reader) == await here.history.replayed()


async def test_running_views_that_are_behind_the_log_are_no_hindrance(here: Running) -> None:
    await here.execute(HARM["changed"][0])
    behind = await here.history.log.head()
    await here.history.log.append([Append("key-new", NO_STREAM, [issued()])])

    found = await here.run()

    assert found.switched_at == behind
    await here.history.runner(here.running).catch_up()
    assert await here.is_as_the_log_says()


async def test_views_emptied_meanwhile_are_left_to_their_runner(here: Running) -> None:
    await here.execute(HARM["changed"][0])

    with pytest.raises(NotReplayable, match="rebuilt meanwhile"):
        await before_switching(here.replay(), here.running.reset).run(switch=True)

    assert await here.running.position() == 0
    await here.history.runner(here.running).catch_up()
    assert await here.is_as_the_log_says()


async def test_what_a_damaged_log_does_not_say_any_more_stays(here: Running) -> None:
    before = await here.history.rows(here.running)
    events = await here.history.log.tail(0)
    damaged = next(each for each in events if each.stream == "key-one" and each.version)
    here.history.log = Damaged(here.history.log, damaged)  # type: ignore[assignment]

    found = await here.run()

    assert (found.kept, found.switched) == ("damaged-log", False)
    assert await here.history.rows(here.running) == before


async def test_people_whose_keys_are_lost_stay(here: Running) -> None:
    before = await here.history.rows(here.running)
    del here.history.keys._keys[f"{DONE}.1#p1"]

    found = await here.run()

    assert (found.kept, found.switched) == ("lost-keys", False)
    assert [each.why for each in found.differences] == ["contacts"]
    assert await here.history.rows(here.running) == before


async def test_empty_views_are_not_compared(here: Running) -> None:
    await here.running.reset()

    with pytest.raises(NotReplayable, match="not made yet"):
        await here.run()


async def test_what_was_left_half_made_is_dropped_by_the_next(here: Running) -> None:
    tables = await here.tables()
    half_made = here.running.shadow()
    await here.history.apply(half_made, [*await here.history.log.tail(0, 9)])
    assert await here.tables() != tables

    found = await here.run()

    assert found.kept == "equal"
    assert await here.tables() == tables


async def test_rows_are_compared_in_pages(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one side lacks rows, the other adds some, and the views move on."""
    monkeypatch.setattr("cs.projections.rebuild.ROWS", 2)
    await here.execute("DELETE FROM {searches} WHERE id <> 's-live'")
    await here.execute(HARM["added"][0])

    found = await here.run()

    rows = await here.history.replayed()
    assert found.different == {"searches": len(rows["searches"]) - 1, "returned": 1}
    assert found.rows["returned"] == len(rows["returned"]) + 1
    assert await here.is_as_the_log_says()


async def test_no_person_is_shown_in_a_difference(here: Running) -> None:
    await here.execute("DELETE FROM {results}")

    found = await here.run(switch=False)

    shown = msgspec.json.encode(found)
    assert b"Ada" not in shown
    assert b"sealed" not in shown
    assert all(isinstance(each, RowDifference) for each in found.differences)


@pytest.mark.parametrize("kind", [pytest.param("postgres", marks=pytest.mark.slow)])
async def test_rights_that_new_tables_would_not_have_are_not_lost(here: Running) -> None:
    await here.execute(HARM["changed"][0])
    await here.execute("GRANT SELECT ON {usage} TO PUBLIC")
    tables = await here.tables()

    with pytest.raises(NotReplayable, match="or have grants"):
        await here.run()

    assert (await here.run(switch=False)).different == {"usage": 1}
    assert await here.tables() == tables


def newer(applied: list[int] | None = None) -> list[Projection]:
    """Return projections of the next version, which add the positions that they fold."""
    first, *others = projections()

    def spied(table: Table[Any]) -> Table[Any]:
        def fold(row: Any, recorded: RecordedEvent) -> Any:
            if applied is not None:
                applied.append(recorded.position)
            return table.fold(row, recorded)

        return dataclasses.replace(table, fold=fold)

    tables = [spied(table) for table in first.tables]
    return [Projection(first.name, first.version + 100, tables), *others]


async def test_a_new_version_is_made_next_to_the_one_that_is_read(here: Running) -> None:
    history, before = here.history, await here.history.rows(here.running)
    async with here.opened(*newer()) as new:
        await history.apply(new, [*await history.log.tail(0, 4)])

        assert await new.position() == 4
        assert await history.rows(here.running) == before
        await here.more("key-meanwhile")
        await history.runner(new).catch_up()
        await new.retire()

        assert await history.rows(new) == await history.replayed()
        assert await here.is_as_the_log_says()


async def test_a_build_that_was_cut_short_goes_on_where_it_was(here: Running) -> None:
    async with here.opened(*newer()) as new:
        await here.history.apply(new, [*await here.history.log.tail(0, 9)])
    applied = list[int]()
    async with here.opened(*newer(applied)) as new:
        await here.history.runner(new).catch_up()

        assert await here.history.rows(new) == await here.history.replayed()
    assert min(applied) >= 10


async def test_tables_that_no_process_used_for_the_grace_are_dropped(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = len(await here.tables())
    async with here.opened(*newer()) as new:
        await here.history.runner(new).catch_up()
        assert len(await here.tables()) > one
    monkeypatch.setattr("cs.projections.views.GRACE_S", -1.0)
    await here.running.retire()

    assert len(await here.tables()) == one
    assert await here.is_as_the_log_says()


async def test_a_version_whose_tables_were_dropped_begins_again(
    here: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with here.opened(*newer()) as new:
        await new.position()
        with monkeypatch.context() as patch:
            patch.setattr("cs.projections.views.GRACE_S", -1.0)
            await new.retire()

    with pytest.raises(LogUnavailable, match="rebuilt"):
        await here.running.get(SEARCHES, "s-done", 1)
    await here.history.runner(here.running).catch_up()

    assert await here.is_as_the_log_says()


class Damaged:
    """*log*, as a store has it whose event *damaged* cannot be read."""

    def __init__(self, log: Any, damaged: RecordedEvent) -> None:
        self._log = log
        self._damaged = damaged

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def tail(
        self, after: int, limit: int = 500, wanted: EventNeeds | None = None
    ) -> Sequence[RecordedEvent]:
        damaged = self._damaged
        if after < damaged.position <= after + limit:
            raise DamagedEvent(damaged.position, damaged.stream, damaged.version, "damaged")
        found: Sequence[RecordedEvent] = await self._log.tail(after, limit, wanted)
        return found
