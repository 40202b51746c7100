"""What a rebuild does next to running views, and several versions in one place."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec
import pytest

from contracts.views import History
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
    ReplayProgress,
    ReplaySummary,
    RowDifference,
    ViewRebuild,
)
from cs.projections.runner import ViewRunner
from cs.projections.searches import SEARCHES
from cs.projections.table import Projection, SealBody, Table
from cs.projections.usage import USAGE
from cs.projections.views import Views
from cs.runtime.coordination import Broadcast
from projections.history import DONE, issued, write

#: Runs a statement on the running views; ``{name}`` in it is a table of theirs.
Execute = Callable[[str], Awaitable[None]]


@dataclass
class Place:
    """Where views are kept: running ones, and room for others next to them."""

    running: Views
    execute: Execute
    tables: Callable[[], Awaitable[Sequence[str]]]
    opened: Callable[..., AbstractAsyncContextManager[Views]]
    history: History = field(default_factory=History)
    told: list[ReplayProgress] = field(default_factory=list)

    async def fill(self) -> None:
        await write(self.history.log)
        await self.history.runner(self.running).catch_up()

    def replay(self) -> ViewRebuild:
        return ViewRebuild(
            self.history.log,
            self.running,
            self.history.keys,
            projections(),
            progress=self.told.append,
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


class ViewRebuildContract:
    """Inherit, and give a fixture ``place``, whose views are those of its history."""

    async def test_right_views_are_left_as_they_are(self, place: Place) -> None:
        before, told = await place.tables(), list[int]()
        place.running.on_replaced(lambda: told.append(1))

        found = await place.run()

        assert found.kept == "equal"
        assert not found.switched
        assert found.different == {}
        rows = await place.history.replayed()
        assert found.rows == {name: len(each) for name, each in rows.items() if each}
        assert found.position == await place.history.log.head()
        assert told == []
        assert await place.tables() == before

    @pytest.mark.parametrize("harm", HARM)
    async def test_a_spoiled_row_is_found_shown_and_healed(
        self, place: Place, harm: str
    ) -> None:
        statement, (table, row_id, why) = HARM[harm]
        await place.execute(statement)
        tables = await place.tables()

        shown = await place.run(switch=False)
        assert (shown.kept, shown.switched) == ("not-asked", False)
        found = await place.run()

        assert shown.differences == found.differences
        (difference,) = found.differences
        assert (difference.table, difference.row_id, difference.why) == (table, row_id, why)
        assert found.different == {table: 1}
        assert found.switched
        assert found.switched_at == await place.history.log.head()
        assert await place.is_as_the_log_says()
        assert (await place.run()).kept == "equal"
        assert len(await place.tables()) == len(tables)

    async def test_views_move_on_before_and_after(self, place: Place) -> None:
        await place.execute(HARM["changed"][0])

        async def goes_on() -> None:
            await place.more("key-meanwhile")

        found = await before_switching(place.replay(), goes_on).run(switch=True)

        assert found.switched
        assert found.switched_at == found.position + 1 == await place.history.log.head()
        assert await place.is_as_the_log_says()
        await place.more("key-later")
        assert await place.is_as_the_log_says()
        assert (await place.run()).kept == "equal"

    async def test_a_reader_is_woken_once(self, place: Place) -> None:
        await place.execute(HARM["changed"][0])
        async with place.opened() as reader:
            follower, told = ViewFollower(place.history.log, reader), list[int]()
            reader.on_replaced(lambda: told.append(1))
            await follower.catch_up()
            await place.run(switch=False)
            await follower._look()
            assert told == []

            await place.run()

            await follower._look()
            await follower._look()
            assert told == [1]
            assert await place.history.rows(reader) == await place.history.replayed()

    async def test_views_that_are_written_and_read_all_the_time_are_healed(
        self, place: Place
    ) -> None:
        await place.execute(HARM["changed"][0])
        history, ended = place.history, asyncio.Event()
        runner = ViewRunner(history.log, place.running, history.keys, watch_s=0.02)
        await runner.catch_up()
        told = asyncio.Event()
        place.running.on_replaced(told.set)
        reads, was_read = 0, Broadcast()

        async def write_on() -> None:
            for number in count():
                read_again = was_read.upcoming()
                if ended.is_set():
                    return
                await history.log.append([Append(f"key-{number}", NO_STREAM, [issued()])])
                await read_again.wait()

        async def read_on() -> None:
            nonlocal reads
            while not ended.is_set():
                row = await place.running.get(USAGE, "two", 1)
                assert row is not None
                assert row.used == 1
                reads += 1
                was_read.notify_all()
            was_read.notify_all()

        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(runner.run())
            tasks.create_task(write_on())
            tasks.create_task(read_on())
            found = await place.run()
            await told.wait()
            ended.set()
            await runner.reached(await history.log.head())
            following.cancel()

        assert found.switched
        assert found.different == {"usage": 1}
        assert reads
        assert await place.is_as_the_log_says()

    async def test_running_views_that_are_behind_the_log_are_no_hindrance(
        self, place: Place
    ) -> None:
        await place.execute(HARM["changed"][0])
        behind = await place.history.log.head()
        await place.history.log.append([Append("key-new", NO_STREAM, [issued()])])

        found = await place.run()

        assert found.switched_at == behind
        await place.history.runner(place.running).catch_up()
        assert await place.is_as_the_log_says()

    async def test_views_emptied_meanwhile_are_left_to_who_keeps_them(
        self, place: Place
    ) -> None:
        await place.execute(HARM["changed"][0])

        with pytest.raises(NotReplayable, match="rebuilt meanwhile"):
            await before_switching(place.replay(), place.running.reset).run(switch=True)

        assert await place.running.position() == 0
        await place.history.runner(place.running).catch_up()
        assert await place.is_as_the_log_says()

    async def test_what_a_damaged_log_does_not_say_any_more_stays(self, place: Place) -> None:
        before = await place.history.rows(place.running)
        events = await place.history.log.tail(0)
        damaged = next(each for each in events if each.stream == "key-one" and each.version)
        place.history.log = Damaged(place.history.log, damaged)  # type: ignore[assignment]

        found = await place.run()

        assert (found.kept, found.switched) == ("damaged-log", False)
        assert await place.history.rows(place.running) == before

    async def test_who_is_only_known_from_before_stays(self, place: Place) -> None:
        before = await place.history.rows(place.running)
        del place.history.keys._keys[f"{DONE}.1#p1"]

        found = await place.run()

        assert (found.kept, found.switched) == ("lost-keys", False)
        assert [each.why for each in found.differences] == ["contacts"]
        assert await place.history.rows(place.running) == before

    async def test_empty_views_are_not_compared(self, place: Place) -> None:
        await place.running.reset()

        with pytest.raises(NotReplayable, match="not made yet"):
            await place.run()

    async def test_what_was_left_half_made_is_dropped_by_the_next(self, place: Place) -> None:
        tables = await place.tables()
        half_made = place.running.shadow()
        await place.history.apply(half_made, [*await place.history.log.tail(0, 9)])
        assert await place.tables() != tables

        found = await place.run()

        assert found.kept == "equal"
        assert await place.tables() == tables

    async def test_rows_are_compared_in_pages(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While one side lacks rows, the other adds some, and the views move on."""
        monkeypatch.setattr("cs.projections.rebuild.ROWS", 2)
        await place.execute("DELETE FROM {searches} WHERE id <> 's-live'")
        await place.execute(HARM["added"][0])

        found = await place.run()

        rows = await place.history.replayed()
        assert found.different == {"searches": len(rows["searches"]) - 1, "returned": 1}
        assert found.rows["returned"] == len(rows["returned"]) + 1
        assert await place.is_as_the_log_says()

    async def test_nobody_is_shown_in_a_difference(self, place: Place) -> None:
        await place.execute("DELETE FROM {results}")

        found = await place.run(switch=False)

        shown = msgspec.json.encode(found)
        assert b"Ada" not in shown
        assert b"sealed" not in shown
        assert all(isinstance(each, RowDifference) for each in found.differences)


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


