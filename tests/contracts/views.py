"""What views do, wherever they keep their rows."""

import asyncio
import json
from typing import Any

import pytest

from cs.eventlog.port import LogUnavailable, RecordedEvent
from cs.eventlog.sealing import open_bytes
from cs.projections.brands import BRANDS
from cs.projections.folding import sealer
from cs.projections.returned import RETURNED
from cs.projections.runner import ViewRunner
from cs.projections.searches import RESULTS, SEARCHES, ResultRow
from cs.projections.set_aside import ASIDE
from cs.projections.source_weeks import WEEK
from cs.projections.table import Table
from cs.projections.usage import USAGE
from cs.projections.views import Views
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from projections.history import LIVE, write

EVERY: tuple[Table[Any], ...] = (SEARCHES, USAGE, BRANDS, RETURNED, WEEK, RESULTS, ASIDE)


class History:
    """A log in which everything has happened that views tell of."""

    def __init__(self) -> None:
        self.keys = MemoryKeyStore()
        self.log = MemoryEventLog(self.keys)

    def runner(self, views: Views) -> ViewRunner:
        return ViewRunner(self.log, views, self.keys)

    async def apply(
        self, views: Views, page: list[RecordedEvent], epoch: int | None = None
    ) -> int:
        return await views.apply(page, await sealer(self.keys, page), epoch)

    async def rows(self, views: Views) -> dict[str, dict[str, Any]]:
        """Return every row of every table, sealed contacts opened."""
        return {t.name: await self._plain(dict(await views.all(t))) for t in EVERY}

    async def replayed(self) -> dict[str, dict[str, Any]]:
        """Return the rows that one event after another gives, in memory."""
        found: dict[str, dict[str, Any]] = {table.name: {} for table in EVERY}
        for recorded in await self.log.tail(0, 1_000_000):
            seal = await sealer(self.keys, [recorded])
            for table in EVERY:
                if type(recorded.event) in table.reads and (key := table.key(recorded)):
                    rows = found[table.name]
                    row = table.fold(rows.get(key), recorded)
                    if row is not None and row is not rows.get(key):
                        rows[key] = table.sealed(row, seal)
        return {table: await self._plain(rows) for table, rows in found.items()}

    async def _plain(self, rows: dict[str, Any]) -> dict[str, Any]:
        return {row_id: await self._opened(rows[row_id]) for row_id in sorted(rows)}

    async def _opened(self, row: Any) -> Any:
        if not isinstance(row, ResultRow):
            return row
        key = (await self.keys.find([row.key]))[row.key]
        return (row.head, row.key, json.loads(open_bytes(key, row.key, row.sealed)))


async def all_rows(views: Views) -> list[Any]:
    return [row for table in EVERY for row in await views.all(table)]


