"""A stage that a package adds: its facts are shown, and without it the run goes on.  Pure."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec import UNSET

from cs.domain.brand.events import (
    AttemptFailed,
    EraseContacts,
    ReissueSilent,
    Restart,
    RetryDue,
    StageDone,
    StageIssued,
)
from cs.domain.codec import encode
from cs.domain.contact import Person, PersonFacts
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.table import EXTRA_STAGES, installed_rows
from cs.domain.stages.work import (
    ExtraInput,
    FactsFound,
    Failed,
)
from domain.acme_run import ACME, HOME, AcmeRun, checked
from plugins.installed import Install, install

__all__ = ["install"]

ROW = """
from datetime import timedelta
from cs.plugins.stages import ExtraStage

def give(run):
    return {each.mail_domain: ["p1", "p9"] for each in run.checked} or {"": ["p1"]}

def broken(run):
    return {"no domain": 1 / 0}

ROW = ExtraStage(name="fifth", make=print, sees=("first_name",), facts=("fact",), CHANGED)
"""
FACTS = FactsFound(people=(PersonFacts(person="p1", facts={"fact": "yes", "other": "no"}),))
NO = Verdict.UNDELIVERABLE
SOON = timedelta(seconds=20)

Add = Callable[[str], None]


@pytest.fixture
def add(install: Install) -> Add:
    """Install the stage, its row changed."""

    def run(changed: str) -> None:
        module = ROW.replace("CHANGED", changed)
        install({"acme_fifth.py": module}, {EXTRA_STAGES: {"fifth": "acme_fifth:ROW"}})

    return run


def unverified() -> AcmeRun:
    """Return a run whose mail domain has none of its people."""
    return AcmeRun().verifying().verified(checked("p1", NO), checked("p2", NO))


def facts_shown(run: AcmeRun) -> list[object]:
    return [contact.extras for contact in run.finish.contacts]


def test_it_is_given_no_more_than_it_sees_and_its_declared_facts_are_shown(add: Add) -> None:
    add("after='verification', give=give")
    run = unverified()
    issued = run.events[-1]
    assert isinstance(issued, StageIssued)
    assert issued.input == ExtraInput(
        ACME, (Person(person="p1", full_name="", first_name="Ada"),), HOME
    )

    run.record("fifth", FACTS, item=HOME)

    assert run.ended == ("no_emails", True, False)
    assert facts_shown(run) == [{"fact": "yes"}, UNSET]
    assert b'"extras"' not in encode(unended().finish), "stored as before without any"


def unended() -> AcmeRun:
    """Return a run that ended before its extra stage had a turn."""
    run = AcmeRun().resolved()
    run.record("contact-discovery", Failed(why="bug", retryable=False))
    return run


@pytest.mark.parametrize("after", ["contact-discovery", "ranking"])
def test_it_may_stand_before_a_stage_of_ours(add: Add, after: str) -> None:
    add(f"after={after!r}, give=give")
    run = AcmeRun().resolved().discovered()
    if after == "ranking":
        run.ranked()
    assert run.issued()[-1] == ("fifth", "", 1)

    run.record("fifth", FACTS)
    if after == "contact-discovery":
        run.ranked()
    run.verified(checked("p1", Verdict.DELIVERABLE), checked("p2", NO))

    assert run.ended == ("done", True, False)
    assert facts_shown(run) == [{"fact": "yes"}, UNSET]


def fails(run: AcmeRun) -> None:
    run.record("fifth", Failed(why="bug", retryable=False), item=HOME)


def times_out(run: AcmeRun) -> None:
    run.record("fifth", Failed(why="timeout", retryable=True), item=HOME)


def has_no_worker(run: AcmeRun) -> None:
    silent = ReissueSilent(lookup=run.live.id, stage="fifth", item=HOME, attempt=1, at=run.at)
    (again,) = run.send(silent)
    (first,) = [e for e in run.events if isinstance(e, StageIssued) and e.stage == "fifth"][:1]
    assert isinstance(again, StageIssued)
    assert again.deadline_at == first.deadline_at, "no attempt makes it wait longer"
    run.send(RetryDue(lookup=run.live.id, at=first.deadline_at))


def lasts_to_the_deadline(run: AcmeRun) -> None:
    run.times_out()


def has_lost_its_package(run: AcmeRun) -> None:
    installed_rows.cache_clear()
    assert run.send(Restart(lookup=run.live.id, at=run.at)) == ()
    run.send(RetryDue(lookup=run.live.id, at=run.at + SOON))


@pytest.mark.parametrize(
    "ends", [fails, times_out, has_no_worker, lasts_to_the_deadline, has_lost_its_package]
)
def test_without_its_answer_the_run_ends_as_if_it_were_not_there(
    add: Add, monkeypatch: pytest.MonkeyPatch, ends: Callable[[AcmeRun], None]
) -> None:
    add("after='verification', give=give")
    run = unverified()
    if ends is has_lost_its_package:
        monkeypatch.undo()

    ends(run)

    assert run.ended == ("no_emails", True, False)
    assert facts_shown(run) == [UNSET, UNSET]


def test_a_stage_whose_row_raises_is_skipped_and_that_is_stored(
    add: Add,
) -> None:
    add("after='verification', give=broken")

    run = unverified()

    assert [(e.stage, e.why) for e in run.events if isinstance(e, AttemptFailed)] == [
        ("fifth", "bug")
    ]
    assert run.ended == ("no_emails", True, False)


def test_one_that_is_not_optional_ends_the_run(add: Add) -> None:
    add("after='ranking', give=give, optional=False")
    run = AcmeRun().resolved().discovered().ranked()

    run.record("fifth", Failed(why="bug", retryable=False))

    assert run.ended == ("error", False, False)


def test_nothing_is_learned_about_people_who_are_erased(add: Add) -> None:
    add("after='verification', give=give")
    run = unverified()
    run.send(EraseContacts(lookup=run.live.id, people=("p1",), at=run.at))

    (done, *_) = run.record("fifth", FACTS, item=HOME)

    assert isinstance(done, StageDone)
    assert done.people == ()
    assert [contact.person for contact in run.finish.contacts] == ["p2"]
