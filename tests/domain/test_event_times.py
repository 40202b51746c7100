"""Contract L16: the time of a stream's events never goes back, and so nothing is frozen.

A clock that stands still or steps back a little is met with the last event's time.  One that
steps back further was ahead before: what is decided goes by it, and the events say so.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import msgspec
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
    BrandCommand,
    BrandEvent,
    ForgetBrand,
    LookupFinished,
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


@given(step=st.timedeltas(min_value=timedelta(0), max_value=STANDS_STILL))
def test_a_small_step_back_holds_a_full_window_for_the_step_and_no_longer(
    step: timedelta,
) -> None:
    caller = Caller()
    for _ in range(PER_MINUTE):
        caller.search(AT)
    opens_at = AT + MINUTE

    with pytest.raises(Refusal, match="6 searches per minute"):
        caller.search(AT - step)
    with pytest.raises(Refusal, match="6 searches per minute"):
        caller.search(opens_at - SECOND)
    caller.search(opens_at)


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


class BrandRuns:
    """A brand and its runs, each of which finds that there is no such brand."""

    def __init__(self) -> None:
        self.state = brand.INITIAL
        self.events: list[BrandEvent] = []

    def decide(self, command: BrandCommand) -> None:
        for event in brand.decide(command, self.state):
            self.events.append(event)
            self.state = brand.evolve(self.state, event)

    def start(self, at: datetime) -> None:
        self.decide(StartLookup(stream=STREAM, query=Query("Acme"), at=at))

    def end(self, at: datetime) -> None:
        assert self.state.live is not None
        resolved = Resolved(status="no_match")
        self.decide(
            RecordFinding(
                lookup=self.state.live.id,
                stage="brand-resolution",
                item="",
                attempt=1,
                finding=resolved,
                known={},
                at=at,
            )
        )


@given(
    ahead=st.timedeltas(2 * STANDS_STILL, timedelta(days=3650)),
    later=st.timedeltas(timedelta(0), timedelta(days=40)),
)
def test_what_a_clock_that_was_ahead_found_is_not_reused_and_what_is_found_then_for_30_days(
    ahead: timedelta, later: timedelta
) -> None:
    runs = BrandRuns()
    runs.start(AT + ahead)
    runs.end(AT + ahead)
    assert runs.state.answer(AT + ahead) is not None
    assert runs.state.answer(AT) is None

    runs.start(AT)
    assert runs.state.live is not None
    assert runs.state.live.deadline_at == AT + DEADLINE
    runs.end(AT + SECOND)

    reused = runs.state.answer(AT + SECOND + later) is not None
    assert reused == (later < timedelta(days=30))
    times = [event.at for event in runs.events]
    assert times == sorted(times)


@given(ahead=st.timedeltas(2 * STANDS_STILL, timedelta(days=3650)), restart=st.booleans())
def test_a_run_begun_by_a_clock_that_was_ahead_is_ended_and_not_waited_for(
    ahead: timedelta, restart: bool
) -> None:
    runs = BrandRuns()
    runs.start(AT + ahead)

    runs.decide((Restart if restart else PassDeadline)(lookup=LOOKUP, at=AT))

    assert runs.state.live is None
    assert isinstance(runs.events[-1], LookupFinished)
    assert runs.events[-1].outcome == "timeout"


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
