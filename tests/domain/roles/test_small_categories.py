"""The service, mail domains, persons, disclosures, the text of keys: each rule by example."""

from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain import disclosure, mail_domain, person, service
from cs.domain.api_key import hash_key, make_key, well_formed
from cs.domain.disclosure import (
    REASON_AT_LEAST,
    REASON_AT_MOST,
    DisclosedEvents,
    DisclosureMade,
    clean_reason,
)
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import BELIEVED_FOR, DomainLearned, LearnDomain
from cs.domain.person import ErasePerson, PersonErased, PersonSuppressed
from cs.domain.refusal import Refusal
from cs.domain.service import ChooseWorld, Pause, Paused, Resume, Resumed, WorldChosen

AT = datetime(2026, 1, 1, tzinfo=UTC)


# The service.


def test_a_log_belongs_to_the_world_of_the_first_that_starts() -> None:
    chosen = service.decide(ChooseWorld(world="sandbox", at=AT), service.INITIAL)
    state = reduce(service.evolve, chosen, service.INITIAL)

    assert chosen == (WorldChosen(world="sandbox", at=AT),)
    assert service.decide(ChooseWorld(world="sandbox", at=AT), state) == ()
    with pytest.raises(Refusal, match="--sandbox") as refused:
        service.decide(ChooseWorld(world="live", at=AT), state)
    assert refused.value.code == "other-world"


def test_pausing_and_resuming_twice_is_quiet() -> None:
    chosen = reduce(service.evolve, [WorldChosen(world="live", at=AT)], service.INITIAL)
    paused = reduce(service.evolve, [Paused(at=AT)], chosen)
    resumed = reduce(service.evolve, [Resumed(at=AT)], paused)

    assert service.decide(Pause(at=AT), chosen) == (Paused(at=AT),)
    assert service.decide(Pause(at=AT), paused) == ()
    assert service.decide(Resume(at=AT), paused) == (Resumed(at=AT),)
    assert service.decide(Resume(at=AT), resumed) == ()
    assert service.decide(Resume(at=AT), chosen) == ()


def test_where_no_service_has_run_there_is_nothing_to_pause() -> None:
    with pytest.raises(Refusal) as refused:
        service.decide(Pause(at=AT), service.INITIAL)

    assert refused.value.code == "no-service"


# Mail domains.


def learn(
    facts: DomainFacts, state: mail_domain.MailDomain, at: datetime = AT
) -> tuple[DomainLearned, ...]:
    return mail_domain.decide(LearnDomain(facts=facts, at=at), state)


def test_what_is_learned_is_believed_for_a_week() -> None:
    (learned,) = learn(DomainFacts(catch_all=True), mail_domain.INITIAL)
    state = reduce(mail_domain.evolve, [learned], mail_domain.INITIAL)

    assert learned.expires_at == AT + BELIEVED_FOR
    assert state.known(learned.expires_at - timedelta(seconds=1)) == DomainFacts(catch_all=True)
    assert state.known(learned.expires_at) == DomainFacts()


def test_new_facts_are_added_to_the_old_and_the_newest_counts() -> None:
    state = reduce(
        mail_domain.evolve,
        learn(DomainFacts(catch_all=True, greylists=True), mail_domain.INITIAL),
        mail_domain.INITIAL,
    )

    (learned,) = learn(DomainFacts(catch_all=False, pattern="f.last"), state)

    assert learned.facts == DomainFacts(catch_all=False, greylists=True, pattern="f.last")


def test_learning_nothing_new_is_quiet() -> None:
    state = reduce(
        mail_domain.evolve,
        learn(DomainFacts(catch_all=True), mail_domain.INITIAL),
        mail_domain.INITIAL,
    )

    assert learn(DomainFacts(), mail_domain.INITIAL) == ()
    assert learn(DomainFacts(), state) == ()
    assert learn(DomainFacts(catch_all=True), state) == ()


