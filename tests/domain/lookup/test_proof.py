"""What counts as a verified mailbox, whose it is, and what starting again costs."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from cs.domain.brand.events import AttemptFailed, MailboxNotVerified, MailboxVerified, Restart
from cs.domain.contact import CheckedPerson, Person
from cs.domain.lookup.contacts import contacts_of, unsettled_candidates
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import Failed
from domain.acme_run import AT_TWO_DOMAINS, HOME, PARENT, AcmeRun, checked

YES = Verdict.DELIVERABLE


def _about(address: str) -> CheckedPerson:
    """Return a verdict on *address*, with evidence about that very one."""
    good = checked("p1", YES)
    evidence = tuple(replace(each, address=address) for each in good.evidence)
    return replace(good, address=address, evidence=evidence)


def _by(verifier: str) -> CheckedPerson:
    good = checked("p1", YES)
    evidence = tuple(replace(each, verifier=verifier) for each in good.evidence)
    return replace(good, verifier=verifier, evidence=evidence)


@pytest.mark.parametrize(
    "unproved",
    [
        replace(checked("p1", YES), address=None),
        replace(checked("p1", YES), verifier=None),
        replace(checked("p1", YES), address="p1@elsewhere.example"),
        replace(checked("p1", YES), address=f"p1@sub.{HOME}"),
        # Of the address itself: no mailbox, though it is at the domain.
        *(
            _about(f"{local}@{HOME}")
            for local in ("x\r\n<script>", "", "a b", "jo..lane", "x" * 65, "jö", "jo\0")
        ),
        # Of who vouches for it: somebody who is not configured, or nobody in the evidence.
        _by("nobody"),
        replace(checked("p1", YES), verifier="nobody"),
        replace(checked("p1", YES), evidence=()),
        replace(checked("p1", YES), evidence=checked("p2", YES).evidence),
        replace(checked("p1", YES), evidence=_by("nobody").evidence),
        replace(checked("p1", YES), evidence=checked("p1", Verdict.UNKNOWN).evidence),
        replace(checked("p1", YES), evidence=checked("p1", Verdict.CATCH_ALL).evidence),
        *(checked("p1", verdict) for verdict in Verdict if verdict is not YES),
    ],
)
def test_only_a_deliverable_address_of_that_domain_by_a_named_verifier_is_shown(
    unproved: CheckedPerson,
) -> None:
    run = AcmeRun().verifying().verified(unproved)

    assert not any(isinstance(event, MailboxVerified) for event in run.events)
    assert any(isinstance(event, MailboxNotVerified) for event in run.events)
    assert (run.finish.outcome, run.finish.verified) == ("no_emails", 0)
    assert [contact.email for contact in run.finish.contacts] == [None, None]


def test_a_verdict_that_is_not_proved_establishes_nothing() -> None:
    run = AcmeRun().verifying().verified(_by("nobody"), checked("p2", Verdict.UNDELIVERABLE))

    assert run.ended == ("no_emails", False, False)  # another lookup may prove it


def test_one_mailbox_is_the_better_ranked_person_s() -> None:
    run = AcmeRun().verifying()
    run.verified(*(checked(person, YES, local="kern") for person in ("p2", "p1")))

    assert run.finish.verified == 1
    assert [(c.person, c.email, c.email_status) for c in run.finish.contacts] == [
        ("p1", f"kern@{HOME}", "verified"),
        ("p2", None, "not_found"),
    ]


def test_the_same_local_part_at_two_domains_is_two_mailboxes() -> None:
    run = AcmeRun().verifying(AT_TWO_DOMAINS)
    run.verified(checked("p1", YES, local="kern"))
    run.verified(checked("p2", YES, local="kern", at=PARENT), at=PARENT)

    assert [c.email for c in run.finish.contacts] == [f"kern@{HOME}", f"kern@{PARENT}"]


@pytest.mark.parametrize("starts", [1, 5, 40])
def test_starting_again_costs_no_attempt_and_no_patience(starts: int) -> None:
    run = AcmeRun(deadline=timedelta(hours=1))
    for _ in range(starts):
        run.send(Restart(lookup=run.live.id, at=run.at))
    run.failed("brand-resolution", Failed(why="x", retryable=True), attempt=starts + 1)

    failed = run.events[-1]
    assert isinstance(failed, AttemptFailed)
    assert failed.retry_at == failed.at + timedelta(seconds=2)


# People of a run who cannot be read, since they were erased.


def test_an_erased_person_is_no_contact_and_no_work_is_about_them() -> None:
    run = AcmeRun().verifying()
    people = (Person(person="p1", full_name=""), run.live.people[1])
    state = replace(run.live, people=people)
    verified = replace(state, checked=(checked("p1", YES),))

    assert [each.person for each in unsettled_candidates(state, HOME)] == ["p2"]
    assert [(c.person, c.email) for c in contacts_of(verified)] == [("p2", None)]
