"""The parts that all kits use: a time limit for each test, and hostile names."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cs.domain.stages.limits import check
from cs.plugins.sources import INCONCLUSIVE, SourceStatus

C = TypeVar("C", bound=type)

#: How long one test of a contract may take; the outside of its plug-in is a stand-in.
TEST_S = 60.0
#: How long a plug-in may keep the event loop from everything else.
BLOCKED_S = 1.0
_EVERY_S = 0.05
#: As a brand may be named by a caller, a web page or a stage of another make.
HOSTILE_NAMES = (
    "jane@exämple..de",
    "a\0b",
    "\u202eevil\u2066",
    "\x9b31m",
    "<script>alert(1)</script>",
    "!!g :de <1 ?x",
    "=cmd()",
    "x" * 120,
    " ",
)


def in_time(contract: C) -> C:
    """Give every test of *contract* a time limit, and have it watch the event loop."""
    for name, test in list(vars(contract).items()):
        if name.startswith("test_") and inspect.iscoroutinefunction(test):
            setattr(contract, name, _watched(test))
    return contract


def _watched(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def run(*given: Any, **named: Any) -> None:
        gaps = [0.0]
        watching = asyncio.create_task(_watch(gaps))
        await asyncio.sleep(0)  # so that it is watched from its first step
        running = asyncio.ensure_future(test(*given, **named))
        try:
            await asyncio.wait({running}, timeout=TEST_S)
            await asyncio.sleep(_EVERY_S)  # for the last gap
        finally:
            watching.cancel()
            running.cancel()
        assert running.done(), f"it did not answer within {TEST_S:g} s"
        running.result()
        assert max(gaps) < BLOCKED_S, (
            f"it blocked the event loop for {max(gaps):.1f} s; what blocks goes to a thread: "
            "asyncio.to_thread"
        )

    return run


async def _watch(gaps: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        before, waited_s = loop.time(), _waited_for_processor_s()
        await asyncio.sleep(_EVERY_S)
        busy_s = _waited_for_processor_s() - waited_s  # of a machine with much else to do
        gaps.append(loop.time() - before - _EVERY_S - busy_s)


def _waited_for_processor_s() -> float:
    """Return how long this thread has waited for a processor; 0 where that is unknown."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


@in_time
class SourceContract:
    """The rules for every source, of brands or of people: the base of their contracts."""

    pytestmark = pytest.mark.asyncio

    async def ask(self, source: Any, asked: Any) -> Any:
        """Return the answer of *source* about what a case asks."""
        raise NotImplementedError

    def found(self, answer: Any) -> Any:
        """Return what *answer* names."""
        raise NotImplementedError

    def hostile(self, case: Any, name: str) -> Iterable[Any]:
        """Return what a case asks, with the hostile *name* in it."""
        raise NotImplementedError

    async def test_what_it_knows_is_used(self, case: Any) -> None:
        answer = await self.ask(case.source, case.known)

        assert answer.source == case.source.name, "an answer names the source that gave it"
        assert answer.ended is SourceStatus.USED, f"something found: USED ({answer.why})"
        assert self.found(answer), "USED means that something was found"

    async def test_what_it_does_not_know_is_no_result(self, case: Any) -> None:
        answer = await self.ask(case.source, case.unknown)

        assert (answer.ended, self.found(answer)) == (SourceStatus.NO_RESULTS, ()), (
            f"a service that knows nothing of it: NO_RESULTS, nothing found ({answer.why})"
        )

    async def test_no_name_makes_it_raise_or_answer_what_no_message_may_hold(
        self, case: Any
    ) -> None:
        for name in HOSTILE_NAMES:
            for asked in self.hostile(case, name):
                answer = await self.ask(case.source, asked)

                assert answer.source == case.source.name, f"asked for the brand {name!r}"
                check(self.found(answer))

    async def test_what_it_answers_is_what_a_message_may_hold(self, case: Any) -> None:
        check(self.found(await self.ask(case.source, case.known)))

    async def test_asked_twice_it_answers_the_same(self, case: Any) -> None:
        first = await self.ask(case.source, case.known)
        second = await self.ask(case.source, case.known)

        assert first == second, "everything may happen twice: the same answer, in that order"

    async def test_a_service_out_of_order_is_never_an_empty_answer(self, case: Any) -> None:
        for state, source in case.broken.items():
            answer = await self.ask(source, case.known)

            allowed = INCONCLUSIVE | {SourceStatus.NOT_CONFIGURED}
            assert answer.ended in allowed, f"{state}: FAILED or RATE_LIMITED, never an answer"
            assert self.found(answer) == (), (
                f"{state}: it names something that the service did not"
            )
            assert answer.why, f"{state}: `why` tells the operator what is wrong"
            assert (answer.retry_in_s or 0) >= 0, f"{state}: seconds from now, or None"
