"""The checker of what clients were told finds every kind of wrong, and only that."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from system.faults.promises import (
    ClientAnswer,
    ClientRequest,
    FinalState,
    Kind,
    check,
)
from system.faults.world import Wish

WISH = Wish({"brand": "Acme"}, "done", frozenset({"ida@acme.test"}))
USAGE = {"quota": 3, "used": 1, "remaining": 2}
UNUSED = {"quota": 3, "used": 0, "remaining": 3}
DONE: dict[str, Any] = {
    "id": "s1",
    "status": "done",
    "charged": True,
    "contacts": [{"email": "ida@acme.test"}, {"email": None}],
    "usage": USAGE,
}
FAILED: dict[str, Any] = {
    "id": "s1",
    "status": "failed",
    "reason": "no_emails",
    "charged": False,
    "contacts": [{"email": None}],
    "usage": UNUSED,
}
RUNNING: dict[str, Any] = {"id": "s1", "status": "running", "usage": UNUSED}

Story = tuple[list[ClientAnswer], list[ClientRequest], FinalState]


def answer(body: dict[str, Any], at: float, idempotency_key: str = "") -> ClientAnswer:
    return ClientAnswer("k", idempotency_key, at, at + 0.5, body)


def request(idempotency_key: str, at: float, search: str | None = "s1") -> ClientRequest:
    return ClientRequest("k", idempotency_key, WISH, at, at + 0.5, search)


def sound() -> Story:
    """Asked twice because the first answer was lost, followed to the end, used up once."""
    answers = [answer(RUNNING, 1, "a"), answer(RUNNING, 2), answer(DONE, 3), answer(DONE, 4)]
    return answers, [request("a", 0)], FinalState({"s1": DONE}, {"k": USAGE})


def live(number: int, at: float, until: float) -> list[ClientAnswer]:
    """Return how search *number* is told to run from *at* to *until*."""
    body = {**RUNNING, "id": f"s{number}"}
    return [answer(body, at), answer(body, until)]


def ended(number: int, usage: dict[str, int] | None = None) -> dict[str, Any]:
    return {**FAILED, "id": f"s{number}", "usage": usage or UNUSED}


def many(times: list[float]) -> Story:
    """Return a story of failed searches asked for at *times*."""
    answers = [answer(ended(n), at, f"a{n}") for n, at in enumerate(times)]
    requests = [request(f"a{n}", at, f"s{n}") for n, at in enumerate(times)]
    return (
        answers,
        requests,
        FinalState({f"s{n}": ended(n) for n in range(len(times))}, {"k": UNUSED}),
    )


def at_once(count: int) -> Story:
    """Return a story of *count* live searches that run at the same time."""
    answers = [each for n in range(count) for each in live(n, 1 + n, 20)]
    return answers, [], FinalState({f"s{n}": ended(n) for n in range(count)}, {"k": UNUSED})


def with_final(body: dict[str, Any], usage: dict[str, int] = USAGE) -> Story:
    answers, requests, _ = sound()
    return [*answers[:2]], requests, FinalState({"s1": body}, {"k": usage})


def plus(*more: ClientAnswer) -> Story:
    answers, requests, end = sound()
    return [*answers, *more], requests, end


def unanswered() -> Story:
    answers, requests, end = sound()
    return answers, [replace(requests[0], answered_at=None, search=None)], end


PLANTED: list[tuple[Kind, Callable[[], Story]]] = [
    (
        "lost",
        lambda: (*sound()[:2], FinalState({}, {"k": {**USAGE, "used": 0, "remaining": 3}})),
    ),
    ("lost", lambda: with_final(RUNNING, UNUSED)),
    ("unanswered", unanswered),
    ("changed", lambda: plus(answer({**DONE, "contacts": DONE["contacts"][:1]}, 5))),
    ("changed", lambda: plus(answer({**FAILED, "usage": USAGE}, 5))),
    ("reopened", lambda: plus(answer({**RUNNING, "usage": USAGE}, 5))),
    ("two-searches", lambda: plus(answer({**RUNNING, "id": "s2"}, 1.5, "a"))),
    ("charge", lambda: with_final({**DONE, "charged": False}, UNUSED)),
    ("charge", lambda: with_final({**FAILED, "charged": True}, USAGE)),
    ("charge", lambda: with_final({**DONE, "contacts": [{"email": None}]})),
    ("usage", lambda: with_final(DONE, {"quota": 3, "used": 2, "remaining": 1})),
    ("usage", lambda: with_final(DONE, UNUSED)),
    ("usage-back", lambda: plus(answer({**DONE, "usage": UNUSED}, 5))),
    ("usage-back", lambda: (*sound()[:2], FinalState({"s1": DONE}, {"k": UNUSED}))),
    (
        "quota",
        lambda: plus(answer({**DONE, "usage": {"quota": 3, "used": 4, "remaining": -1}}, 5)),
    ),
    (
        "quota",
        lambda: plus(answer({**DONE, "usage": {"quota": 3, "used": 1, "remaining": 1}}, 5)),
    ),
    ("minute", lambda: many([0, 1, 2, 3, 4, 5, 59])),
    ("day", lambda: many([n * 30.0 for n in range(61)])),
    ("in-flight", lambda: at_once(3)),
]


def kinds(story: Story) -> set[Kind]:
    return {each.kind for each in check(*story)}


@pytest.mark.parametrize(("kind", "story"), PLANTED, ids=[kind for kind, _ in PLANTED])
def test_what_is_wrong_is_found(kind: Kind, story: Callable[[], Story]) -> None:
    assert kind in kinds(story())


def test_every_kind_is_planted() -> None:
    assert {kind for kind, _ in PLANTED} == set(get_args(Kind))


@pytest.mark.parametrize(
    "story",
    [
        sound(),
        many([0, 1, 2, 3, 4, 5, 60.5]),
        many([n * 30.0 for n in range(60)]),
        at_once(2),
        with_final(FAILED, UNUSED),
        # Asked before the end was heard: the answer may be older.
        plus(ClientAnswer("k", "", 3.2, 6.0, RUNNING)),
    ],
)
def test_what_is_right_is_left_alone(story: Story) -> None:
    assert kinds(story) == set()
