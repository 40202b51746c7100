import pytest

from contracts.call_register import CallRegisterContract
from cs.paid_calls.memory import MemoryCalls
from cs.paid_calls.port import CallRegister


class Hand:
    """Seconds that stand still until they are moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


HAND = Hand()


@pytest.fixture
def calls() -> MemoryCalls:
    return MemoryCalls(HAND)


class TestMemoryCalls(CallRegisterContract):
    async def an_hour_later(self, calls: CallRegister) -> None:
        del calls
        HAND.seconds += 3601
