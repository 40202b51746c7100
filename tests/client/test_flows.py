"""Conversations with the service as it is modelled: what is lost, and what is charged."""

import itertools
import random
from collections.abc import Generator
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.answering import RUNNING, Time
from client.model import FAULTS, LIVE_S, Model
from cs.client import (
    ClientError,
    Done,
    Patience,
    Query,
    RateLimited,
    Running,
    StillRunning,
    Unreachable,
)
from cs.client.api import Call
from cs.client.flows import Begun, Flows, Heard, Pause, Send
from cs.client.judging import NoReply, Reply
from cs.client.many import Many, Outcome

PATIENT = Patience(tries=100, total_s=10_000)
faults = st.lists(st.sampled_from(FAULTS), max_size=12)


def flows(patience: Patience = PATIENT, seed: int = 1) -> Flows:
    keys = itertools.count()
    chance = random.Random(seed)
    return Flows(patience, chance.random, lambda: f"key-{next(keys)}", "here")


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
    queries: list[Query], at_once: int = 2, patience: Patience = PATIENT
) -> Generator[Send | Pause | Outcome, Heard, None]:
    made = Many(
        flows(patience), queries, patience, at_once=at_once, timeout_s=None, started=None
    )
    return made.outcomes()


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
def test_a_refusal_of_all_is_met_once_and_told_for_each(status: int, code: str) -> None:
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
    assert model.time.slept == [0, 5, 0, 5, 0, 5, 0, 5]


def test_waiting_ends_in_time_and_tells_what_it_waited_for() -> None:
    model = Model(Time())
    flow = flows()
    begun = model.run(flow.start(Query("Acme")))

    with pytest.raises(StillRunning) as late:
        model.run(flow.wait(begun, 12))

    assert model.time.at == 12
    assert isinstance(late.value.search, Running)


def test_a_full_window_of_checks_is_waited_out() -> None:
    flow = flows()
    steps = flow.wait(running(), None)
    assert isinstance(next(steps), Begun)
    full = {"ratelimit": '"minute";r=6;t=60, "checks";r=0;t=33'}

    heard = [steps.send(Heard(0, 0)), steps.send(Heard(0, 0))]
    assert isinstance(steps.send(Heard(5, 5)), Send)
    steps.send(Heard(5, 5, Reply(200, full, RUNNING)))
    paused = steps.send(Heard(5, 5))

    assert heard == [Pause(0), Pause(5)]
    assert paused == Pause(33)


def test_a_hold_that_was_cut_is_not_held_again() -> None:
    steps = flows().search(Query("Acme", "acme.example", "wish"), None)
    held = next(steps)
    paused = steps.send(Heard(0, 60, NoReply("connection reset")))
    again = steps.send(Heard(60, 61))

    assert isinstance(held, Send)
    assert isinstance(paused, Pause)
    assert isinstance(again, Send)
    assert b'"wait":true' in held.call.body
    assert again.call.body == held.call.body.replace(b"true", b"false")
    assert again.call.idempotency_key == held.call.idempotency_key == "wish"


def test_too_little_time_for_a_hold_is_spent_asking() -> None:
    model = Model(Time())

    with pytest.raises(StillRunning):
        model.run(flows().search(Query("Acme"), 10))

    assert model.time.at == 10


def test_time_that_is_up_leaves_no_time_for_another_try() -> None:
    model = Model(Time(), ["refused"] * 50)

    with pytest.raises(Unreachable):
        model.run(flows().search(Query("Acme"), 20))

    assert model.time.at < 20


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
            case Pause(seconds):
                time.sleep(seconds)
            case _:
                pass
        step = steps.send(Heard(began, time.now(), reply))

    assert [b'"wait":true' in call.body for call in calls] == [True, False]
    assert time.now() <= 150


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
    steps.send(Heard(0, 1, lost))
    steps.send(Heard(1, 2))
    limited = Heard(2, 3, Reply(429, {"retry-after": str(day)}, body))

    if goes_on:
        assert isinstance(steps.send(limited), Pause)
    else:
        with pytest.raises(RateLimited) as caught:
            steps.send(limited)
        assert caught.value.in_doubt


@pytest.mark.parametrize("key", ["a b", "é", "x" * 256, "\n"])
def test_an_idempotency_key_that_no_header_carries_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII"):
        next(flows().start(Query("Acme", idempotency_key=key)))


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
