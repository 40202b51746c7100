import asyncio

from cs.runtime.broadcast import Broadcast


async def test_everybody_who_waits_is_woken_and_who_comes_later_is_not() -> None:
    broadcast = Broadcast()
    waiting = [asyncio.create_task(broadcast.wait()) for _ in range(3)]
    await asyncio.wait(waiting, timeout=0.01)
    broadcast.notify_all()
    later = asyncio.create_task(broadcast.wait())

    async with asyncio.timeout(5):
        await asyncio.gather(*waiting)
    assert not (await asyncio.wait([later], timeout=0.01))[0]
    broadcast.notify_all()
    async with asyncio.timeout(5):
        await later


async def test_what_happens_while_one_looks_is_not_missed() -> None:
    broadcast = Broadcast()
    upcoming = broadcast.upcoming()
    broadcast.notify_all()

    assert upcoming.is_set()
    assert not broadcast.upcoming().is_set()
