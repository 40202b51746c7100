"""What a brand and a person remember of an erasure.  Pure."""

from datetime import timedelta
from functools import reduce

import pytest

from cs.domain import person
from cs.domain.brand import brand
from cs.domain.brand.events import BrandEvent, EraseContacts, LookupFinished
from cs.domain.mail.mailbox import Verdict
from cs.domain.person import PersonSuppressed, SuppressPerson
from cs.domain.stages.work import PeopleSeen
from domain.acme_run import ADA, AT, RESOLVED, AcmeRun, checked, sighting

LOOKUP = "brand-0a1b.1"
NEITHER = (checked("p1", Verdict.UNDELIVERABLE), checked("p2", Verdict.UNDELIVERABLE))
BOTH = (checked("p1", Verdict.DELIVERABLE), checked("p2", Verdict.DELIVERABLE))


def erase(run: AcmeRun, *people: str) -> list[BrandEvent]:
    finished = [e for e in run.events if isinstance(e, LookupFinished)]
    contacts = finished[-1].contacts if finished else ()
    return list(
        run.send(EraseContacts(lookup=LOOKUP, people=people, contacts=contacts, at=run.at))
    )


def test_a_result_without_a_verified_person_is_reused_as_before() -> None:
    run = AcmeRun().verifying().verified(*NEITHER)
    before = run.state.answer(run.at)
    assert before is not None

    erase(run, "p1")

    assert run.state.answer(run.at) == before


def test_an_older_result_leaves_the_run_of_today_alone() -> None:
    run = AcmeRun().verifying().verified(*BOTH)
    run.at += timedelta(days=31)
    run.start()
    run.record("brand-resolution", RESOLVED, lookup="brand-0a1b.2")
    live = run.live

    assert len(erase(run, "p1", "p2")) == 1

    assert run.state.live == live


# A run that is alive.


def test_the_number_of_an_erased_person_is_not_given_again() -> None:
    run = AcmeRun().resolved()
    seen = (ADA, sighting("Cid Fell"))
    run.record("contact-discovery", PeopleSeen(people=seen[:1]))
    erase(run, "p1")
    run.record("contact-discovery", PeopleSeen(people=seen))

    assert (run.live.people[0].person, run.live.people[0].full_name) == ("p1", "")
    assert "p1" not in [p.person for p in run.live.people if p.full_name]


@pytest.mark.parametrize("lookup", [LOOKUP, "brand-0a1b.9"])
def test_nothing_is_left_of_them_in_what_is_remembered(lookup: str) -> None:
    run = AcmeRun().verifying()
    run.send(EraseContacts(lookup=lookup, people=("p1",), at=run.at))

    assert ("Ada" in repr(run.state)) == (lookup != LOOKUP)
    assert reduce(brand.evolve, run.events, brand.INITIAL) == run.state


# A person.


def test_what_a_person_is_known_by_is_said_once() -> None:
    first = person.decide(SuppressPerson(prints=("b", "a"), at=AT), person.INITIAL)
    state = reduce(person.evolve, first, person.INITIAL)

    assert first == (PersonSuppressed(prints=("a", "b"), at=AT),)
    assert person.decide(SuppressPerson(prints=("a",), at=AT), state) == ()
    assert person.decide(SuppressPerson(prints=("a", "c"), at=AT), state) == (
        PersonSuppressed(prints=("c",), at=AT),
    )
    assert state.prints == {"a", "b"}
