"""A damaged stream keeps nobody else from aging out, and its own people once it is mended."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cs.assembly.folder import FolderStores, open_folder
from cs.domain.brand.events import BrandEvent
from cs.eventlog.streams import Streams
from cs.operations.erasure import Erasure
from cs.operations.retention import MONTH, Retention
from cs.projections.runner import ViewRunner
from cs.runtime.data_folder import DataFolder
from harness.in_process import one_process
from harness.manual_clock import ManualClock
from harness.outside import ADA, BEN
from operations.erasure.service import at_zenith, outside
from system.damage.stores import state

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
MONTHS = 6


async def searched(folder: Path) -> tuple[int, bytes]:
    """Search for two brands, a person each; damage the first one's stream.

    Returns the position of the damaged event, and what it was.
    """
    clock = ManualClock(AT)
    tools = outside(acme=(ADA,), zenith=(at_zenith(BEN),))
    async with (
        open_folder(DataFolder(folder)) as data,
        one_process(data.log, data.keys, data.views, tools, clock=clock) as service,
    ):
        key = await service.new_key()
        for brand in ("Acme", "Zenith"):
            assert (await service.search(key, brand=brand)).json()["contacts"]
        events = await data.log.tail(0, 1_000)
    first = next(each for each in events if isinstance(each.event, BrandEvent))
    last = max(each.position for each in events if each.stream == first.stream)
    return last, state(folder, last, b"\xff")


def retention(data: FolderStores) -> Retention:
    clock = ManualClock(AT + MONTHS * MONTH + timedelta(days=1))
    views = ViewRunner(data.log, data.views, data.keys)
    erasure = Erasure(Streams(data.log), data.keys, clock, views.catch_up)
    return Retention(data.views, erasure, clock, months=MONTHS)


def keys_left(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "keys.db")) as db:
        query = "SELECT count(*) FROM data_key WHERE wrapped IS NOT NULL"
        return int(db.execute(query).fetchone()[0])


async def test_others_age_out_beside_a_damaged_stream_and_its_people_once_it_is_mended(
    tmp_path: Path,
) -> None:
    position, whole = await searched(tmp_path)
    every = keys_left(tmp_path)
    async with open_folder(DataFolder(tmp_path)) as data:
        aging = retention(data)
        assert await aging.round() == 2
        assert await aging.round() == 0, "what is damaged is not looked at for ever"
        assert (aging.lookups, aging.people) == (1, 1)
    left = keys_left(tmp_path)
    assert 0 < left < every

    state(tmp_path, position, whole)
    async with open_folder(DataFolder(tmp_path)) as data:
        aging = retention(data)
        assert await aging.round() == 1
        assert (aging.lookups, aging.people) == (1, 1)
        assert await aging.round() == 0
    assert keys_left(tmp_path) < left
