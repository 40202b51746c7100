"""A run does not wait for a retry that has nobody left to ask about.  Pure."""

from datetime import timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from cs.domain.brand.events import LookupFinished, RetryDue
from cs.domain.lookup.contacts import unsettled_candidates
from cs.domain.lookup.state import Lookup
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import DomainVerified, Failed, MailboxChecked
from domain.acme_run import AT_TWO_DOMAINS, HOME, PARENT, AcmeRun, checked

YES, NO = Verdict.DELIVERABLE, Verdict.UNDELIVERABLE
LATER = Failed(why="try-later", retryable=True, retry_in_s=60)


def test_somebody_left_is_waited_for() -> None:
    run = AcmeRun().verifying(AT_TWO_DOMAINS)
    run.failed("verification", LATER, item=HOME)

    found = (checked("p1", YES, at=PARENT), checked("p2", NO, at=PARENT))
    run.record("verification", DomainVerified(found), item=PARENT)

    assert [(work.item, work.retry_at is not None) for work in run.live.open] == [(HOME, True)]


people, domains = st.sampled_from(["p1", "p2"]), st.sampled_from([HOME, PARENT])
verdicts = st.sampled_from([YES, NO, Verdict.UNKNOWN])
found_there = st.dictionaries(people, verdicts)
steps = st.one_of(
    st.tuples(st.just("mailbox"), domains, people, verdicts),
    st.tuples(st.just("domain"), domains, found_there, st.none()),
    st.tuples(st.just("later"), domains, st.sampled_from([5, 12, 60]), st.none()),
    st.tuples(st.just("retry"), domains, st.sampled_from([5, 60]), st.none()),
)


@example([("later", HOME, 5, None), ("mailbox", HOME, "p1", YES), ("mailbox", HOME, "p2", YES)])
@example([("later", HOME, 5, None), ("mailbox", HOME, "p1", NO), ("mailbox", HOME, "p2", NO)])
@given(st.lists(steps, max_size=12))
def test_whoever_waits_has_somebody_to_ask_about(
    told: list[tuple[str, str, object, object]],
) -> None:
    """And a run ends once: with nothing open, and never a second time."""
    run = AcmeRun(deadline=timedelta(minutes=30)).verifying(AT_TWO_DOMAINS)
    for step in told:
        live = _after(run, *step)
        if live is None:
            break
        assert live.open, "a run without open work has ended"
        is_idle = all(work.retry_at is not None for work in live.open)
        assert not is_idle or any(unsettled_candidates(live, w.item) for w in live.open)
    assert sum(isinstance(event, LookupFinished) for event in run.events) <= 1


def _after(run: AcmeRun, what: str, at: str, one: object, other: object) -> Lookup | None:
    """Take one step; return the run, if it goes on."""
    work = run.live.find("verification", at)
    attempt = work.attempt if work else 1
    match what, one, other:
        case "mailbox", str(person), Verdict() as verdict:
            run.record("verification", MailboxChecked(checked(person, verdict, at=at)), item=at)
        case "domain", dict() as found, _:
            all_found = tuple(checked(who, said, at=at) for who, said in found.items())
            run.record("verification", DomainVerified(all_found), item=at, attempt=attempt)
        case "later", int(seconds), _:
            later = Failed(why="try-later", retryable=True, retry_in_s=float(seconds))
            run.failed("verification", later, item=at, attempt=attempt)
        case "retry", int(seconds), _:
            run.at += timedelta(seconds=seconds)
            run.send(RetryDue(lookup=run.live.id, at=run.at))
        case _:
            raise AssertionError(what)
    return run.state.live
