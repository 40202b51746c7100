"""Contract L16: the time of a stream's events never goes back, and so nothing is frozen.

A clock that stands still or steps back a little is met with the last event's time.  One that
steps back further was ahead before: what is decided goes by it, and the events say so.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import reduce
from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from cs.domain import key, mail_domain, service
from cs.domain.admission import AskSearch, Situation, admit
from cs.domain.brand import brand
from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import (
    DEADLINE,
    ForgetBrand,
    PassDeadline,
    RecordFinding,
    Restart,
    StartLookup,
)
from cs.domain.contact import Query
from cs.domain.key import GrantQuota, IssueKey, RotateKey
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import BELIEVED_FOR, LearnDomain
from cs.domain.messages import STANDS_STILL
from cs.domain.rate_limits import DAY, MINUTE, PER_DAY, PER_MINUTE
from cs.domain.refusal import Refusal
from cs.domain.service import ChooseWorld, Pause, Resume
from cs.domain.stages.work import Resolved
from domain.acme_run import AT, QUERY, STREAM, AcmeRun

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
LOOKUP = f"{STREAM}.1"
NO_MATCH = Resolved(status="no_match")

#: Of a clock between two commands: it runs, stands still, or is set an hour back.
passing = st.one_of(
    st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=1)),
    st.just(timedelta(0)),
    st.just(-HOUR),
)


Make = Callable[[datetime], Any]
#: By kind of stream: its first command, and others that are never refused.
COMMANDS: list[tuple[ModuleType, Make, list[Make]]] = [
    (
        key,
        lambda at: IssueKey(label="", quota=5, secret_hash="first", last4="0000", at=at),
        [
            lambda at: GrantQuota(units=1, at=at),
            lambda at: RotateKey(secret_hash=at.isoformat(), last4="0000", at=at),
        ],
    ),
    (
        brand,
        lambda at: StartLookup(stream=STREAM, query=QUERY, at=at),
        [
            lambda at: StartLookup(stream=STREAM, query=QUERY, at=at),
            lambda at: RecordFinding(
                lookup=LOOKUP,
                stage="brand-resolution",
                item="",
                attempt=1,
                finding=NO_MATCH,
                known={},
                at=at,
            ),
            lambda at: PassDeadline(lookup=LOOKUP, at=at),
            lambda at: ForgetBrand(at=at),
        ],
    ),
    (
        mail_domain,
        lambda at: LearnDomain(facts=DomainFacts(catch_all=True), at=at),
        [
            lambda at: LearnDomain(facts=DomainFacts(catch_all=True), at=at),
            lambda at: LearnDomain(facts=DomainFacts(catch_all=False), at=at),
        ],
    ),
    (
        service,
        lambda at: ChooseWorld(world="sandbox", at=at),
        [lambda at: Pause(at=at), lambda at: Resume(at=at)],
    ),
]


@pytest.mark.parametrize(("category", "first", "others"), COMMANDS)
@given(data=st.data())
def test_whatever_the_clock_does_a_streams_time_never_goes_back(
    category: Any, first: Make, others: list[Make], data: st.DataObject
) -> None:
    at, state, times = AT, category.INITIAL, list[datetime]()
    made = [first, *data.draw(st.lists(st.sampled_from(others), min_size=1, max_size=12))]
    for make in made:
        for event in category.decide(make(at), state):
            state = category.evolve(state, event)
            times.append(event.at)
            assert event.at >= at
        at += data.draw(passing, "passing")

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


class Caller:
    """A key, all of its events, and searches of it that end at once."""

    def __init__(self) -> None:
        issue = IssueKey(label="", quota=1_000, secret_hash="h", last4="0000", at=AT)
        self.events: list[key.KeyEvent] = []
        self.state = key.INITIAL
        self.searches = 0
        self._append(key.decide(issue, self.state))

    def search(self, at: datetime, idempotency: key.Idempotency | None = None) -> str:
        """Admit a search at *at*, which only the windows can refuse; return its id."""
        number, self.searches = self.searches, self.searches + 1
        situation = Situation(key=self.state, brand=brand.INITIAL)
        admission = admit(replace(asked(number, at), idempotency=idempotency), situation)
        self._append(admission.key_events)
        settle = key.SettleSearch(
            search=f"srch_{number}",
            lookup=f"{brand_stream(Query(f'Acme {number}'))}.1",
            outcome="no_linkedin",
            verified=0,
            at=at,
        )
        self._append(key.decide(settle, self.state))
        return admission.search

    def _append(self, events: Iterable[key.KeyEvent]) -> None:
        for event in events:
            self.events.append(event)
            self.state = key.evolve(self.state, event)


def full(taken: list[datetime], now: datetime) -> bool:
    windows = ((MINUTE, PER_MINUTE), (DAY, PER_DAY))
    return any(sum(now - span < at for at in taken) >= limit for span, limit in windows)


@given(
    ahead=st.timedeltas(2 * STANDS_STILL, timedelta(days=3650)),
    while_ahead=st.integers(0, PER_DAY + 5),
    gaps=st.lists(st.timedeltas(timedelta(0), timedelta(minutes=5)), min_size=1, max_size=80),
)
def test_after_a_clock_was_ahead_a_key_has_its_limits_by_the_right_time(
    ahead: timedelta, while_ahead: int, gaps: list[timedelta]
) -> None:
    caller, now = Caller(), AT
    for _ in range(while_ahead):
        now += 11 * SECOND
        with suppress(Refusal):
            caller.search(now + ahead)
    taken: list[datetime] = []

    for gap in gaps:
        now += gap
        try:
            caller.search(now)
        except Refusal as refused:
            waits = refused.retry_after
            assert refused.code == "rate_limited"  # noqa: PT017  the others mean a bug
            assert waits is not None
            assert timedelta(0) < waits <= DAY
            if now + waits + STANDS_STILL >= AT + ahead:
                break  # the time is near at which what was stored then counts
            assert full(taken, now), "by what was searched since"
            now += waits
            caller.search(now)
        taken.append(now)

    for now in taken:
        for span, limit in ((MINUTE, PER_MINUTE), (DAY, PER_DAY)):
            assert sum(now - span < at <= now for at in taken) <= limit


@given(ahead=st.timedeltas(2 * STANDS_STILL, timedelta(days=3650)))
def test_an_idempotency_key_of_a_clock_that_was_ahead_is_remembered_for_a_day(
    ahead: timedelta,
) -> None:
    # A clock less than a minute behind the last event stands still, and a minute is then lost.
    assume(not DAY - SECOND < ahead <= DAY - SECOND + STANDS_STILL)
    caller, idempotency = Caller(), key.Idempotency("k", "b")
    first = caller.search(AT + ahead, idempotency)

    assert caller.search(AT, idempotency) == first
    caller.search(AT)
    assert caller.search(AT + DAY - SECOND, idempotency) == first
    assert caller.search(AT + DAY, idempotency) != first


@given(
    ahead=st.timedeltas(2 * STANDS_STILL, timedelta(days=3650)),
    later=st.timedeltas(timedelta(0), timedelta(days=40)),
)
def test_what_a_clock_that_was_ahead_found_is_not_reused_and_what_is_found_then_for_30_days(
    ahead: timedelta, later: timedelta
) -> None:
    run = AcmeRun()
    run.record("brand-resolution", NO_MATCH)
    assert run.state.answer(run.at) is not None
    run.at = now = AT - ahead
    assert run.state.answer(now) is None

    run.start()
    assert run.live.deadline_at == now + DEADLINE
    run.record("brand-resolution", NO_MATCH, lookup=f"{STREAM}.2")

    reused = run.state.answer(now + SECOND + later) is not None
    assert reused == (later < timedelta(days=30))
    times = [event.at for event in run.events]
    assert times == sorted(times)


@given(ahead=st.timedeltas(2 * STANDS_STILL, timedelta(days=3650)), restart=st.booleans())
def test_a_run_begun_by_a_clock_that_was_ahead_is_ended_and_not_waited_for(
    ahead: timedelta, restart: bool
) -> None:
    run = AcmeRun()

    run.send((Restart if restart else PassDeadline)(lookup=run.live.id, at=AT - ahead))

    assert run.finish.outcome == "timeout"


@given(ahead=st.timedeltas(2 * STANDS_STILL, timedelta(days=3650)))
def test_facts_that_a_clock_that_was_ahead_learned_are_believed_no_longer(
    ahead: timedelta,
) -> None:
    facts = DomainFacts(catch_all=True)
    learned = mail_domain.decide(LearnDomain(facts=facts, at=AT + ahead), mail_domain.INITIAL)
    state = reduce(mail_domain.evolve, learned, mail_domain.INITIAL)
    assert state.known(AT) == DomainFacts()

    state = reduce(
        mail_domain.evolve, mail_domain.decide(LearnDomain(facts=facts, at=AT), state), state
    )
    assert state.known(AT + BELIEVED_FOR - SECOND) == facts
    assert state.known(AT + BELIEVED_FOR) == DomainFacts()
