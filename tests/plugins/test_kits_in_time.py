"""The kits for sources and verifiers fail a plug-in that never answers or blocks the loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from cs.plugins.contracts import kit
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.contracts.people_source import PeopleSourceCase, PeopleSourceContract
from cs.plugins.contracts.verifier import VerifierCase, VerifierContract
from cs.plugins.sources import BrandAnswer, BrandFacts, PeopleAnswer, Query, SourceStatus
from cs.plugins.verifiers import DomainFacts, Evidence, Verdict

ACME = BrandFacts(name="Acme", domain="acme.test")


async def _never() -> None:
    await asyncio.Event().wait()


async def _blocks() -> None:
    time.sleep(0.5)  # noqa: ASYNC251  that is what is wrong with it


class Wrong:
    """A source of either kind, and a verifier, that wait as the test says."""

    name, cost = "wrong", 0

    def __init__(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._wait = wait

    async def find(self, asked: object, *_: Any, **__: Any) -> Any:
        await self._wait()
        kind = BrandAnswer if isinstance(asked, Query) else PeopleAnswer
        return kind(source=self.name, ended=SourceStatus.NO_RESULTS)

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[Any]:
        del mail_domain
        self.learned = known
        yield self

    async def check(self, address: str) -> Evidence:
        await self._wait()
        now = datetime.now(UTC)
        return Evidence(
            address=address, verdict=Verdict.UNKNOWN, reason="r", verifier=self.name, at=now
        )


@pytest.mark.parametrize(
    ("wait", "said"), [(_never, "did not answer"), (_blocks, "blocked the event loop")]
)
@pytest.mark.parametrize("kind", ["brand", "people", "verifier"])
async def test_one_that_never_answers_or_blocks_the_loop_fails_the_kit(
    kind: str,
    wait: Callable[[], Awaitable[None]],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kit, "TEST_S", 1.5)
    monkeypatch.setattr(kit, "BLOCKED_S", 0.3)
    with pytest.raises(AssertionError, match=said):
        await tried(kind, Wrong(wait))


async def tried(kind: str, wrong: Any) -> None:
    match kind:
        case "brand":
            brand = BrandSourceCase(wrong, Query("Acme"), Query("None"), ())
            await BrandSourceContract().test_what_it_does_not_know_is_no_result(brand)
        case "people":
            people = PeopleSourceCase(wrong, ACME, ACME, ())
            await PeopleSourceContract().test_what_it_does_not_know_is_no_result(people)
        case _:
            at = "acme.test"
            verifier = VerifierCase(wrong, at, f"jo@{at}", f"no@{at}", at)
            await VerifierContract().test_no_answer_is_unknown_and_never_raises(verifier)
