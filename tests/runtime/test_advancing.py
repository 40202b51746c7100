"""Moving the clock of a whole service: what happens on the way, and what must not."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cs.domain.brand.events import AttemptFailed, LookupFinished, StageIssued
from harness.sandbox import Sandbox, sandbox_of

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


@pytest.fixture
async def sandbox(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    """A service whose one mail server behaves as the test's parameter says."""
    verified = ["ida.nyman@solbrook.test"] if request.param["kind"] == "greylisting" else []
    intends = {"outcome": "done" if verified else "no_emails", "verified": verified}
    world = {
        "brands": [{**BRAND, "intends": intends}],
        "mail": [{"domain": "solbrook.test", "behaviour": request.param}],
    }
    async with sandbox_of(world, tmp_path) as sandbox:
        yield sandbox


silent = pytest.mark.parametrize("sandbox", [{"kind": "silent"}], indirect=True)
greylisting = pytest.mark.parametrize(
    "sandbox", [{"kind": "greylisting", "hint_s": 90}], indirect=True
)


@greylisting
async def test_a_retry_happens_when_it_is_due_and_not_before(sandbox: Sandbox) -> None:
    await sandbox.search("Solbrook")
    await sandbox.advance(0 * SECOND)
    [failed] = [e for e in await sandbox.events() if isinstance(e, AttemptFailed)]
    assert failed.retry_at is not None
    left = failed.retry_at - sandbox.now()
    await sandbox.advance(left - 5 * SECOND)
    before = [e for e in await sandbox.events() if isinstance(e, LookupFinished)]
    await sandbox.advance(3600 * SECOND)
    [finished] = [e for e in await sandbox.events() if isinstance(e, LookupFinished)]

    assert before == []
    assert finished.outcome == "done"
    # When the retry was due, not when the hour was over.
    assert failed.retry_at <= finished.at < failed.retry_at + 20 * SECOND


@greylisting
async def test_what_is_due_counts_before_anybody_sleeps_for_it(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep_until = sandbox.clock.sleep_until

    async def lazily(when: datetime) -> None:
        for _ in range(1_000):
            await asyncio.sleep(0)
        await sleep_until(when)

    monkeypatch.setattr(sandbox.clock, "sleep_until", lazily)
    await sandbox.search("Solbrook")
    await sandbox.advance(3600 * SECOND)
    [finished] = [e for e in await sandbox.events() if isinstance(e, LookupFinished)]

    assert finished.outcome == "done"


@pytest.mark.slow
@silent
async def test_silence_goes_by_real_time_and_work_in_real_time_does_not_keep_the_clock(
    sandbox: Sandbox,
) -> None:
    await sandbox.search("Solbrook")
    await sandbox.until(StageIssued, "verification")
    before = sandbox.now()
    await sandbox.advance(30 * SECOND)
    await sandbox.advance(30 * SECOND)
    issued = [e for e in await sandbox.events() if isinstance(e, StageIssued)]
    await sandbox.advance(65 * SECOND)
    [finished] = [e for e in await sandbox.events() if isinstance(e, LookupFinished)]

    assert [e.attempt for e in issued if e.stage == "verification"] == [1]
    assert not any(e.after_silence for e in issued)
    assert sandbox.now() >= before + timedelta(seconds=125)
    assert finished.outcome == "timeout"


@silent
async def test_two_callers_that_move_the_clock_take_turns(sandbox: Sandbox) -> None:
    before = sandbox.now()
    await asyncio.gather(sandbox.advance(3600 * SECOND), sandbox.advance(3600 * SECOND))

    now = sandbox.now()
    assert now >= before + timedelta(hours=2)
    with pytest.raises(ValueError, match="is more than 3660 days ahead"):
        await sandbox.advance(timedelta(days=3660) + SECOND)
    assert sandbox.now() < now + timedelta(minutes=1), "too far moves nothing"
