"""What the stages of a run cost, as the log has it."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from cs.domain.brand.events import RetryDue
from cs.domain.mail.mailbox import Verdict
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import DomainVerified, Failed
from cs.eventlog.port import RecordedEvent
from cs.history.rows import run_rows
from cs.history.runs import runs
from cs.history.search_page import cost_in_words
from domain.acme_run import HOME, STREAM, AcmeRun, checked

CENT = 10_000


def paid(name: str, calls: int, **more: int | None) -> SourceCost:
    cost = SourceCost(name=name, asked=calls, calls=calls, micros=calls * CENT)
    return replace(cost, **more)


def test_a_stage_has_the_costs_of_all_its_attempts_in_the_order_of_asking() -> None:
    run = AcmeRun().verifying()
    later = Failed(why="try-later", retryable=True, retry_in_s=5, costs=(paid("kickbox", 2),))
    run.failed("verification", later, item=HOME)
    run.send(RetryDue(lookup=run.live.id, at=run.live.next_due))
    costs = (SourceCost(name="smtp", asked=3), paid("kickbox", 1, used=1, expected_micros=CENT))
    done = DomainVerified((checked("p1", Verdict.DELIVERABLE),), costs=costs)
    run.record("verification", done, item=HOME, attempt=2)

    (found,) = runs(RecordedEvent(n, STREAM, n, e) for n, e in enumerate(run.events, 1))
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

    (found,) = runs(RecordedEvent(n, STREAM, n, e) for n, e in enumerate(run.events, 1))
    [row] = [row for table, row in run_rows(found) if table == "mail_checks"]

    assert row["put_off"] is put_off
