"""Reads that meet are made together, and none is answered with what was read before it."""

import asyncio
from collections.abc import Sequence

import pytest

from cs.eventlog.errors import DamagedEvent, LogUnavailable
from cs.eventlog.read_batches import BATCH, ReadBatches


class Store:
    """Answers a question with itself once `go` is set."""

    def __init__(self) -> None:
        self.batches: list[Sequence[str]] = []
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.error: Exception | None = None
        self.reads = ReadBatches[str, str](self.read)

    async def read(self, questions: Sequence[str]) -> Sequence[str | Exception]:
        self.batches.append(questions)
        self.begun.set()
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return [LogUnavailable("no") if each == "bad" else each for each in questions]

    def asked(self, *questions: str) -> "list[asyncio.Task[str]]":
        return [asyncio.create_task(self.reads.ask(each)) for each in questions]


async def test_what_is_asked_while_a_batch_is_read_is_the_next_batch() -> None:
    store = Store()
    first = store.asked("a", "b")
    await store.begun.wait()
    second = store.asked("c", "bad")
    store.go.set()

    assert await asyncio.gather(*first) == ["a", "b"]
    assert await second[0] == "c"
    with pytest.raises(LogUnavailable, match="no"):
        await second[1]
    assert store.batches == [["a", "b"], ["c", "bad"]]


async def test_a_batch_has_a_bound() -> None:
    store = Store()
    store.go.set()

    await asyncio.gather(*store.asked(*map(str, range(BATCH + 1))))

    assert [len(batch) for batch in store.batches] == [BATCH, 1]


async def test_who_has_gone_is_not_read_for() -> None:
    store = Store()
    (first,) = store.asked("a")
    await store.begun.wait()
    gone, stays = store.asked("b", "c")
    await asyncio.wait([gone, stays], timeout=0)
    gone.cancel()
    store.go.set()

    assert [await first, await stays] == ["a", "c"]
    assert store.batches == [["a"], ["c"]]


@pytest.mark.parametrize(
    "error", [LogUnavailable("away"), DamagedEvent(1, "key-a", 0, "away"), ValueError("away")]
)
async def test_what_fails_fails_for_all_of_a_batch_and_for_no_other(error: Exception) -> None:
    store = Store()
    store.error = error
    failing = store.asked("a", "b")
    await store.begun.wait()
    store.go.set()

    for each in failing:
        with pytest.raises(type(error) if isinstance(error, ValueError) else LogUnavailable):
            await each
    store.error = None
    assert await store.reads.ask("c") == "c"


async def test_one_batch_that_hangs_keeps_no_others_waiting() -> None:
    go = asyncio.Event()
    begun = asyncio.Event()

    async def read(questions: Sequence[str]) -> Sequence[str]:
        if "hangs" in questions:
            begun.set()
            await go.wait()
        return questions

    reads = ReadBatches[str, str](read, side_by_side=2)
    hanging = asyncio.create_task(reads.ask("hangs"))
    await begun.wait()

    assert [await reads.ask(each) for each in "abc"] == ["a", "b", "c"]
    assert not hanging.done()
    go.set()
    assert await hanging == "hangs"
    assert await reads.ask("d") == "d"


async def test_an_answer_that_nobody_waits_for_any_more_is_told() -> None:
    go, unheard = asyncio.Event(), list[tuple[str, str]]()

    async def read(questions: Sequence[str]) -> Sequence[str | Exception]:
        await go.wait()
        return [ValueError(each) if each == "bad" else each.upper() for each in questions]

    reads = ReadBatches[str, str](read, unheard=lambda *told: unheard.append(told))
    first = asyncio.create_task(reads.ask("first"))
    bad = asyncio.create_task(reads.ask("bad"))
    other = asyncio.create_task(reads.ask("other"))
    await asyncio.wait({first}, timeout=0)
    first.cancel()
    bad.cancel()
    go.set()

    assert await other == "OTHER"
    assert unheard == [("first", "FIRST")]
