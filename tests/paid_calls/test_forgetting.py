import asyncio

from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.forgetting import forget_expired_calls
from cs.paid_calls.memory import MemoryCalls
from cs.paid_calls.port import PAGE, PaidCall


class Counting(MemoryCalls):
    """Notes what was forgotten each time, and is away the first time it is asked."""

    def __init__(self) -> None:
        self.seconds = 0.0
        super().__init__(lambda: self.seconds)
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
    calls = Counting()
    for number in range(PAGE + 5):
        await calls.begin(PaidCall(f"brand-a.{number}", "acme", b""), lease_s=1, again=False)
    calls.seconds = 3601

    async with forget_expired_calls(calls, every_s=0.01), asyncio.timeout(10):
        await calls.idle.wait()

    assert calls.went[:4] == [0, PAGE, 5, 0]


async def test_forgetting_ends_with_whoever_uses_the_register() -> None:
    calls = Counting()
    async with forget_expired_calls(calls):
        pass

    assert not [task for task in asyncio.all_tasks() if task.get_name() == "forgetting-calls"]
