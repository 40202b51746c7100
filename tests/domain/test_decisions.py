"""Keys, the service, mail domains, persons and disclosures: what each command causes."""

from datetime import UTC, datetime, timedelta
from functools import reduce
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain import disclosure, key, mail_domain, person, service
from cs.domain.api_key import hash_key, make_key, well_formed
from cs.domain.contact import Query
from cs.domain.disclosure import (
    REASON_AT_LEAST,
    REASON_AT_MOST,
    DisclosedEvents,
    DisclosureMade,
    clean_reason,
)
from cs.domain.key import (
    REMEMBERED,
    GrantQuota,
    Idempotency,
    IssueKey,
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    RevokeKey,
    RotateKey,
    SearchAdmitted,
    SearchOutcome,
    SearchSettled,
    SettleSearch,
)
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import BELIEVED_FOR, DomainLearned, LearnDomain
from cs.domain.person import ErasePerson, PersonErased, PersonSuppressed
from cs.domain.rate_limits import DAY, PER_DAY
from cs.domain.refusal import Refusal
from cs.domain.service import (
    ChooseWorld,
    DeadLetterDiscarded,
    HandleDeadLetter,
    Pause,
    Paused,
    Resume,
    Resumed,
    WorldChosen,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def admitted(search: str, at: datetime = AT, used: Idempotency | None = None) -> SearchAdmitted:
    return SearchAdmitted(
        search=search,
        brand="Acme",
        query=Query("Acme"),
        lookup="brand-a.1",
        idempotency=used,
        at=at,
    )


def settle(search: str, outcome: SearchOutcome = "done", verified: int = 1) -> SettleSearch:
    return SettleSearch(
        search=search, lookup="brand-a.1", outcome=outcome, verified=verified, at=AT
    )


def settled(search: str, outcome: SearchOutcome = "done", at: datetime = AT) -> SearchSettled:
    return SearchSettled(
        search=search,
        lookup="brand-a.1",
        outcome=outcome,
        charged=outcome == "done",
        cached=False,
        at=at,
    )


def discard(published_at: datetime) -> HandleDeadLetter:
    return HandleDeadLetter(letter="t 0/7", published_at=published_at, again=False, at=AT)


def issue(secret: str, quota: int = 3) -> IssueKey:
    return IssueKey(label="test", quota=quota, secret_hash=secret, last4="aaaa", at=AT)


ISSUED = KeyIssued(label="test", quota=3, secret_hash="h1", last4="aaaa", at=AT)
ROTATE = RotateKey(secret_hash="h2", last4="bbbb", at=AT)
ROTATED = KeyRotated(secret_hash="h2", last4="bbbb", at=AT)
REVOKED = KeyRevoked(at=AT)
#: A key of three units: one is used, one reserved.
IN_USE: list[Any] = [ISSUED, admitted("s1"), admitted("s2"), settled("s1")]
WORLD = WorldChosen(world="sandbox", at=AT)
LIVE, PAUSED, RESUMED = WorldChosen(world="live", at=AT), Paused(at=AT), Resumed(at=AT)
DISCARDED = DeadLetterDiscarded(letter="t 0/7", at=AT)


def facts(at: datetime = AT, **known: Any) -> DomainLearned:
    return DomainLearned(facts=DomainFacts(**known), expires_at=at + BELIEVED_FOR, at=at)


def learn(at: datetime = AT, **known: Any) -> LearnDomain:
    return LearnDomain(facts=DomainFacts(**known), at=at)


ERASE = ErasePerson(found_in=("brand-b.1#p2", "brand-a.1#p1", "brand-a.1#p1"), at=AT)
ERASED = PersonErased(found_in=("brand-a.1#p1", "brand-b.1#p2"), at=AT)
SUPPRESSED = PersonSuppressed(at=AT)


def opened(why: str, file: str = "a[2J.json") -> DisclosureMade:
    return DisclosureMade(
        command="events show", why=why, asked=DisclosedEvents(), upto=3, file=file, at=AT
    )


#: Category, events before, a command, and the events that it causes or the code of its refusal.
DECISIONS: list[tuple[ModuleType, list[Any], Any, list[Any] | str]] = [
    (key, [], issue("h1"), [ISSUED]),
    (key, [ISSUED], issue("h1"), []),
    (key, [ISSUED], issue("h2"), "key-exists"),
    (key, [], issue("h1", -1), "quota-invalid"),
    *((key, [], each, "key-missing") for each in (ROTATE, RevokeKey(at=AT), settle("s1"))),
    (key, [], GrantQuota(units=1, at=AT), "key-missing"),
    (key, [ISSUED], ROTATE, [ROTATED]),
    (key, [ISSUED, ROTATED], ROTATE, []),
    (key, [ISSUED, REVOKED], ROTATE, "key-revoked"),
    (key, [ISSUED], RevokeKey(at=AT), [REVOKED]),
    (key, [ISSUED, REVOKED], RevokeKey(at=AT), []),
    (key, IN_USE, GrantQuota(units=2, at=AT), [QuotaGranted(units=2, at=AT)]),
    (key, IN_USE, GrantQuota(units=0, at=AT), []),
    (key, IN_USE, GrantQuota(units=-1, at=AT), [QuotaGranted(units=-1, at=AT)]),
    (key, IN_USE, GrantQuota(units=-2, at=AT), "quota-invalid"),
    # A search that runs while its key is rotated or revoked is settled on it, once.
    (key, [ISSUED, admitted("s1"), ROTATED, REVOKED], settle("s1"), [settled("s1")]),
    (key, IN_USE, settle("s2", "no_emails", 0), [settled("s2", "no_emails")]),
    *((key, IN_USE, each, []) for each in (settle("s1"), settle("s1", "timeout", 0))),
    (key, IN_USE, settle("never"), []),
    # Time in a stream never steps back.
    (
        key,
        [ISSUED, admitted("s1", AT + SECOND)],
        RevokeKey(at=AT - DAY),
        [KeyRevoked(at=AT + SECOND, clock=AT - DAY)],
    ),
    # A log belongs to the world of the first that starts.
    (service, [], ChooseWorld(world="sandbox", at=AT), [WORLD]),
    (service, [WORLD], ChooseWorld(world="sandbox", at=AT), []),
    (service, [WORLD], ChooseWorld(world="live", at=AT), "other-world"),
    (service, [LIVE], Pause(at=AT), [PAUSED]),
    (service, [LIVE, PAUSED], Pause(at=AT), []),
    (service, [LIVE, PAUSED], Resume(at=AT), [RESUMED]),
    (service, [LIVE, PAUSED, RESUMED], Resume(at=AT), []),
    (service, [LIVE], Resume(at=AT), []),
    (service, [], Pause(at=AT), "no-service"),
    # A dead letter is handled once; a later one may stand at the same place.
    (service, [LIVE], discard(AT), [DISCARDED]),
    (service, [LIVE, DISCARDED], discard(AT), "letter-handled"),
    (service, [LIVE, DISCARDED], discard(AT + SECOND), [DISCARDED]),
    # New facts are added to the old, the newest counts, and what is no longer believed goes.
    (mail_domain, [], learn(catch_all=True), [facts(catch_all=True)]),
    (
        mail_domain,
        [facts(catch_all=True, greylists=True)],
        learn(catch_all=False, pattern="f.last"),
        [facts(catch_all=False, greylists=True, pattern="f.last")],
    ),
    *(
        (mail_domain, [facts(catch_all=True)], each, [])
        for each in (learn(), learn(catch_all=True))
    ),
    (mail_domain, [], learn(), []),
    (
        mail_domain,
        [facts(catch_all=True)],
        learn(AT + BELIEVED_FOR, greylists=True),
        [facts(AT + BELIEVED_FOR, greylists=True)],
    ),
    # A person is erased from where they were found, and suppressed once: also without a lookup.
    (person, [], ERASE, [ERASED, SUPPRESSED]),
    (person, [ERASED, SUPPRESSED], ERASE, []),
    (
        person,
        [ERASED, SUPPRESSED],
        ErasePerson(found_in=("brand-a.1#p1", "brand-c.1#p1"), at=AT),
        [PersonErased(found_in=("brand-c.1#p1",), at=AT)],
    ),
    (person, [], ErasePerson(found_in=(), at=AT), [SUPPRESSED]),
    # A disclosure is made once, and stored as it was given.
    (
        disclosure,
        [],
        opened("A customer asks,  ticket\t4711", "a\x1b[2J.json"),
        [opened("A customer asks, ticket 4711")],
    ),
    (disclosure, [opened("A customer asks")], opened("A customer asks again"), []),
    *(
        (disclosure, [], opened(why), "reason-invalid")
        for why in ("", "audit", "of \x00\x01\u202e 4711", "a b " * 76, "Of jane@acme.example")
    ),
]


@pytest.mark.parametrize(("category", "before", "command", "then"), DECISIONS)
def test_a_command_causes_these_events(
    category: Any, before: list[Any], command: Any, then: list[Any] | str
) -> None:
    state = reduce(category.evolve, before, category.INITIAL)

    if isinstance(then, str):
        with pytest.raises(Refusal) as refused:
            category.decide(command, state)
        assert refused.value.code == then
    else:
        assert list(category.decide(command, state)) == then


@pytest.mark.parametrize(("outcome", "verified"), [("done", 0), ("no_emails", 1)])
def test_an_outcome_that_contradicts_its_charge_is_a_bug(
    outcome: SearchOutcome, verified: int
) -> None:
    with pytest.raises(ValueError, match=outcome):
        key.settled("s1", "brand-a.1", outcome, verified, cached=False, at=AT)


def test_a_key_with_many_searches_is_as_small_as_one_with_few() -> None:
    state = reduce(key.evolve, [ISSUED], key.INITIAL)
    for n in range(500):
        at = AT + timedelta(hours=n)
        run: list[Any] = [admitted(f"s{n}", at, Idempotency(f"k{n}", "b"))]
        run.append(settled(f"s{n}", "timeout", at))
        state = reduce(key.evolve, run, state)

    assert (len(state.admitted_at), len(state.remembered)) == (PER_DAY, REMEMBERED)
    assert state.running == ()
    assert state.remembered[-1].idempotency.key == "k499"
    assert state.admitted_at[-1] == AT + timedelta(hours=499)


def test_facts_of_a_mail_domain_are_believed_for_a_week() -> None:
    state = reduce(mail_domain.evolve, [facts(catch_all=True)], mail_domain.INITIAL)

    assert state.known(AT + BELIEVED_FOR - SECOND) == DomainFacts(catch_all=True)
    assert state.known(AT + BELIEVED_FOR) == DomainFacts()


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
    one, other = make_key(b"\x01" * 32), make_key(b"\x02" * 24)

    assert one == make_key(b"\x01" * 32) != other
    assert one.startswith("cs_live_")
    assert len(one) == 46
    assert len(hash_key(one)) == 64
    assert hash_key(one) != hash_key(other)
    with pytest.raises(ValueError, match="24 bytes"):
        make_key(b"\x00" * 23)


def test_a_key_with_a_typo_and_other_text_are_no_keys() -> None:
    made = make_key(bytes(range(32)))
    typos = [f"{made[:n]}{'Z' if c != 'Z' else 'Y'}{made[n + 1 :]}" for n, c in enumerate(made)]
    other = ["", "cs_live_", "cs_live_" + "é" * 38, "CS_LIVE_" + "0" * 38, f"{made}0"]

    assert well_formed(made)
    assert not any(map(well_formed, (*typos, *other)))
