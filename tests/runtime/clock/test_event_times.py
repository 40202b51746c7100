"""Contract L16: the time of a stream's events never goes back, and so nothing is frozen.

A clock that stands still or steps back is met with the last event's time.  What waits on
a window waits as long as the step and the window, and no longer.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain import key, mail_domain, service
from cs.domain.admission import AskSearch, Situation, admit
from cs.domain.brand import brand
from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import ForgetBrand, PassDeadline, RecordFinding, StartLookup
from cs.domain.contact import Query
from cs.domain.key import GrantQuota, IssueKey, RotateKey
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import LearnDomain
from cs.domain.rate_limits import MINUTE, PER_MINUTE
from cs.domain.refusal import Refusal
from cs.domain.service import ChooseWorld, Pause, Resume
from cs.domain.stages.work import Resolved

AT = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
STREAM = brand_stream(Query("Acme"))
LOOKUP = f"{STREAM}.1"

#: Of a clock between two commands: it runs, stands still, or is set an hour back.
passing = st.one_of(
    st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=1)),
    st.just(timedelta(0)),
    st.just(-HOUR),
)


class Category(msgspec.Struct, frozen=True):
    """A kind of stream, and commands for it that are never refused."""

    decide: Callable[[Any, Any], Any]
    evolve: Callable[[Any, Any], Any]
    initial: Any
    first: Callable[[datetime], Any]
    commands: tuple[Callable[[datetime], Any], ...]


CATEGORIES = {
    "key": Category(
        key.decide,
        key.evolve,
        key.INITIAL,
        lambda at: IssueKey(label="", quota=5, secret_hash="first", last4="0000", at=at),
        (
            lambda at: GrantQuota(units=1, at=at),
            lambda at: RotateKey(secret_hash=at.isoformat(), last4="0000", at=at),
        ),
    ),
    "brand": Category(
        brand.decide,
        brand.evolve,
        brand.INITIAL,
        lambda at: StartLookup(stream=STREAM, query=Query("Acme"), at=at),
        (
            lambda at: StartLookup(stream=STREAM, query=Query("Acme"), at=at),
            lambda at: RecordFinding(
                lookup=LOOKUP,
                stage="brand-resolution",
                item="",
                attempt=1,
                finding=Resolved(status="no_match"),
                known={},
                at=at,
            ),
            lambda at: PassDeadline(lookup=LOOKUP, at=at),
            lambda at: ForgetBrand(at=at),
        ),
    ),
    "mail-domain": Category(
        mail_domain.decide,
        mail_domain.evolve,
        mail_domain.INITIAL,
        lambda at: LearnDomain(facts=DomainFacts(catch_all=True), at=at),
        (
            lambda at: LearnDomain(facts=DomainFacts(catch_all=True), at=at),
            lambda at: LearnDomain(facts=DomainFacts(catch_all=False), at=at),
        ),
    ),
    "service": Category(
        service.decide,
        service.evolve,
        service.INITIAL,
        lambda at: ChooseWorld(world="sandbox", at=at),
        (lambda at: Pause(at=at), lambda at: Resume(at=at)),
    ),
}


@pytest.mark.parametrize("name", CATEGORIES)
@given(data=st.data())
def test_whatever_the_clock_does_a_streams_time_never_goes_back(
    name: str, data: st.DataObject
) -> None:
    category = CATEGORIES[name]
    at = AT
    events = list(category.decide(category.first(at), category.initial))
    state = category.initial
    for event in events:
        state = category.evolve(state, event)
    for _ in range(data.draw(st.integers(1, 12), "commands")):
        at += data.draw(passing, "passing")
        command = data.draw(st.sampled_from(category.commands), "command")(at)
        for event in category.decide(command, state):
            state = category.evolve(state, event)
            events.append(event)
            assert event.at >= at

    times = [event.at for event in events]
    assert times == sorted(times)


def asked(number: int, at: datetime) -> AskSearch:
    query = Query(f"Acme {number}")
    return AskSearch(
        at=at,
        search=f"srch_{number}",
        brand=query.brand or "",
        query=query,
        stream=brand_stream(query),
        secret_hash="h",
        nonce="",
        deadline=timedelta(seconds=120),
    )


def issued() -> key.Key:
    issue = IssueKey(label="", quota=1_000, secret_hash="h", last4="0000", at=AT)
    return key.fold(key.decide(issue, key.INITIAL))


def admitted(state: key.Key, number: int, at: datetime) -> key.Key:
    """Admit a search at *at* and end it at once, so that only the windows can refuse."""
    admission = admit(asked(number, at), Situation(key=state, brand=brand.INITIAL))
    state = key.fold(admission.key_events, state)
    settle = key.SettleSearch(
        search=f"srch_{number}",
        lookup=f"{brand_stream(Query(f'Acme {number}'))}.1",
        outcome="no_linkedin",
        verified=0,
        at=at,
    )
    return key.fold(key.decide(settle, state), state)


@given(step=st.timedeltas(min_value=timedelta(0), max_value=2 * HOUR))
def test_a_step_back_holds_a_full_window_for_the_step_and_no_longer(step: timedelta) -> None:
    state = issued()
    for number in range(PER_MINUTE):
        state = admitted(state, number, AT)
    opens_at = AT + MINUTE

    with pytest.raises(Refusal, match="6 searches per minute"):
        admitted(state, 6, AT - step)
    with pytest.raises(Refusal, match="6 searches per minute"):
        admitted(state, 6, opens_at - SECOND)
    admitted(state, 6, opens_at)


@given(st.lists(passing, min_size=1, max_size=30))
def test_with_a_clock_that_jumps_no_minute_admits_more_than_six(
    moves: list[timedelta],
) -> None:
    state, at = issued(), AT
    for number, move in enumerate(moves):
        at += move / 600
        try:
            state = admitted(state, number, at)
        except Refusal as refused:
            assert refused.code == "rate_limited"  # noqa: PT017  the others mean a bug
        if number % 3 == 0:
            at -= HOUR
    times = state.admitted_at

    assert list(times) == sorted(times)
    for first, seventh in zip(times, times[PER_MINUTE:], strict=False):
        assert seventh - first >= MINUTE
