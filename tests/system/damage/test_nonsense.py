"""What nobody can have written is tried ever more rarely, and never given up."""

import pytest

from cs.domain.codec import encode
from cs.eventlog.damage import MOST_S, DamagedStreams
from cs.eventlog.errors import DamagedEvent
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from projections.history import admitted, issued
from system.damage.stores import append

ROUND_S = 5.0
HOUR = range(int(3600 / ROUND_S))


class Seconds:
    """A monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Taker:
    """Takes up what is mended, and finds that it makes no sense."""

    def __init__(self, log: MemoryEventLog) -> None:
        self.seconds = Seconds()
        self.set_aside = DamagedStreams(log, self.seconds)
        self.finds: Exception | None = DamagedEvent(2, "key-a", 1, "makes no sense")
        self.tried_at: list[float] = []

    async def take_up(self, _: DamagedEvent) -> None:
        self.tried_at.append(self.seconds.now)
        if self.finds is not None:
            raise self.finds

    async def looks(self) -> None:
        self.seconds.now += ROUND_S
        with self.set_aside.on_mended(self.take_up):
            await self.set_aside.look()


@pytest.fixture
async def log() -> MemoryEventLog:
    log = MemoryEventLog(MemoryKeyStore())
    await append(log, "key-a", issued(), admitted("s-a", "brand-a.1"), issued())
    return log


@pytest.fixture
def taker(log: MemoryEventLog) -> Taker:
    taker = Taker(log)
    taker.set_aside.note(DamagedEvent(2, "key-a", 1, "makes no sense"))
    return taker


async def test_nonsense_is_taken_up_ever_more_rarely_but_always_again(taker: Taker) -> None:
    for _ in HOUR:
        await taker.looks()
        assert "key-a" in taker.set_aside

    waits = [b - a for a, b in zip(taker.tried_at, taker.tried_at[1:], strict=False)]
    assert waits[:6] == [5, 10, 20, 40, 80, 160]
    assert set(waits[6:]) == {MOST_S}
    assert 3600 - taker.tried_at[-1] <= MOST_S


@pytest.mark.parametrize("position", [1, 2, 3], ids=["before", "it", "behind"])
async def test_it_is_taken_up_at_once_when_what_is_stored_there_changes(
    taker: Taker, log: MemoryEventLog, position: int
) -> None:
    for _ in HOUR:
        await taker.looks()
    before = len(taker.tried_at)
    taker.finds = None

    log.spoil(position, encode(admitted("s-b", "brand-b.1") if position == 2 else issued(7)))
    await taker.looks()

    assert len(taker.tried_at) == before + 1
    assert taker.set_aside.why is None


async def test_who_notes_a_senseless_stream_again_has_it_taken_up_no_sooner(
    taker: Taker,
) -> None:
    """The views may pass over what whoever takes it up can follow."""
    taker.finds = None
    for _ in HOUR:
        taker.set_aside.note(DamagedEvent(2, "key-a", 1, "makes no sense"))
        await taker.looks()

    assert len(taker.tried_at) < 20