class ViewVersionsContract:
    """Inherit with `ViewRebuildContract`'s fixture ``place``."""

    async def test_a_new_version_is_made_next_to_the_one_that_is_read(
        self, place: Place
    ) -> None:
        history, before = place.history, await place.history.rows(place.running)
        async with place.opened(newer()) as new:
            await history.apply(new, [*await history.log.tail(0, 4)])

            assert await new.position() == 4
            assert await history.rows(place.running) == before
            await place.more("key-meanwhile")
            await history.runner(new).catch_up()
            await new.retire()

            assert await history.rows(new) == await history.replayed()
            assert await place.is_as_the_log_says()

    async def test_a_build_that_was_cut_short_goes_on_where_it_was(self, place: Place) -> None:
        async with place.opened(newer()) as new:
            await place.history.apply(new, [*await place.history.log.tail(0, 9)])
        applied = list[int]()
        async with place.opened(newer(applied)) as new:
            await place.history.runner(new).catch_up()

            assert await place.history.rows(new) == await place.history.replayed()
        assert min(applied) >= 10

    async def test_tables_that_nobody_used_for_the_grace_are_dropped(
        self, place: Place
    ) -> None:
        one = len(await place.tables())
        async with place.opened(newer()) as new:
            await place.history.runner(new).catch_up()
            assert len(await place.tables()) > one
        place.running._grace_s = -1.0
        await place.running.retire()

        assert len(await place.tables()) == one
        assert await place.is_as_the_log_says()

    async def test_a_version_whose_tables_were_dropped_begins_again(self, place: Place) -> None:
        async with place.opened(newer(), grace_s=-1.0) as new:
            await new.position()
            await new.retire()

        with pytest.raises(LogUnavailable, match="rebuilt"):
            await place.running.get(SEARCHES, "s-done", 1)
        await place.history.runner(place.running).catch_up()

        assert await place.is_as_the_log_says()


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