def wakes_by_commits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no poll wake a reader of views in time."""
    monkeypatch.setattr("cs.projections.sqlite.LOOK_S", 60.0)
    monkeypatch.setattr("cs.projections.postgres.POLL_S", 60.0)


class ViewsContract:
    """Inherit, and give a fixture ``views``, empty views of all projections."""

    @pytest.fixture
    async def history(self) -> History:
        history = History()
        await write(history.log)
        return history

    # Pages.

    @pytest.mark.parametrize("page", [1, 2, 7, 500])
    async def test_however_the_log_is_cut_the_rows_are_those_of_a_replay(
        self, views: Views, history: History, page: int
    ) -> None:
        while events := await history.log.tail(await views.position(), page):
            await history.apply(views, [*events])

        assert await views.position() == await history.log.head()
        assert await history.rows(views) == await history.replayed()

    async def test_pages_applied_again_change_nothing(
        self, views: Views, history: History
    ) -> None:
        events = [*await history.log.tail(0)]
        await history.apply(views, events)
        before = await history.rows(views)

        for start in range(0, len(events), 5):
            assert await history.apply(views, events[start:]) == len(events)

        assert await history.rows(views) == before

    async def test_a_page_that_leaves_a_gap_is_left_alone(
        self, views: Views, history: History
    ) -> None:
        events = [*await history.log.tail(0)]
        await history.apply(views, events[:3])

        assert await history.apply(views, events[4:]) == 3

        assert await views.position() == 3

    async def test_views_that_were_reset_are_rebuilt(
        self, views: Views, history: History
    ) -> None:
        await history.runner(views).catch_up()
        before = await history.rows(views)

        await views.reset()
        assert await views.position() == 0
        assert (await views.checkpoint()).last_event == ""
        assert await all_rows(views) == []
        await history.runner(views).catch_up()

        assert await history.rows(views) == before

    async def test_two_runners_at_once_give_the_rows_of_one(
        self, views: Views, history: History
    ) -> None:
        runners = [history.runner(views) for _ in range(2)]
        await asyncio.gather(*(runner.catch_up() for runner in runners))

        assert await history.rows(views) == await history.replayed()

    # Reading.

    async def test_rows_are_found_by_id_and_by_tag(
        self, views: Views, history: History
    ) -> None:
        await history.runner(views).catch_up()

        row = await views.get(SEARCHES, "s-live")
        assert row is not None
        assert row.status == "running"
        assert await views.tagged(SEARCHES, "running") == [("s-live", row)]
        assert [row_id for row_id, _ in await views.tagged(BRANDS, "live")] == [LIVE]
        assert await views.tagged(SEARCHES, "walking") == []
        ids = [row_id for row_id, _ in await views.all(SEARCHES)]
        assert ids == sorted(ids)

    async def test_ids_are_found_by_any_of_some_tags(
        self, views: Views, history: History
    ) -> None:
        """One key had its secret rotated, one was revoked: what is left opens the first."""
        runner = history.runner(views)
        await runner.catch_up()
        (key_id, row), *_ = [each for each in await views.all(USAGE) if not each[1].revoked]
        assert row.secret_hash == "h2", "the history rotates it"

        assert await views.ids_tagged(USAGE, ["h1", "h2", "'"]) == [(key_id, "h2")]
        assert await views.ids_tagged(USAGE, ["h1"]) == []
        assert await views.ids_tagged(USAGE, []) == []

    @pytest.mark.parametrize("row_id", ["", "a\0b", "s-done ", "'", "😀" * 2_000])
    async def test_an_id_that_a_caller_made_up_is_found_nowhere(
        self, views: Views, history: History, row_id: str
    ) -> None:
        await history.runner(views).catch_up()

        assert await views.get(SEARCHES, row_id) is None

    async def test_views_behind_what_an_answer_rests_on_do_not_answer(
        self, views: Views, history: History
    ) -> None:
        await history.runner(views).catch_up()
        head = await history.log.head()
        assert await views.get(SEARCHES, "s-done", head) is not None

        for read in (
            views.get(SEARCHES, "s-done", head + 1),
            views.tagged(SEARCHES, "running", head + 1),
            views.all(USAGE, head + 1),
            views.ids_tagged(USAGE, ["h2"], head + 1),
        ):
            with pytest.raises(LogUnavailable, match="rebuilt"):
                await read

    # Hearing of it.

    async def test_who_waits_for_a_move_wakes_at_the_commit(
        self, views: Views, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wakes_by_commits_alone(monkeypatch)
        waiting = asyncio.create_task(views.moved(0))
        await asyncio.wait([waiting], timeout=0.05)
        assert not waiting.done()

        async with asyncio.timeout(20):
            await history.apply(views, [*await history.log.tail(0, 3)])
            assert await waiting == 3

    async def test_a_move_that_was_made_is_reported_at_once_and_one_back_after_a_second(
        self, views: Views, history: History
    ) -> None:
        await history.apply(views, [*await history.log.tail(0, 3)])
        async with asyncio.timeout(20):
            assert await views.moved(2) == 3

        await views.reset()

        async with asyncio.timeout(5):
            assert await views.moved(3) == 0
