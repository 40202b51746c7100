"""Who is known of too long ago is forgotten as time goes by, also after it was away."""

import asyncio
from datetime import UTC, date, datetime, timedelta

from contracts.people_directory import ADA, BEN, KEY, put
from cs.directory.store import EVERY, DirectoryUnavailable, forget_old_people
from harness.manual_clock import ManualClock
from harness.memory_directory import MemoryDirectory

AT = datetime(2026, 11, 2, 12, tzinfo=UTC)
KEPT_FOR = timedelta(days=60)


class Watched(MemoryDirectory):
    """Says when nobody old is left; first it is away, then fails as nobody thought it would."""

    def __init__(self) -> None:
        super().__init__(KEY)
        self.looked = asyncio.Queue[str]()
        self.fails: list[Exception] = [
            DirectoryUnavailable("the disk is full"),
            RuntimeError("permission denied for schema public"),
        ]

    async def forget_before(self, day: date) -> int:
        if self.fails:
            self.looked.put_nowait("failed")
            raise self.fails.pop(0)
        gone = await super().forget_before(day)
        if not gone:
            self.looked.put_nowait(f"{(await self.status()).people} left")
        return gone


async def test_people_go_once_they_are_too_old_and_not_before() -> None:
    directory, clock = Watched(), ManualClock(AT)
    await put(directory, ADA, BEN)  # of the first and of the third of November

    async with asyncio.timeout(10), forget_old_people(directory, clock, KEPT_FOR):
        told = [await directory.looked.get()]
        for now in (AT + EVERY, AT + 2 * EVERY, AT + KEPT_FOR, AT + 2 * KEPT_FOR):
            clock.set(now)
            told.append(await directory.looked.get())

    assert told == ["failed", "failed", "2 left", "1 left", "0 left"]
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "ageing-directory"]
