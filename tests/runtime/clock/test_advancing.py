"""Moving the clock of a whole service: what happens on the way, and what must not."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from cs.admin.sandbox_clock import MOST, SandboxClock
from cs.cli.sandbox import SandboxService, sandbox_service
from cs.domain.brand.events import AttemptFailed, LookupFinished, StageIssued
from cs.domain.codec import AnyEvent
from cs.eventlog.follow import follow
from cs.sandbox.world import load

BRAND = {
    "name": "Solbrook",
    "domain": "solbrook.test",
    "linkedin": "solbrook",
    "people": [
        {
            "name": "Ida Nyman",
            "headline": "Head of Influencer Marketing at Solbrook",
            "mailbox": "ida.nyman",
        }
    ],
}
SECOND = timedelta(seconds=1)


class Sandbox:
    """A service in a world of one brand, and what its log says."""

    def __init__(self, running: SandboxService) -> None:
        self.running = running
        self.clock = running.clock

    async def search(self) -> None:
        key = (await self.running.operator.create_key("test", 5)).key
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=self.running.base_url) as client:
            answer = await client.post("/contacts", json={"brand": "Solbrook"}, headers=headers)
        answer.raise_for_status()

    async def advance(self, seconds: float) -> None:
        await self.running.clock_advancer.advance(timedelta(seconds=seconds))

    async def events(self) -> list[AnyEvent]:
        return [r.event for r in await self.running.service.streams.log.tail(0, 10_000)]

    async def until(self, kind: type[Any], stage: str) -> None:
        async with asyncio.timeout(30):
            async for page in follow(self.running.service.streams.log, 0):
                for recorded in page:
                    event = recorded.event
                    if isinstance(event, kind) and event.stage == stage:
                        return


@pytest.fixture
async def sandbox(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    """A service whose one mail server behaves as the test's parameter says."""
    verified = ["ida.nyman@solbrook.test"] if request.param["kind"] == "greylisting" else []
    intends = {"outcome": "done" if verified else "no_emails", "verified": verified}
    world = {
        "brands": [{**BRAND, "intends": intends}],
        "mail": [{"domain": "solbrook.test", "behaviour": request.param}],
    }
    file = tmp_path / "world.json"
    file.write_bytes(msgspec.json.encode(world))
    async with sandbox_service(load(file)) as running:
        yield Sandbox(running)


silent = pytest.mark.parametrize("sandbox", [{"kind": "silent"}], indirect=True)
greylisting = pytest.mark.parametrize(
    "sandbox", [{"kind": "greylisting", "hint_s": 90}], indirect=True
)


@greylisting
async def test_a_retry_happens_when_it_is_due_and_not_before(sandbox: Sandbox) -> None:
    await sandbox.search()
    await sandbox.advance(0)
    [failed] = [e for e in await sandbox.events() if isinstance(e, AttemptFailed)]
    assert failed.retry_at is not None
    left = failed.retry_at - sandbox.clock.now()
    await sandbox.running.clock_advancer.advance(left - 5 * SECOND)
    before = [e for e in await sandbox.events() if isinstance(e, LookupFinished)]
    await sandbox.advance(3600)
    [finished] = [e for e in await sandbox.events() if isinstance(e, LookupFinished)]

    assert before == []
    assert finished.outcome == "done"
    # When the retry was due, not when the hour was over.
    assert failed.retry_at <= finished.at < failed.retry_at + 20 * SECOND


@greylisting
async def test_what_is_due_counts_before_anybody_sleeps_for_it(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep_until = SandboxClock.sleep_until

    async def lazily(clock: SandboxClock, when: datetime) -> None:
        for _ in range(1_000):
            await asyncio.sleep(0)
        await sleep_until(clock, when)

    monkeypatch.setattr(SandboxClock, "sleep_until", lazily)
    await sandbox.search()
    await sandbox.advance(3600)
    [finished] = [e for e in await sandbox.events() if isinstance(e, LookupFinished)]

    assert finished.outcome == "done"


@pytest.mark.slow
@silent
async def test_silence_is_measured_in_real_time(sandbox: Sandbox) -> None:
    await sandbox.search()
    await sandbox.until(StageIssued, "verification")
    await sandbox.advance(30)
    await sandbox.advance(30)
    issued = [e for e in await sandbox.events() if isinstance(e, StageIssued)]

    assert [e.attempt for e in issued if e.stage == "verification"] == [1]
    assert not any(e.after_silence for e in issued)


@pytest.mark.slow
@silent
async def test_work_that_waits_for_real_time_does_not_keep_the_clock(sandbox: Sandbox) -> None:
    await sandbox.search()
    await sandbox.until(StageIssued, "verification")
    before = sandbox.clock.now()
    await sandbox.advance(125)
    [finished] = [e for e in await sandbox.events() if isinstance(e, LookupFinished)]

    assert sandbox.clock.now() >= before + timedelta(seconds=125)
    assert finished.outcome == "timeout"


@silent
async def test_two_who_move_the_clock_take_turns(sandbox: Sandbox) -> None:
    before = sandbox.clock.now()
    await asyncio.gather(sandbox.advance(3600), sandbox.advance(3600))

    now = sandbox.clock.now()
    assert now >= before + timedelta(hours=2)
    with pytest.raises(ValueError, match="is more than 3660 days ahead"):
        await sandbox.running.clock_advancer.advance(MOST + SECOND)
    assert sandbox.clock.now() < now + timedelta(minutes=1), "too far moves nothing"
