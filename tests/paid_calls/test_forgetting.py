import asyncio
from collections.abc import Callable

from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.register import PAGE, CallRegister, PaidCall, forget_expired_calls
from cs.runtime.sql import Database


class Counting(CallRegister):
    """Notes what was forgotten each time, and is away the first time it is asked."""

    def __init__(self, database: Database, key: Callable[[], bytes]) -> None:
        super().__init__(database, key)
        self.went: list[int] = []
        self.idle = asyncio.Event()

    async def forget_old(self) -> int:
        if not self.went:
            self.went.append(0)
            raise CallsUnavailable("away")
        self.went.append(await super().forget_old())
        if self.went[-1] == 0:
            self.idle.set()
        return self.went[-1]


async def test_old_calls_go_a_page_at_a_time_also_after_the_register_was_away() -> None:
    calls = Counting.in_file(None, lambda: bytes(32))
    for number in range(PAGE + 5):
        await calls.begin(PaidCall(f"brand-a.{number}", "acme", b""), lease_s=1, again=False)
    await calls._database.fetch("UPDATE calls SET begun_at = begun_at - 3601")

    async with forget_expired_calls(calls, every_s=0.01), asyncio.timeout(10):
        await calls.idle.wait()

    assert calls.went[:4] == [0, PAGE, 5, 0]
