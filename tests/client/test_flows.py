"""Conversations with the service as it is modelled: what is lost, and what is charged."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.answering import RUNNING, Time
from client.model import AT_CAPACITY, FAULTS, LIVE_S, Model
from cs.client import (
    ClientError,
    Done,
    Patience,
    Query,
    RateLimited,
    Running,
    Search,
    StillRunning,
    TooLate,
    TooManyRequests,
    Unreachable,
    Unsendable,
)
from cs.client.calls import Call, NoReply, Reply
from cs.client.flows import Flow, Flows, Send, StepResult, WaitFor
from cs.client.many import FULL_AFTER, ManySearches, Outcome
from cs.client.retries import NO_RETRIES

PATIENT = Patience(tries=100, total_s=10_000)
DAYS = Patience(longest_s=90_000, total_s=360_000)
faults = st.lists(st.sampled_from(FAULTS), max_size=12)


def flows(patience: Patience = PATIENT, wall: Callable[[], float] = float) -> Flows:
    return Flows(patience, "here", wall)


@given(faults)
def test_whatever_befalls_it_a_wish_is_one_search(befall: list[str]) -> None:
    model = Model(Time(), befall)

    found = model.run(flows().search(Query("Acme"), None))

    assert isinstance(found, Done)
    assert len(model.searches) == 1


@given(befall=faults, tries=st.integers(1, 3), total_s=st.floats(0, 5))
def test_without_patience_it_ends_with_an_error_and_never_with_two_searches(
    befall: list[str], tries: int, total_s: float
) -> None:
    model = Model(Time(), befall)
    hurried = Patience(tries=tries, total_s=total_s)

    try:
        model.run(flows(hurried).search(Query("Acme", idempotency_key="wish"), None))
    except ClientError:
        model.run(flows().search(Query("Acme", idempotency_key="wish"), None))

    assert len(model.searches) == 1


@given(
    befall=faults, count=st.integers(0, 15), same=st.integers(1, 15), at_once=st.integers(1, 4)
)
def test_each_of_many_ends_once_and_is_charged_once(
    befall: list[str], count: int, same: int, at_once: int
) -> None:
    model = Model(Time(), befall)
    queries = [Query(f"brand {number % same}") for number in range(count)]

    ended = model.outcomes(many(queries, at_once=at_once))

    assert all(isinstance(each.search, Done) for each in ended)
    assert sorted(e.query.brand or "" for e in ended) == sorted(q.brand or "" for q in queries)
    assert len(model.searches) == count
    assert model.most_running <= min(at_once, 2)


def many(
    queries: list[Query],
    at_once: int = 2,
    patience: Patience = PATIENT,
) -> Generator[Send | WaitFor | Outcome, StepResult, None]:
    return ManySearches(flows(patience), queries, at_once=at_once).outcomes()


@pytest.mark.parametrize("brands", [20, 1], ids=["live", "cached"])
def test_many_are_paced_so_that_no_limit_refuses_any(brands: int) -> None:
    model = Model(Time())

    ended = model.outcomes(many([Query(f"brand {number % brands}") for number in range(20)]))

    assert len(ended) == 20
    assert model.refused == []
    # 20 live ones, two at a time, are 10 x 20 s; of cached ones 6 a minute are allowed.
    assert model.time.at <= 20 / 2 * (LIVE_S + 6)


def test_one_that_fails_leaves_the_others_alone() -> None:
    model = Model(Time(), ["none", "none", "500", "none"])
    hurried = Patience(tries=1)

    ended = model.outcomes(many([Query("a"), Query("b"), Query("c")], patience=hurried))

    assert {e.query.brand: e.error.code if e.error else "done" for e in ended} == {
        "a": "done",
        "b": "server_error",
        "c": "done",
    }


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "unauthorized"),
        (402, "quota_exhausted"),
        (429, "rate_limited"),
        (503, "api_disabled"),
    ],
)
def test_a_refusal_of_all_is_met_once_and_reported_for_each(status: int, code: str) -> None:
    body = b'{"error": {"code": "%s", "message": "no"}}' % code.encode()
    reply = Reply(status, {"retry-after": "4000"}, body)
    refusing = Refusing(Time(), reply=reply)

    ended = refusing.outcomes(many([Query("a"), Query("b"), Query("c")], at_once=1))

    assert [e.error.code for e in ended if e.error] == [code] * 3
    assert refusing.calls == 1


def test_a_search_that_was_started_before_is_followed_and_not_asked_again() -> None:
    model = Model(Time())
    begun = model.run(flows().start(Query("Acme")))

    ended = model.outcomes(many([Query("Acme", search=begun.id)]))

    assert [e.search.id for e in ended if e.search] == [begun.id]
    assert len(model.searches) == 1


def test_waiting_asks_at_the_pace_the_server_wants() -> None:
    model = Model(Time())
    flow = flows()
    begun = model.run(flow.start(Query("Acme")))

    assert isinstance(model.run(flow.wait(begun, None)), Done)
    assert [slept for slept in model.time.slept if slept] == [5, 5, 5, 5]


def test_waiting_ends_in_time_and_names_its_search() -> None:
    model = Model(Time())
    flow = flows()
    begun = model.run(flow.start(Query("Acme")))

    with pytest.raises(StillRunning) as late:
        model.run(flow.wait(begun, 12))

    assert model.time.at == 12
    assert isinstance(late.value.search, Running)


def test_a_full_window_of_checks_is_waited_out() -> None:
    flow = flows()
    steps = flow.wait(running(), math.inf)
    full = {"ratelimit": '"minute";r=6;t=60, "checks";r=0;t=33'}

    first = told_the_time(steps, next(steps), 0)
    sent = told_the_time(steps, steps.send(StepResult(0, 5)), 5)
    again = told_the_time(steps, steps.send(StepResult(5, 5, Reply(200, full, RUNNING))), 5)

    assert isinstance(sent, Send)
    assert (first, again) == (WaitFor(5), WaitFor(33))


def test_a_hold_that_was_cut_is_not_held_again() -> None:
    steps = flows().search(Query("Acme", "acme.example", "wish"), None)
    held = told_the_time(steps, next(steps), 0)
    paused = steps.send(StepResult(0, 60, NoReply("connection reset")))
    again = told_the_time(steps, steps.send(StepResult(60, 61)), 61)

    assert isinstance(held, Send)
    assert isinstance(paused, WaitFor)
    assert isinstance(again, Send)
    assert b'"wait":true' in held.call.body
    assert again.call.body == held.call.body.replace(b"true", b"false")
    assert again.call.idempotency_key == held.call.idempotency_key == "wish"


def test_a_retried_hold_is_held_only_as_long_as_there_is_time() -> None:
    time = Time()
    steps = flows().search(Query("Acme"), 150)
    calls: list[Call] = []
    step = next(steps)
    while len(calls) < 2:
        began = time.now()
        reply = None
        match step:
            case Send(call):
                calls.append(call)
                time.sleep(call.timeout_s)
                reply = NoReply("read time-out")
            case WaitFor(seconds):
                time.sleep(seconds)
        step = steps.send(StepResult(began, time.now(), reply))

    assert [b'"wait":true' in call.body for call in calls] == [True, False]
    assert time.now() <= 150


@pytest.mark.parametrize("timeout_s", [None, 4000.0, math.inf])
def test_a_limit_that_patience_waits_for_leaves_the_time_of_the_search(
    timeout_s: float | None,
) -> None:
    model = Model(Time(), limited_once_for_s=3600)

    found = model.run(flows(DAYS).search(Query("Acme"), timeout_s))

    assert isinstance(found, Done)
    assert 3600 + LIVE_S <= model.time.at <= 3610 + LIVE_S


def test_a_time_out_that_was_given_bounds_waiting_for_limits_too() -> None:
    model = Model(Time(), limited_once_for_s=3600)

    with pytest.raises(RateLimited):
        model.run(flows(DAYS).search(Query("Acme"), 300))

    assert model.time.at == 0


def test_patience_for_limits_is_none_for_a_search_that_never_ends() -> None:
    model = Model(Time(), limited_once_for_s=3600, live_s=math.inf)

    with pytest.raises(StillRunning):
        model.run(flows(DAYS).search(Query("Acme"), None))

    assert 3600 + 300 <= model.time.at <= 3601 + 300


@pytest.mark.parametrize(
    ("lost", "goes_on"),
    [(NoReply("reset"), False), (NoReply("refused", sent=False), True)],
)
def test_a_lost_answer_is_not_asked_for_when_the_key_may_be_forgotten(
    lost: NoReply, goes_on: bool
) -> None:
    day = 24 * 3600
    endless = Patience(longest_s=2 * day, total_s=9 * day)
    body = b'{"error": {"code": "rate_limited", "message": "60 a day"}}'
    steps = flows(endless).start(Query("Acme"))
    next(steps)
    steps.send(StepResult(0, 1, lost))
    steps.send(StepResult(1, 2))
    limited = StepResult(2, 3, Reply(429, {"retry-after": str(day)}, body))

    if goes_on:
        assert isinstance(steps.send(limited), WaitFor)
    else:
        with pytest.raises(RateLimited) as caught:
            steps.send(limited)
        assert caught.value.in_doubt


@pytest.mark.parametrize(
    ("lost", "goes_on"),
    [(NoReply("reset"), False), (NoReply("refused", sent=False), True)],
)
def test_a_machine_that_was_suspended_for_a_day_does_not_ask_again(
    lost: NoReply, goes_on: bool
) -> None:
    wall = Time()
    steps = flows(wall=wall.now).start(Query("Acme"))
    next(steps)
    paused = steps.send(StepResult(0, 1, lost))
    wall.sleep(24 * 3600)  # the monotonic clock stood still

    assert isinstance(paused, WaitFor)
    if goes_on:
        assert isinstance(steps.send(StepResult(1, 2)), Send)
    else:
        with pytest.raises(Unreachable) as caught:
            steps.send(StepResult(1, 2))
        assert caught.value.in_doubt


def test_a_time_of_day_that_is_set_back_makes_a_key_no_younger() -> None:
    wall = Time(at=1e9)
    steps = flows(DAYS, wall=wall.now).start(Query("Acme"))
    next(steps)
    steps.send(StepResult(0, 1, NoReply("reset")))
    wall.at = 0

    with pytest.raises(Unreachable):
        steps.send(StepResult(1, 24 * 3600))


def asked_before(
    hours: float, wall: Time, patience: Patience = PATIENT
) -> Generator[Send | WaitFor, StepResult, Search]:
    query = Query("Acme", idempotency_key="wish", asked_at=wall.at - hours * 3600)
    return flows(patience, wall=wall.now).start(query)


@pytest.mark.parametrize("asked_at", [0.0, 1e9 - 23 * 3600])
def test_a_wish_that_may_be_forgotten_is_not_asked_again(asked_at: float) -> None:
    flow = flows(wall=Time(at=1e9).now)
    query = Query("Acme", idempotency_key="wish", asked_at=asked_at)

    for steps in (flow.start(query), flow.search(query, 9), flow.follow(query, None, print)):
        with pytest.raises(TooLate) as caught:
            told_the_time(steps, next(steps), 0)
        assert caught.value.in_doubt


LIMITED = Reply(429, {"retry-after": "5"}, b'{"error": {"code": "x", "message": "not now"}}')


def test_a_suspension_between_two_tries_counts_from_when_it_was_first_asked() -> None:
    wall = Time(at=1e9)
    steps = asked_before(22.9, wall)
    next(steps)
    paused = steps.send(StepResult(0, 1, LIMITED))
    wall.sleep(3 * 3600)

    assert isinstance(paused, WaitFor)
    with pytest.raises(TooManyRequests) as caught:
        steps.send(StepResult(1, 6))
    assert not caught.value.in_doubt, "what was refused now was not done now"


def test_a_longer_wait_than_its_key_is_known_is_not_begun() -> None:
    steps = asked_before(22.9, Time(at=1e9), DAYS)
    next(steps)

    with pytest.raises(TooManyRequests):
        steps.send(StepResult(0, 1, Reply(429, {"retry-after": "3600"}, LIMITED.body)))


UNSENDABLE = [
    *(Query("Acme", idempotency_key=key) for key in ("a b", "é", "x" * 256, "\n")),
    Query("Ac\udcffme"),
    Query(domain="\ud800.example"),
]


@pytest.mark.parametrize("query", UNSENDABLE)
def test_what_no_call_can_carry_is_reported_and_not_sent(query: Query) -> None:
    with pytest.raises(Unsendable, match=r"visible ASCII|not UTF-8") as caught:
        next(flows().start(query))

    assert caught.value.status == 0
    assert not caught.value.in_doubt


def test_one_that_cannot_be_sent_leaves_the_others_alone() -> None:
    model = Model(Time())
    queries = [Query("a"), *UNSENDABLE, Query(search="\udcff"), Query("b")]

    ended = model.outcomes(many(queries))

    assert len(ended) == len(queries)
    assert sorted(e.query.brand or "" for e in ended if e.search) == ["a", "b"]
    assert all(isinstance(e.error, Unsendable) for e in ended if not e.search)


IN_FLIGHT = Reply(
    429, {"retry-after": "5"}, b'{"error": {"code": "too_many_in_flight", "message": "two"}}'
)


@pytest.mark.parametrize(
    ("reply", "code"), [(AT_CAPACITY, "at_capacity"), (IN_FLIGHT, "too_many_in_flight")]
)
def test_a_service_without_room_is_not_asked_for_a_whole_list(reply: Reply, code: str) -> None:
    full = Refusing(Time(), reply=reply)

    ended = full.outcomes(many([Query(f"brand {n}") for n in range(10)], patience=NO_RETRIES))

    assert [e.error.code for e in ended if e.error] == [code] * 10
    assert [e.closed for e in ended] == [False] * FULL_AFTER + [True] * (10 - FULL_AFTER)
    assert full.calls == FULL_AFTER


def test_a_brand_that_is_answered_at_the_ceiling_has_the_next_ones_asked() -> None:
    ceiling = Ceiling(Time(), searches={"srch_0": ("known", 0.0)})
    queries = [Query(brand) for brand in ["new", "other", "known"] * 4]

    ended = ceiling.outcomes(many(queries, at_once=1))

    assert [e.error.code if e.error else "done" for e in ended] == [
        *["at_capacity", "at_capacity", "done"] * 4
    ]
    assert not any(e.closed for e in ended)


def test_a_service_with_much_to_do_at_the_moment_is_waited_for() -> None:
    model = Model(Time(), ["busy"] * 5)

    ended = model.outcomes(many([Query(f"brand {n}") for n in range(6)]))

    assert all(isinstance(each.search, Done) for each in ended)
    assert model.time.at >= 30


def told_the_time(steps: Flow[Search], step: Send | WaitFor, at: float) -> Send | WaitFor:
    """Return the first thing from *step* on that *steps* want done but to know the time."""
    while step == WaitFor(0):
        step = steps.send(StepResult(at, at))
    return step


@dataclass
class Ceiling(Model):
    """Answers only what it knows already."""

    def answer(self, call: Call) -> Reply:
        known = {brand for brand, _ in self.searches.values()}
        if call.method == "POST" and msgspec.json.decode(call.body)["brand"] not in known:
            return AT_CAPACITY
        return super().answer(call)


@dataclass
class Refusing(Model):
    """Says the same to every call."""

    reply: Reply = field(kw_only=True)
    calls: int = 0

    def answer(self, call: Call) -> Reply:
        assert call.method == "POST"
        self.calls += 1
        return self.reply


def running() -> Running:
    return msgspec.json.decode(RUNNING, type=Running)
