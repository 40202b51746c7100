"""The checker of what clients were answered finds every kind of wrong, and only that."""

from typing import Any, NamedTuple, get_args

import pytest

from system.faults.promises import ClientAnswer, ClientRequest, FinalState, Kind, check
from system.faults.world import Wish

WISH = Wish({"brand": "Acme"}, "done", frozenset({"ida@acme.test"}))
NO_EMAIL = [{"email": None}]


def usage(used: int, remaining: int | None = None) -> dict[str, int]:
    return {"quota": 3, "used": used, "remaining": 3 - used if remaining is None else remaining}


def record(status: str, search: str = "s1", **more: Any) -> dict[str, Any]:
    """Return the record of a search; one that is done has a verified e-mail and is charged."""
    done = status == "done"
    ended = {"charged": done, "contacts": [{"email": "ida@acme.test"}] * done + NO_EMAIL}
    reason = {} if done else {"reason": "no_emails"}
    whole = {"id": search, "status": status, "usage": usage(int(done))}
    return whole | ({} if status == "running" else ended | reason) | more


DONE, FAILED, RUNNING = record("done"), record("failed"), record("running")


class Story(NamedTuple):
    answers: list[ClientAnswer]
    requests: list[ClientRequest]
    end: FinalState

    def kinds(self) -> set[Kind]:
        return {each.kind for each in check(*self)}


def answer(body: dict[str, Any], at: float, idempotency_key: str = "") -> ClientAnswer:
    return ClientAnswer("k", idempotency_key, at, at + 0.5, body)


def request(idempotency_key: str, at: float, search: str | None = "s1") -> ClientRequest:
    return ClientRequest("k", idempotency_key, WISH, at, at + 0.5, search)


def sound(*more: ClientAnswer) -> Story:
    """Sent twice because the first answer was lost, polled to the end, charged once."""
    answers = [answer(RUNNING, 1, "a"), answer(RUNNING, 2), answer(DONE, 3), answer(DONE, 4)]
    end = FinalState({"s1": DONE}, {"k": usage(1)})
    return Story([*answers, *more], [request("a", 0)], end)


def ending(searches: dict[str, Any], used: dict[str, int]) -> Story:
    """Answered only while it ran; read in the end as *searches* and *used* have it."""
    story = sound()
    return story._replace(answers=story.answers[:2], end=FinalState(searches, {"k": used}))


def failed_at(times: list[float]) -> Story:
    """Failed searches that were asked for at *times*."""
    bodies = [record("failed", f"s{n}") for n in range(len(times))]
    return Story(
        [answer(bodies[n], at, f"a{n}") for n, at in enumerate(times)],
        [request(f"a{n}", at, f"s{n}") for n, at in enumerate(times)],
        FinalState({body["id"]: body for body in bodies}, {"k": usage(0)}),
    )


def live_at_once(count: int) -> Story:
    """Live searches that run at the same time."""
    names = [f"s{n}" for n in range(count)]
    answers = [
        answer(record("running", name), at)
        for n, name in enumerate(names)
        for at in (1 + n, 20)
    ]
    end = FinalState({name: record("failed", name) for name in names}, {"k": usage(0)})
    return Story(answers, [], end)


WRONG: list[tuple[Kind, Story]] = [
    ("lost", sound()._replace(end=FinalState({}, {"k": usage(0)}))),
    ("lost", ending({"s1": RUNNING}, usage(0))),
    (
        "unanswered",
        sound()._replace(requests=[ClientRequest("k", "a", WISH, 0, None, None)]),
    ),
    ("changed", sound(answer(record("done", contacts=[{"email": "ida@acme.test"}]), 5))),
    ("changed", sound(answer(record("failed", usage=usage(1)), 5))),
    ("reopened", sound(answer(record("running", usage=usage(1)), 5))),
    ("two-searches", sound(answer(record("running", "s2"), 1.5, "a"))),
    ("charge", ending({"s1": record("done", charged=False)}, usage(0))),
    ("charge", ending({"s1": record("failed", charged=True)}, usage(1))),
    ("charge", ending({"s1": record("done", contacts=NO_EMAIL)}, usage(1))),
    ("usage", ending({"s1": DONE}, usage(2))),
    ("usage", ending({"s1": DONE}, usage(0))),
    ("usage-back", sound(answer(record("done", usage=usage(0)), 5))),
    ("usage-back", sound()._replace(end=FinalState({"s1": DONE}, {"k": usage(0)}))),
    ("quota", sound(answer(record("done", usage=usage(4)), 5))),
    ("quota", sound(answer(record("done", usage=usage(1, 1)), 5))),
    ("minute", failed_at([0, 1, 2, 3, 4, 5, 59])),
    ("day", failed_at([n * 30.0 for n in range(61)])),
    ("in-flight", live_at_once(3)),
]
RIGHT = [
    sound(),
    failed_at([0, 1, 2, 3, 4, 5, 60.5]),
    failed_at([n * 30.0 for n in range(60)]),
    live_at_once(2),
    ending({"s1": FAILED}, usage(0)),
    # Asked before the end was received: the answer may be older.
    sound(ClientAnswer("k", "", 3.2, 6.0, RUNNING)),
]


@pytest.mark.parametrize(("kind", "story"), WRONG, ids=[kind for kind, _ in WRONG])
def test_every_kind_of_wrong_is_found(kind: Kind, story: Story) -> None:
    assert kind in story.kinds()


def test_every_kind_has_a_story() -> None:
    assert {kind for kind, _ in WRONG} == set(get_args(Kind))


@pytest.mark.parametrize("story", RIGHT)
def test_nothing_is_found_in_a_story_without_a_fault(story: Story) -> None:
    assert story.kinds() == set()
