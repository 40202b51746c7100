"""What views of several versions do in one place, wherever they keep their rows."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest

from contracts.views import History
from cs.domain.codec import AnyEvent
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.projections.catalogue import projections
from cs.projections.generation import NO_COPIES
from cs.projections.port import Views
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows
from harness.memory_log import MemoryEventLog
from projections.history import issued, write

Opened: TypeAlias = Callable[[Sequence[Projection]], AbstractAsyncContextManager[Views]]

NAMES = [projection.name for projection in projections()]
#: One after another, and all at once.
CHANGES = pytest.mark.parametrize("changed", [*([name] for name in NAMES), NAMES])


class Spied:
    """A projection that remembers at which positions it was applied."""

    def __init__(self, projection: Projection, version: int) -> None:
        self.name, self.version = projection.name, version
        self.tables = projection.tables
        self.reads = None
        self.applied: list[int] = []
        self._projection = projection

    def apply(self, rows: Rows, recorded: RecordedEvent, seal: SealBody) -> None:
        self.applied.append(recorded.position)
        self._projection.apply(rows, recorded, seal)


def upgraded(*changed: str) -> list[Spied]:
    """Return the projections as the next version has them, with *changed* ones."""
    return [Spied(each, each.version + 100 * (each.name in changed)) for each in projections()]


async def more(history: History) -> None:
    await history.log.append([Append("key-more", NO_STREAM, [issued(), issued()])])


async def cut_short(views: Views, history: History, upto: int) -> None:
    """Begin with copies, and end before all of them are reached."""
    (other, *_) = await views.others()
    assert (await views.copy_from(other)).position > upto
    await history.apply(views, [*await history.log.tail(0, upto)])


class ViewGenerationsContract:
    """Inherit, and give a fixture ``opened``, which opens views in one and the same place."""

    @pytest.fixture
    async def history(self) -> History:
        history = History()
        await write(history.log)
        return history

    @CHANGES
    async def test_only_what_changed_is_made_anew(
        self, opened: Opened, history: History, changed: list[str]
    ) -> None:
        async with opened(projections()) as old:
            await history.runner(old).catch_up()
        upto = await history.log.head()
        await more(history)
        versions = upgraded(*changed)

        async with opened(versions) as new:
            await history.runner(new).catch_up()

            assert await new.position() == await history.log.head()
            assert await history.rows(new) == await history.replayed()
        for each in versions:
            applied = set(each.applied)
            everything = set(range(1, upto + 3))
            assert applied == (everything if each.name in changed else {upto + 1, upto + 2})

    async def test_the_old_ones_answer_and_move_while_the_new_ones_are_built(
        self, opened: Opened, history: History
    ) -> None:
        async with opened(projections()) as old, opened(upgraded("brands")) as new:
            await history.runner(old).catch_up()
            before = await history.rows(old)

            await cut_short(new, history, 7)
            assert (await old.position(), await new.position()) == (
                await history.log.head(),
                7,
            )
            assert await history.rows(old) == before
            await more(history)
            await history.runner(old).catch_up()
            moved = await history.rows(old)
            await history.runner(new).catch_up()

            assert moved == await history.replayed()
            assert await history.rows(new) == moved
            assert await history.rows(old) == moved

    @pytest.mark.parametrize("upto", [1, 9, 20])
    async def test_building_that_was_cut_short_goes_on_where_it_was(
        self, opened: Opened, history: History, upto: int
    ) -> None:
        async with opened(projections()) as old:
            await history.runner(old).catch_up()
        async with opened(upgraded("usage")) as new:
            await cut_short(new, history, upto)
        versions = upgraded("usage")

        async with opened(versions) as new:
            assert await new.position() == upto
            await history.runner(new).catch_up()

            assert await history.rows(new) == await history.replayed()
        applied = {each.name: each.applied for each in versions}
        assert min(applied["usage"]) == upto + 1
        assert applied["searches"] == []

    async def test_who_died_between_the_copies_and_the_first_page_goes_on(
        self, opened: Opened, history: History
    ) -> None:
        async with opened(projections()) as old:
            await history.runner(old).catch_up()
        async with opened(upgraded("usage")) as new:
            (other, *_) = await new.others()
            assert (await new.copy_from(other)).position

        versions = upgraded("usage")
        async with opened(versions) as new:
            assert await new.position() == 0
            assert await new.copy_from(other) == NO_COPIES
            await history.runner(new).catch_up()

            assert await history.rows(new) == await history.replayed()
        assert {each.name: each.applied for each in versions}["searches"] == []

    async def test_rows_told_ahead_count_nothing_twice(
        self, opened: Opened, history: History
    ) -> None:
        async with opened(projections()) as old, opened(upgraded("brands")) as new:
            await history.runner(old).catch_up()
            await cut_short(new, history, 5)
            page = [*await history.log.tail(5)]
            seal: Any = lambda name, body: name.encode() + body  # noqa: E731

            ahead = await new.ahead(page, seal)

            tables = {table for table, _ in ahead}
            assert tables == {"brands"}

    async def test_nothing_is_copied_from_views_that_pass_over_a_stream(
        self, opened: Opened, history: History
    ) -> None:
        async with opened(projections()) as old:
            events: list[RecordedEvent] = [*await history.log.tail(0)]
            events[5] = UnreadableEvent(6, events[5].stream, events[5].version, None)  # type: ignore[arg-type]
            await history.apply(old, events)
        versions = upgraded("brands")

        async with opened(versions) as new:
            await history.runner(new).catch_up()

            assert await history.rows(new) == await history.replayed()
        assert min(versions[0].applied) == 1

    async def test_nothing_is_copied_from_views_that_are_not_complete(
        self, opened: Opened, history: History
    ) -> None:
        async with opened(projections()) as old:
            await history.runner(old).catch_up()
        async with opened(upgraded("usage")) as new:
            await cut_short(new, history, 3)
        async with opened(projections()) as old:
            await old.reset()
        last = upgraded("usage", "brands")

        async with opened(last) as views:
            await history.runner(views).catch_up()

            assert await history.rows(views) == await history.replayed()
        assert all(min(each.applied) == 1 for each in last)

    async def test_nothing_is_copied_from_views_of_another_log(
        self, opened: Opened, history: History
    ) -> None:
        other = History()
        first: list[AnyEvent] = [issued(quota) for quota in range(3)]
        await other.log.append([Append("key-other", NO_STREAM, first)])
        async with opened(projections()) as old:
            await other.runner(old).catch_up()
        versions = upgraded("brands")

        async with opened(versions) as new:
            await history.runner(new).catch_up()

            assert await history.rows(new) == await history.replayed()
        assert min(versions[0].applied) == 1

    async def test_copies_beyond_an_older_log_that_was_restored_are_made_anew(
        self, opened: Opened, history: History
    ) -> None:
        async with opened(projections()) as old:
            await history.runner(old).catch_up()
        older = await cut_log(history, 12)
        async with opened(upgraded("brands")) as new:
            await cut_short(new, history, 4)

            await older.runner(new).catch_up()

            assert await new.position() == 12
            assert await older.rows(new) == await older.replayed()

    async def test_a_stream_damaged_since_is_taken_up_without_counting_twice(
        self, opened: Opened, history: History
    ) -> None:
        """What the copied rows reflect of it is not applied to them again."""
        async with opened(projections()) as old, opened(upgraded("brands")) as new:
            await history.runner(old).catch_up()
            (other, *_) = await new.others()
            await new.copy_from(other)
            events: list[RecordedEvent] = [*await history.log.tail(0)]
            damaged = next(each for each in events if each.stream == "key-one" and each.version)
            at = damaged.position - 1
            passed = [*events]
            passed[at] = UnreadableEvent(
                damaged.position, damaged.stream, damaged.version, damaged.event
            )
            await history.apply(new, passed)

            runner = history.runner(new)
            await runner.catch_up()
            await runner._take_up_mended()

            rows, replayed = await history.rows(new), await history.replayed()
            del rows["aside"], replayed["aside"]
            assert rows == replayed


async def cut_log(history: History, length: int) -> History:
    """Return the first *length* events of *history* as a log, its keys shared."""
    older = History()
    older.keys = history.keys
    older.log = MemoryEventLog(history.keys)
    for recorded in await history.log.tail(0, length):
        expected = recorded.version - 1
        await older.log.append([Append(recorded.stream, expected, [recorded.event])])
    return older
