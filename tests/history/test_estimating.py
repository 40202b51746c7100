"""The cost of past runs, against a count by hand."""

from datetime import timedelta

from cs.domain.mail.mailbox import Verdict
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import Discovered, DomainVerified, Failed, RankingDone
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.history.loading import PastRun, past_runs
from cs.keystore.port import KeyStore
from domain.acme_run import ADA, AT, BEN, HOME, RESOLVED, AcmeRun, checked, ranked
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

CENT = 10_000
#: How far back costs count (`cs search --file --estimate`).
WEEKS = 4


def paid(name: str, calls: int) -> tuple[SourceCost, ...]:
    return (SourceCost(name=name, asked=calls, calls=calls, micros=calls * CENT),)


async def read(log: EventLog, keys: KeyStore) -> list[PastRun]:
    """Read a run in which Ada is verified for four cents, and a failed one that cost one."""
    run = AcmeRun(stream="brand-paid")
    run.record("brand-resolution", RESOLVED)
    run.record("contact-discovery", Discovered(people=(ADA, BEN), costs=paid("brave", 1)))
    in_role = (ranked("p1"), ranked("p2", "social"))
    run.record("ranking", RankingDone(in_role, costs=paid("opinion", 1)))
    verified = DomainVerified((checked("p1", Verdict.DELIVERABLE),), costs=paid("kickbox", 2))
    run.record("verification", verified, item=HOME)
    away = Failed(why="sources-away", retryable=False, costs=paid("panel", 1))
    failed = AcmeRun(stream="brand-away").failed("brand-resolution", away)
    events = [*run.events, *failed.events]
    await log.append([Append("brand-paid", NO_STREAM, events)])
    return [*await past_runs(log, keys, AT + timedelta(minutes=1))]


async def test_the_cost_of_a_run_is_that_of_all_its_stages_and_attempts() -> None:
    keys = MemoryKeyStore()

    assert await read(MemoryEventLog(keys), keys) == [
        PastRun(4 * CENT, verified=True),
        PastRun(CENT, verified=False),
    ]


async def test_runs_that_are_old_or_recorded_no_costs_are_left_out() -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    run = AcmeRun().verifying().verified(checked("p1", Verdict.DELIVERABLE))
    await log.append([Append("brand-a", NO_STREAM, run.events)])

    assert await past_runs(log, keys, AT) == []
    assert await past_runs(log, keys, AT + timedelta(weeks=WEEKS, days=1)) == []
