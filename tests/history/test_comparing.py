"""Pairs of runs that are compared; what changed between them is tested through the command."""

from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import Discovered, DomainVerified, RankingDone
from cs.eventlog.port import RecordedEvent
from cs.history.comparing import compared, one_after_another, shown
from cs.history.runs import Run, runs
from domain.acme_run import ADA, HOME, RESOLVED, AcmeRun, checked, ranked


def answered(acme: AcmeRun) -> AcmeRun:
    """Let the live run find and verify Ada."""
    lookup = acme.live.id
    acme.record("brand-resolution", RESOLVED, lookup=lookup)
    acme.record("contact-discovery", Discovered(people=(ADA,)), lookup=lookup)
    acme.record("ranking", RankingDone((ranked("p1"),)), lookup=lookup)
    found = DomainVerified((checked("p1", Verdict.DELIVERABLE),))
    acme.record("verification", found, item=HOME, lookup=lookup)
    return acme


def runs_of(acme: AcmeRun) -> list[Run]:
    return runs(
        RecordedEvent(position, acme.stream, position - 1, event)
        for position, event in enumerate(acme.events, 1)
    )


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
