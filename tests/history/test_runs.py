"""Runs as records: what their stages cost, and what a later one changed."""

from datetime import timedelta
from decimal import Decimal

import pytest
from msgspec.structs import replace

from cs.domain.brand.events import RetryDue
from cs.domain.mail.mailbox import Verdict
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import Discovered, DomainVerified, Failed, RankingDone
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.history.comparing import compared, one_after_another, shown
from cs.history.loading import PastRun, past_runs
from cs.history.rows import run_rows
from cs.history.runs import Run, runs
from cs.history.search_page import cost_in_words
from domain.acme_run import ADA, AT, BEN, HOME, RESOLVED, AcmeRun, checked, ranked
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

CENT = 10_000
#: Weeks of which costs count (`cs search --file --estimate`).
WEEKS = 4


def paid(name: str, calls: int, **more: int | None) -> SourceCost:
    cost = SourceCost(name=name, asked=calls, calls=calls, micros=calls * CENT)
    return replace(cost, **more)


def runs_of(acme: AcmeRun) -> list[Run]:
    return runs(
        RecordedEvent(position, acme.stream, position - 1, event)
        for position, event in enumerate(acme.events, 1)
    )


def test_a_stage_has_the_costs_of_all_its_attempts_in_the_order_of_asking() -> None:
    run = AcmeRun().verifying()
    later = Failed(why="try-later", retryable=True, retry_in_s=5, costs=(paid("kickbox", 2),))
    run.failed("verification", later, item=HOME)
    run.send(RetryDue(lookup=run.live.id, at=run.live.next_due))
    costs = (SourceCost(name="smtp", asked=3), paid("kickbox", 1, used=1, expected_micros=CENT))
    done = DomainVerified((checked("p1", Verdict.DELIVERABLE),), costs=costs)
    run.record("verification", done, item=HOME, attempt=2)

    (found,) = runs_of(run)
    every = found.asked()
    asked = {each["name"]: each for each in every if each["stage"] == "verification"}

    assert list(asked) == ["kickbox", "smtp"]
    kickbox = asked["kickbox"]
    assert (kickbox["questions"], kickbox["calls"], kickbox["used"]) == (3, 3, 1)
    assert (kickbox["cost"], kickbox["expected"]) == (Decimal("0.03"), Decimal("0.01"))
    assert (asked["smtp"]["cost"], asked["smtp"]["calls"]) == (Decimal(0), 0)
    assert cost_in_words(every) == "$0.03 for 3 paid calls, as the log has it"


@pytest.mark.parametrize(("verifier", "put_off"), [("smtp", True), ("kickbox", False)])
def test_only_a_mail_server_puts_a_domain_off(verifier: str, *, put_off: bool) -> None:
    """A hosted verifier that allows no more calls (429) has the stage ask again as well."""
    run = AcmeRun().verifying()
    run.failed("verification", Failed(why="try-later", retryable=True, retry_in_s=5), item=HOME)
    run.send(RetryDue(lookup=run.live.id, at=run.live.next_due))
    person = checked("p1", Verdict.DELIVERABLE)
    evidence = tuple(replace(each, verifier=verifier) for each in person.evidence)
    done = DomainVerified((replace(person, evidence=evidence),))
    run.record("verification", done, item=HOME, attempt=2)

    (found,) = runs_of(run)
    [row] = [row for table, row in run_rows(found) if table == "mail_checks"]

    assert row["put_off"] is put_off


async def test_the_cost_of_a_run_is_that_of_all_its_stages_and_attempts() -> None:
    """Ada is verified for four cents, and a failed run costs one."""
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    run = AcmeRun(stream="brand-paid")
    run.record("brand-resolution", RESOLVED)
    run.record("contact-discovery", Discovered(people=(ADA, BEN), costs=(paid("brave", 1),)))
    in_role = (ranked("p1"), ranked("p2", "social"))
    run.record("ranking", RankingDone(in_role, costs=(paid("opinion", 1),)))
    verified = DomainVerified(
        (checked("p1", Verdict.DELIVERABLE),), costs=(paid("kickbox", 2),)
    )
    run.record("verification", verified, item=HOME)
    away = Failed(why="sources-away", retryable=False, costs=(paid("panel", 1),))
    failed = AcmeRun(stream="brand-away").failed("brand-resolution", away)
    events = [*run.events, *failed.events]
    await log.append([Append("brand-paid", NO_STREAM, events)])

    assert await past_runs(log, keys, AT + timedelta(minutes=1)) == [
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


# Two runs compared; the rest is tested through the command.


def answered(acme: AcmeRun) -> AcmeRun:
    """Let the live run find and verify Ada."""
    lookup = acme.live.id
    acme.record("brand-resolution", RESOLVED, lookup=lookup)
    acme.record("contact-discovery", Discovered(people=(ADA,)), lookup=lookup)
    acme.record("ranking", RankingDone((ranked("p1"),)), lookup=lookup)
    found = DomainVerified((checked("p1", Verdict.DELIVERABLE),))
    acme.record("verification", found, item=HOME, lookup=lookup)
    return acme


def test_runs_that_broke_down_are_passed_over() -> None:
    acme = answered(AcmeRun())
    acme.start()
    acme.times_out()
    acme.start()
    found = runs_of(answered(acme))

    assert [(a.number, b.number) for a, b in one_after_another(found)] == [(1, 3)]
    assert [each["place"] for each in shown(found[0])] == [1]


def test_a_person_without_a_pseudonym_is_the_same_as_no_other() -> None:
    acme = answered(AcmeRun())
    acme.start()
    before, after = runs_of(answered(acme))

    changes, _ = compared(before, after, {}, reveals=False)

    assert [(each.change, each.who) for each in changes] == [("joined", None), ("left", None)]
    assert not any(word in str(changes) for word in ("Ada", HOME))
