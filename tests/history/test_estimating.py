"""What runs of the past say of those to come, against a count by hand."""

import math
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from statistics import fmean, variance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.mailbox import Verdict
from cs.domain.source_cost import SourceCost, SourceFigures
from cs.domain.source_figures import WEEKS
from cs.domain.stages.work import Discovered, DomainVerified, Failed, RankingDone
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.history.estimating import PastRun, expected_uses, past_runs, spread
from cs.keystore.memory import MemoryKeyStore
from domain.acme_run import ADA, AT, BEN, HOME, RESOLVED, AcmeRun, checked, ranked
from postgres.migrated import migrated

CENT = 10_000
amounts = st.lists(st.integers(0, 1_000).map(float), min_size=1, max_size=9)


@given(amounts, st.integers(0, 500))
def test_a_spread_is_mean_and_deviation_by_hand(values: list[float], times: int) -> None:
    found = spread(values, times)

    mean, count = fmean(values), len(values)
    own = variance(values) if count > 1 else 0.0
    away = 1.2816 * math.sqrt(times * own + times**2 * own / count)
    assert found.expected == pytest.approx(times * mean, abs=1e-3)
    assert found.p10 == pytest.approx(max(times * mean - away, 0), abs=1e-3)
    assert found.p90 == pytest.approx(times * mean + away, abs=1e-3)
    assert 0 <= found.p10 <= found.expected <= found.p90


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.integers(0, 9))
def test_uses_add_up_to_the_money_of_the_runs(calls: list[tuple[int, int]], times: int) -> None:
    def figures(name: str, count: int) -> tuple[SourceFigures, ...]:
        one = SourceFigures(stage="verification", name=name, calls=count, micros=count * CENT)
        return (one,) if count else ()

    runs = [
        PastRun(
            took_s=1.0,
            verified=True,
            recorded=True,
            figures=(*figures("a", a), *figures("b", b)),
        )
        for a, b in calls
    ]
    uses = {use.name: use for use in expected_uses(runs, times, 1_000_000)}

    for place, name in enumerate("ab"):
        total = sum(each[place] for each in calls)
        assert (name in uses) == (total > 0)
        if total:
            mean = times * total / len(calls)
            assert uses[name].calls.expected == pytest.approx(mean, abs=1e-3)
            assert uses[name].usd.expected == pytest.approx(mean / 100, abs=1e-3)


def paid(name: str, calls: int) -> tuple[SourceCost, ...]:
    return (SourceCost(name=name, asked=calls, calls=calls, micros=calls * CENT),)


def a_run() -> AcmeRun:
    """Ada is verified for four cents; another run's attempt cost one."""
    run = AcmeRun(stream="brand-paid")
    away = Failed(why="sources-away", retryable=False, costs=paid("panel", 1))
    run.record("brand-resolution", RESOLVED)
    run.record("contact-discovery", Discovered(people=(ADA, BEN), costs=paid("brave", 1)))
    in_role = (ranked("p1"), ranked("p2", "social"))
    run.record("ranking", RankingDone(in_role, costs=paid("opinion", 1)))
    run.record(
        "verification",
        DomainVerified((checked("p1", Verdict.DELIVERABLE),), costs=paid("kickbox", 2)),
        item=HOME,
    )
    other = AcmeRun(stream="brand-away").failed("brand-resolution", away)
    run.events += other.events
    return run


async def read(log: EventLog) -> list[PastRun]:
    run = a_run()
    await log.append([Append("brand-paid", NO_STREAM, run.events)])
    return await past_runs(log, AT + timedelta(minutes=1))


@pytest.fixture
async def in_file(tmp_path: Path) -> AsyncIterator[list[PastRun]]:
    async with SqliteEventLog(tmp_path / "log.db", MemoryKeyStore()) as log:
        yield await read(log)


async def test_runs_are_read_alike_from_both_stores_and_nobody_is_opened(
    in_file: list[PastRun], database: str
) -> None:
    async with migrated(database) as pool, PostgresEventLog(pool, MemoryKeyStore()) as log:
        in_database = await read(log)

    done, failed = in_file
    assert in_database == in_file
    assert [(f.stage, f.name, f.calls, f.micros) for f in done.figures] == [
        ("contact-discovery", "brave", 1, CENT),
        ("ranking", "opinion", 1, CENT),
        ("verification", "kickbox", 2, 2 * CENT),
    ]
    assert (done.verified, done.recorded, done.took_s) == (True, True, 4.0)
    assert [(f.stage, f.name) for f in failed.figures] == [("brand-resolution", "panel")]
    assert (failed.verified, failed.recorded) == (False, True)


async def test_what_is_long_ago_or_says_no_costs_is_told_apart() -> None:
    log = MemoryEventLog(MemoryKeyStore())
    run = AcmeRun().verifying().verified(checked("p1", Verdict.DELIVERABLE))
    await log.append([Append("brand-a", NO_STREAM, run.events)])

    assert [run.recorded for run in await past_runs(log, AT)] == [False]
    assert await past_runs(log, AT + timedelta(weeks=WEEKS, days=1)) == []