def test_what_is_no_longer_believed_is_not_carried_along() -> None:
    state = reduce(
        mail_domain.evolve,
        learn(DomainFacts(catch_all=True), mail_domain.INITIAL),
        mail_domain.INITIAL,
    )

    (learned,) = learn(DomainFacts(greylists=True), state, AT + BELIEVED_FOR)

    assert learned.facts == DomainFacts(greylists=True)


# Persons.


def test_a_person_is_erased_from_where_they_were_found_and_suppressed_once() -> None:
    erase = ErasePerson(found_in=("brand-b.1#p2", "brand-a.1#p1", "brand-a.1#p1"), at=AT)

    events = person.decide(erase, person.INITIAL)
    state = reduce(person.evolve, events, person.INITIAL)

    assert events == (
        PersonErased(found_in=("brand-a.1#p1", "brand-b.1#p2"), at=AT),
        PersonSuppressed(at=AT),
    )
    assert person.decide(erase, state) == ()
    more = ErasePerson(found_in=("brand-a.1#p1", "brand-c.1#p1"), at=AT)
    assert person.decide(more, state) == (PersonErased(found_in=("brand-c.1#p1",), at=AT),)


def test_somebody_never_found_is_suppressed_all_the_same() -> None:
    assert person.decide(ErasePerson(found_in=(), at=AT), person.INITIAL) == (
        PersonSuppressed(at=AT),
    )


# Disclosures.


def disclose(why: str, state: disclosure.Disclosure = disclosure.INITIAL) -> Any:
    draft = DisclosureMade(
        command="events show",
        why=why,
        asked=DisclosedEvents(),
        upto=3,
        file="a\x1b[2J.json",
        at=AT,
    )
    return disclosure.decide(draft, state)


def test_a_disclosure_is_made_once_and_stored_as_said() -> None:
    (made,) = disclose("A customer asks,  ticket\t4711")

    assert (made.why, made.file) == ("A customer asks, ticket 4711", "a[2J.json")
    assert (
        disclose("A customer asks again", reduce(disclosure.evolve, [made], disclosure.INITIAL))
        == ()
    )


@pytest.mark.parametrize(
    "why",
    [
        "",
        "audit",
        "of \x00\x01\u202e 4711",
        "a b " * 76,
        "Asked by jane@acme.example today",
    ],
)
def test_what_is_no_reason_is_refused(why: str) -> None:
    with pytest.raises(Refusal) as refused:
        disclose(why)

    assert refused.value.code == "reason-invalid"


@given(st.text(max_size=400))
def test_a_reason_is_printable_one_line_and_stays_as_it_is(why: str) -> None:
    try:
        reason = clean_reason(why)
    except Refusal:
        return
    assert reason.isprintable()
    assert REASON_AT_LEAST <= len(reason) <= REASON_AT_MOST
    assert clean_reason(reason) == reason


# The text of keys.


def test_a_key_is_made_of_its_entropy_alone() -> None:
    one, other = make_key(b"\x01" * 32), make_key(b"\x02" * 32)

    assert one == make_key(b"\x01" * 32) != other
    assert one.startswith("cs_live_")
    assert len(one) == 46
    assert well_formed(one)
    assert len(hash_key(one)) == 64
    assert hash_key(one) != hash_key(other)


def test_too_little_entropy_makes_no_key() -> None:
    assert well_formed(make_key(b"\x00" * 24))
    with pytest.raises(ValueError, match="24 bytes"):
        make_key(b"\x00" * 23)


def test_every_single_typo_in_a_key_is_seen() -> None:
    key = make_key(bytes(range(32)))

    for place in range(len(key)):
        wrong = "Z" if key[place] != "Z" else "Y"
        assert not well_formed(key[:place] + wrong + key[place + 1 :])


@pytest.mark.parametrize("text", ["", "cs_live_", "cs_live_" + "é" * 38, "CS_LIVE_" + "0" * 38])
def test_other_text_is_no_key(text: str) -> None:
    assert not well_formed(text)
    assert not well_formed(make_key(bytes(32)) + "0")
