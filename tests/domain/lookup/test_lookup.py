"""The rules of one live run, each with an example."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

import pytest
from msgspec.structs import replace

from cs.domain.brand.events import (
    AttemptFailed,
    BrandEvent,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PassDeadline,
    PeopleFound,
    ReissueSilent,
    Restart,
    RetryDue,
    StageIssued,
)
from cs.domain.contact import BrandFacts, Sighting
from cs.domain.key import SearchOutcome
from cs.domain.lookup.contacts import PEOPLE, unsettled_candidates
from cs.domain.mail.mailbox import DomainFacts, Verdict, bounce_evidence
from cs.domain.mail_domain import KnownDomain
from cs.domain.source_cost import SourceCost
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DomainVerified,
    Failed,
    MailboxChecked,
    PeopleSeen,
    RankingDone,
    Resolved,
    StageName,
    VerificationInput,
)
from domain.acme_run import (
    ACME,
    ADA,
    AT_TWO_DOMAINS,
    BEN,
    HOME,
    PARENT,
    RESOLVED,
    AcmeRun,
    checked,
    ranked,
    sighting,
)

YES, NO, CATCH_ALL, FULL, UNKNOWN = (
    Verdict.DELIVERABLE,
    Verdict.UNDELIVERABLE,
    Verdict.CATCH_ALL,
    Verdict.MAILBOX_FULL,
    Verdict.UNKNOWN,
)
AWAY = Failed(why="sources-away", retryable=True)


# The way through.


def test_each_result_issues_the_next_stage_and_the_last_ends_the_run() -> None:
    run = AcmeRun().resolved().discovered().ranked()
    run.verified(checked("p1", YES), checked("p2", NO))

    assert run.issued() == [
        ("brand-resolution", "", 1),
        ("contact-discovery", "", 1),
        ("ranking", "", 1),
        ("verification", HOME, 1),
    ]
    assert run.ended == ("done", True, False)
    assert run.finish.verified == 1
    assert run.finish.brand == ACME


def test_work_carries_all_it_needs_and_its_own_deadline() -> None:
    run = AcmeRun().resolved()
    first, second = [event for event in run.events if isinstance(event, StageIssued)]

    assert first.deadline_at == first.at + STAGES["brand-resolution"].budget
    assert second.deadline_at == second.at + STAGES["contact-discovery"].budget
    run.discovered().ranked()
    last = run.events[-1]
    assert isinstance(last, StageIssued)
    assert last.deadline_at == run.live.deadline_at  # never past the lookup's own
    assert isinstance(last.input, VerificationInput)
    assert [c.full_name for c in last.input.candidates] == ["Ada Kern", "Ben Ode"]


# How a run ends.

#: Without a mail domain, and with a page that shows a wrong match.
NO_MAIL = BrandFacts(name="Acme", linkedin_company_url="https://www.linkedin.com/company/acme")


def resolved(status: Literal["no_match", "ambiguous"]) -> AcmeRun:
    run = AcmeRun()
    run.record("brand-resolution", Resolved(status=status))
    return run


def found(*people: Sighting, conclusive: bool) -> AcmeRun:
    run = AcmeRun().resolved()
    run.record("contact-discovery", Discovered(people=people, conclusive=conclusive))
    if people:
        run.record("ranking", RankingDone(()))
    return run


def failed(why: str) -> AcmeRun:
    run = AcmeRun().resolved()
    return run.failed("contact-discovery", Failed(why=why, retryable=False))


def verified(first: Verdict, second: Verdict, *unanswered: str) -> AcmeRun:
    verdicts = {"p1": first, "p2": second}
    return (
        AcmeRun()
        .verifying()
        .verified(*(checked(p, v, answered=p not in unanswered) for p, v in verdicts.items()))
    )


@pytest.mark.parametrize(
    ("run", "outcome", "reused", "contacts"),
    [
        (resolved("no_match"), "no_linkedin", True, 0),
        (resolved("ambiguous"), "no_linkedin", True, 0),
        # Nobody found, or in a role, is an answer only if every source answered.
        (found(conclusive=True), "no_contacts", True, 0),
        (found(ADA, conclusive=True), "no_contacts", True, 0),
        (found(conclusive=False), "scrape_error", False, 0),
        (found(ADA, conclusive=False), "scrape_error", False, 0),
        (failed("no-brand-source-configured"), "error", False, 0),
        (failed("no-people-source-configured"), "error", False, 0),
        (failed("sources-refuse"), "error", False, 0),
        (failed("bug"), "error", False, 0),
        (failed("timeout"), "timeout", False, 0),
        (failed("something-outside"), "scrape_error", False, 0),
        (AcmeRun().resolved(NO_MAIL).discovered().ranked(), "no_emails", False, 2),
        (verified(YES, NO), "done", True, 2),
        (verified(YES, UNKNOWN), "done", True, 2),
        (verified(NO, NO), "no_emails", True, 2),
        (verified(NO, CATCH_ALL), "no_emails", True, 2),
        (verified(NO, UNKNOWN), "no_emails", False, 2),
        (verified(NO, FULL), "no_emails", False, 2),
        (verified(FULL, FULL), "no_emails", False, 2),
        # One reply makes it no_emails; without any, verification could not run.
        (verified(UNKNOWN, UNKNOWN, "p1"), "no_emails", False, 2),
        (verified(UNKNOWN, UNKNOWN, "p1", "p2"), "error", False, 2),
    ],
)
def test_how_a_run_ends(
    run: AcmeRun, outcome: SearchOutcome, reused: bool, contacts: int
) -> None:
    assert run.ended == (outcome, reused, outcome == "timeout")
    assert len(run.finish.contacts) == contacts
    if outcome != "no_linkedin":
        assert run.finish.brand in (ACME, NO_MAIL)  # the matched page shows a wrong match


def test_a_person_missing_from_the_result_is_unknown() -> None:
    run = AcmeRun().verifying().verified(checked("p1", NO))

    events = [e for e in run.events if isinstance(e, MailboxNotVerified)]
    assert [(e.checked.person, e.checked.verdict) for e in events] == [
        ("p1", NO),
        ("p2", UNKNOWN),
    ]
    assert run.ended == ("no_emails", False, False)


# The deadline.


def test_the_deadline_delivers_what_is_verified() -> None:
    run = AcmeRun().verifying()
    run.record("verification", MailboxChecked(checked("p2", YES)), item=HOME)
    run.times_out()

    assert run.ended == ("done", True, True)
    assert [c.email for c in run.finish.contacts] == [f"p2@{HOME}", None]


def test_the_deadline_without_a_verified_person_is_a_timeout_with_those_found_so_far() -> None:
    run = AcmeRun().resolved()
    run.record("contact-discovery", PeopleSeen((ADA, sighting("Cid Fell", "Designer"))))
    run.times_out()

    assert run.ended == ("timeout", False, True)
    assert [(c.full_name, c.title) for c in run.finish.contacts] == [
        ("Ada Kern", "Influencer Marketing Manager")
    ]


def test_the_deadline_is_quiet_before_its_time_and_after_the_end() -> None:
    run = AcmeRun()
    early = PassDeadline(
        lookup=run.live.id, at=run.live.deadline_at - timedelta(microseconds=1)
    )
    assert run.send(early) == ()

    lookup, deadline_at = run.live.id, run.live.deadline_at
    run.times_out()

    assert run.send(PassDeadline(lookup=lookup, at=deadline_at)) == ()


# Retries.


@pytest.mark.parametrize(
    ("finding", "waits"),
    [
        (Failed(why="x", retryable=True), 2),
        (Failed(why="x", retryable=True, retry_in_s=30), 30),
        (Failed(why="x", retryable=True, retry_in_s=0.5), 0.5),
        (Failed(why="x", retryable=True, retry_in_s=-7), 2),
    ],
)
def test_a_failed_attempt_is_tried_again_after_what_the_outside_asked(
    finding: Failed, waits: float
) -> None:
    run = AcmeRun().failed("brand-resolution", finding)

    failed = run.events[-1]
    assert isinstance(failed, AttemptFailed)
    assert failed.retry_at == failed.at + timedelta(seconds=waits)
    assert run.live.next_due == failed.retry_at
    assert (
        run.send(RetryDue(lookup=run.live.id, at=failed.retry_at - timedelta(seconds=1e-6)))
        == ()
    )
    run.send(RetryDue(lookup=run.live.id, at=failed.retry_at))
    assert run.issued()[-1] == ("brand-resolution", "", 2)
    assert run.send(RetryDue(lookup=run.live.id, at=failed.retry_at)) == ()


def test_unasked_waits_grow_fourfold_and_the_third_failure_is_the_last() -> None:
    run = AcmeRun()
    for attempt, waits in ((1, 2), (2, 8)):
        run.failed("brand-resolution", AWAY, attempt=attempt)
        failed = run.events[-1]
        assert isinstance(failed, AttemptFailed)
        assert failed.retry_at == failed.at + timedelta(seconds=waits)
        run.send(RetryDue(lookup=run.live.id, at=failed.retry_at))
    run.failed("brand-resolution", AWAY, attempt=3)

    assert run.ended == ("scrape_error", False, False)


def test_a_retry_that_would_come_at_the_deadline_is_not_waited_for() -> None:
    left = 119  # when the failure is heard, one second after the start
    for asked, ends in ((left, True), (left - 0.001, False)):
        run = AcmeRun()
        run.failed("brand-resolution", Failed(why="x", retryable=True, retry_in_s=asked))

        assert (run.state.live is None) is ends


def test_a_greylisted_domain_is_asked_again_for_those_who_are_open() -> None:
    run = AcmeRun().verifying()
    run.record("verification", MailboxChecked(checked("p1", NO)), item=HOME)
    later = Failed(
        why="greylisted", retryable=True, retry_in_s=30, checked=(checked("p2", UNKNOWN),)
    )
    run.failed("verification", later, item=HOME)
    bounced = bounce_evidence(f"old@{HOME}", run.at)
    settled = {"p1": (bounced,), "p2": (bounced, bounced)}
    known = {HOME: KnownDomain(DomainFacts(greylists=True), settled)}
    (again,) = run.send(
        RetryDue(lookup=run.live.id, known=known, at=run.at + timedelta(seconds=30))
    )

    assert isinstance(again, StageIssued)
    assert isinstance(again.input, VerificationInput)
    assert [c.person for c in again.input.candidates] == ["p2"]
    assert [c.settled for c in again.input.candidates] == [(bounced, bounced)]
    assert again.input.known == known[HOME].facts
    run.record("verification", DomainVerified((checked("p2", YES),)), item=HOME, attempt=2)
    assert run.ended == ("done", True, False)


def test_without_time_for_a_retry_what_the_failed_attempt_saw_is_what_stays() -> None:
    run = AcmeRun().verifying()
    later = Failed(
        why="greylisted",
        retryable=True,
        retry_in_s=600,
        checked=(checked("p1", UNKNOWN),),
        learned=DomainFacts(greylists=True),
    )
    events = run.record("verification", later, item=HOME)

    assert [type(event).__name__ for event in events] == [
        "AttemptFailed",
        "MailboxNotVerified",
        "MailboxNotVerified",
        "MailDomainChecked",
        "LookupFinished",
    ]
    assert run.ended == ("no_emails", False, False)  # at once, not at the deadline
    first, second = events[1], events[2]
    assert isinstance(first, MailboxNotVerified)
    assert isinstance(second, MailboxNotVerified)
    assert first.checked.evidence != ()
    assert (second.checked.person, second.checked.evidence) == ("p2", ())


def test_an_attempt_given_up_before_cannot_fail_the_one_in_hand() -> None:
    run = AcmeRun()
    silent(run)

    late = Failed(why="x", retryable=False)
    assert run.record("brand-resolution", late, attempt=1) == ()
    assert run.live.find("brand-resolution", "") is not None


# Silence and restarts.


def silent(run: AcmeRun, attempt: int = 1) -> Sequence[BrandEvent]:
    return run.send(
        ReissueSilent(lookup=run.live.id, stage="brand-resolution", attempt=attempt, at=run.at)
    )


def test_silence_issues_the_work_again_twice_at_most_and_costs_no_attempt() -> None:
    run = AcmeRun()
    for attempt in (1, 2, 3):
        silent(run, attempt)
        assert silent(run, attempt) == ()  # the same silence twice

    assert run.issued() == [("brand-resolution", "", n) for n in (1, 2, 3)]
    run.failed("brand-resolution", AWAY, attempt=3)
    failure = run.events[-1]
    assert isinstance(failure, AttemptFailed)
    assert failure.retry_at == failure.at + timedelta(seconds=2)  # the first failure
    assert silent(run, 3) == ()  # it waits for its retry


def test_a_restart_issues_what_was_in_hand_and_leaves_what_waits() -> None:
    run = AcmeRun().verifying(AT_TWO_DOMAINS)
    run.failed("verification", Failed(why="x", retryable=True, retry_in_s=30), item=PARENT)

    events = run.send(Restart(lookup=run.live.id, at=run.at))

    assert [(e.item, e.attempt) for e in events if isinstance(e, StageIssued)] == [(HOME, 2)]


@pytest.mark.parametrize("attempt", [1, 2])
def test_the_first_result_stored_wins_whichever_attempt_it_came_from(attempt: int) -> None:
    run = AcmeRun()
    silent(run)

    run.record("brand-resolution", RESOLVED, attempt=attempt)
    other = Resolved(status="no_match")
    assert run.record("brand-resolution", other, attempt=3 - attempt) == ()

    assert run.live.brand == ACME


# Progress.


def test_people_are_kept_as_they_come_and_counted_once() -> None:
    run = AcmeRun().resolved()
    run.record("contact-discovery", PeopleSeen((ADA,)))
    assert run.record("contact-discovery", PeopleSeen((ADA,))) == ()
    run.discovered(ADA, BEN, BEN)

    found = [e for e in run.events if isinstance(e, PeopleFound | ContactsDiscovered)]
    assert [[p.full_name for p in e.people] for e in found] == [["Ada Kern"], ["Ben Ode"]]
    assert [p.person for p in run.live.people] == ["p1", "p2"]


def test_people_are_distinguished_by_profile_else_by_name_and_company() -> None:
    run = AcmeRun().resolved()
    run.discovered(
        ADA,
        sighting("Ada K.", linkedin_url="https://www.linkedin.com/in/ADA-KERN"),
        sighting("Ada Kern", linkedin_url="https://www.linkedin.com/in/another-ada"),
        sighting("Cid Fell", linkedin_url=None),
        sighting("cid fell", linkedin_url=None, company="ACME"),
        sighting("Cid Fell"),  # now with a profile
        sighting("Cid Fell", linkedin_url=None, company="Zenith"),
    )

    assert [(p.person, p.full_name, p.company) for p in run.live.people] == [
        ("p1", "Ada Kern", "Acme"),
        ("p2", "Ada Kern", "Acme"),
        ("p3", "Cid Fell", "Acme"),
        ("p4", "Cid Fell", "Zenith"),
    ]


def test_a_run_keeps_a_hundred_people_and_no_more() -> None:
    crowd = [sighting(f"Jo {n}") for n in range(PEOPLE + 50)]
    run = AcmeRun().resolved()
    run.record("contact-discovery", PeopleSeen(tuple(crowd[:60])))
    run.discovered(*crowd)

    assert [p.full_name for p in run.live.people] == [f"Jo {n}" for n in range(PEOPLE)]
    assert len({p.person for p in run.live.people}) == PEOPLE


def test_a_verdict_that_came_as_progress_is_not_changed_by_the_result() -> None:
    run = AcmeRun().verifying()
    run.record("verification", MailboxChecked(checked("p1", NO)), item=HOME)
    run.verified(checked("p1", YES), checked("p2", NO))

    assert not any(isinstance(event, MailboxVerified) for event in run.events)
    assert run.ended == ("no_emails", True, False)


# Several mail domains.


def test_a_person_verified_at_one_mail_domain_is_closed_at_the_others() -> None:
    run = AcmeRun().verifying(AT_TWO_DOMAINS)
    run.verified(checked("p1", YES), checked("p2", NO))

    asked = run.live.find("verification", PARENT)
    assert asked is not None
    assert [c.person for c in unsettled_candidates(run.live, PARENT)] == ["p2"]
    run.verified(checked("p1", YES, at=PARENT), checked("p2", YES, at=PARENT), at=PARENT)

    assert [contact.email for contact in run.finish.contacts] == [f"p1@{HOME}", f"p2@{PARENT}"]


def test_with_everybody_verified_no_further_mail_domain_is_asked() -> None:
    run = AcmeRun().verifying(AT_TWO_DOMAINS)

    run.verified(checked("p1", YES), checked("p2", YES))

    assert run.ended == ("done", True, False)
    assert run.finish.verified == 2


def test_a_mail_domain_that_asks_for_a_long_wait_does_not_keep_the_next_one_waiting() -> None:
    run = AcmeRun().verifying(AT_TWO_DOMAINS)
    soon = Failed(why="try-later", retryable=True, retry_in_s=3.0)
    run.failed("verification", soon, item=HOME)
    assert run.live.find("verification", PARENT) is None

    later = AcmeRun().verifying(AT_TWO_DOMAINS)
    greylisted = Failed(why="try-later", retryable=True, retry_in_s=60.0)
    later.failed("verification", greylisted, item=HOME)

    assert later.live.find("verification", HOME) is not None
    assert later.live.find("verification", PARENT) is not None


def test_no_more_than_four_mail_domains_are_asked_each_once_in_order() -> None:
    domains = (HOME, HOME, *(f"d{n}.example" for n in range(5)))
    run = AcmeRun().verifying(BrandFacts(name="Acme", domain=HOME, mail_domains=domains))
    expected = [HOME, *(f"d{n}.example" for n in range(3))]

    for domain in expected:
        run.verified(at=domain)

    assert [item for _, item, _ in run.issued()[3:]] == expected
    assert run.finish.outcome == "no_emails"


def test_a_broken_domain_leaves_the_other_alone() -> None:
    run = AcmeRun().verifying(AT_TWO_DOMAINS)
    run.failed("verification", Failed(why="bug", retryable=False), item=HOME)
    run.verified(checked("p2", YES, at=PARENT), at=PARENT)

    assert run.ended == ("done", True, False)
    assert run.finish.contacts[0].email == f"p2@{PARENT}"


# What a stage may not say.


@pytest.mark.parametrize(
    ("stage", "finding"),
    [
        ("brand-resolution", Discovered(people=(ADA,))),
        ("brand-resolution", PeopleSeen((ADA,))),
        ("brand-resolution", RankingDone((ranked("p1"),))),
        ("brand-resolution", DomainVerified((checked("p1", YES),))),
        ("brand-resolution", MailboxChecked(checked("p1", YES))),
        ("contact-discovery", RESOLVED),  # not its turn, nor its word
    ],
)
def test_a_finding_of_another_stage_is_quiet(stage: StageName, finding: AnyFinding) -> None:
    assert AcmeRun().record(stage, finding) == ()


def test_people_that_ranking_made_up_or_repeated_are_left_out() -> None:
    run = AcmeRun().resolved().discovered()
    run.ranked(ranked("p9"), ranked("p2"), ranked("p1"), ranked("p2", "social"))

    assert [r.person for r in run.live.ranked or ()] == ["p2", "p1"]


def test_a_verdict_on_another_mail_domain_or_person_causes_no_event() -> None:
    run = AcmeRun().verifying()

    for odd in (checked("p1", YES, at="elsewhere.example"), checked("p9", YES)):
        assert run.record("verification", MailboxChecked(odd), item=HOME) == ()
    run.verified(checked("p1", YES, at="elsewhere.example"), checked("p9", YES))

    assert run.ended == ("no_emails", False, False)


# What it cost.
def test_what_an_attempt_cost_is_stored_with_what_ended_it() -> None:
    costs = (SourceCost(name="acme", asked=2, calls=1, micros=10_000, found=1, used=1),)
    run = AcmeRun()
    run.record("brand-resolution", replace(AWAY, costs=costs))
    run.send(RetryDue(lookup=run.live.id, at=run.live.next_due))
    run.record("brand-resolution", replace(RESOLVED, costs=costs), attempt=2)
    run.record("contact-discovery", Discovered(people=(ADA, BEN), costs=costs))
    run.record("ranking", RankingDone((ranked("p1"), ranked("p2")), costs=costs))
    run.record("verification", DomainVerified((checked("p1", YES),), costs=costs), item=HOME)

    told = [(type(e), getattr(e, "costs", ())) for e in run.events]
    kinds = [e for e, cost in told if cost]
    assert kinds == [
        AttemptFailed,
        BrandResolved,
        ContactsDiscovered,
        ContactsRanked,
        MailDomainChecked,
    ]
    assert {cost for _, cost in told if cost} == {costs}


def test_verified_people_count_for_their_first_source_and_their_verifier() -> None:
    again = replace(ADA, source="hunter")
    cleo, dora = sighting("Cleo Abt", source="hunter"), sighting("Dora Voss", source="hunter")
    run = AcmeRun().resolved().discovered(ADA, BEN, again, cleo, dora)
    run.ranked(ranked("p1"), ranked("p2"), ranked("p3"), ranked("p4"))
    run.verified(checked("p1", YES), checked("p2", NO), checked("p3", YES), checked("p4", YES))

    assert run.finish.verified_from == {"hunter": 2, "staff": 1}
    assert run.finish.verified_by == {"smtp": 3}
