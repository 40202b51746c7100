"""The checker of what clients were answered finds every kind of wrong, and only that."""

from typing import Any, get_args

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


DONE, RUNNING = record("done"), record("running")
Answered = tuple[dict[str, Any], float]


def kinds(
    *more: Answered,
    answers: tuple[Answered, ...] = ((RUNNING, 2), (DONE, 3), (DONE, 4)),
    end: Any = DONE,
    used: Any = None,
    answered: bool = True,
) -> set[Kind]:
    """Return what is wrong with a search that was sent twice and polled; *more* answers."""
    first = ClientAnswer("k", "a", 1, 1.5, RUNNING)
    others = [ClientAnswer("k", "", at, at + 0.5, body) for body, at in (*answers, *more)]
    asked = ClientRequest("k", "a", WISH, 0, 0.5 if answered else None, "s1")
    final = FinalState({"s1": end} if end else {}, {"k": used or usage(1)})
    return {each.kind for each in check([first, *others], [asked], final)}


def many(times: list[float]) -> set[Kind]:
    """Return what is wrong with failed searches that were asked for at *times*."""
    bodies = [record("failed", f"s{n}") for n in range(len(times))]
    pairs = list(zip(bodies, times, strict=True))
    return {
        each.kind
        for each in check(
            [ClientAnswer("k", b["id"], at, at + 0.5, b) for b, at in pairs],
            [ClientRequest("k", b["id"], WISH, at, at + 0.5, b["id"]) for b, at in pairs],
            FinalState({body["id"]: body for body in bodies}, {"k": usage(0)}),
        )
    }


def at_once(count: int) -> set[Kind]:
    """Return what is wrong with *count* live searches at the same time."""
    names = [f"s{n}" for n in range(count)]
    answers = [
        ClientAnswer("k", "", at, at + 0.5, record("running", name))
        for n, name in enumerate(names)
        for at in (1.0 + n, 20.0)
    ]
    end = FinalState({name: record("failed", name) for name in names}, {"k": usage(0)})
    return {each.kind for each in check(answers, [], end)}


def two_searches() -> set[Kind]:
    answers = [ClientAnswer("k", "a", 1, 1.5, record("failed", name)) for name in ("s1", "s2")]
    end = FinalState({each.body["id"]: each.body for each in answers}, {"k": usage(0)})
    return {each.kind for each in check(answers, [], end)}


POLLED = ((RUNNING, 2.0),)
WRONG: list[tuple[Kind, set[Kind]]] = [
    ("lost", kinds(end=None, used=usage(0))),
    ("lost", kinds(answers=POLLED, end=RUNNING, used=usage(0))),
    ("unanswered", kinds(answered=False)),
    ("changed", kinds((record("done", contacts=[{"email": "ida@acme.test"}]), 5))),
    ("changed", kinds((record("failed", usage=usage(1)), 5))),
    ("reopened", kinds((record("running", usage=usage(1)), 5))),
    ("two-searches", two_searches()),
    ("charge", kinds(answers=POLLED, end=record("done", charged=False), used=usage(0))),
    ("charge", kinds(answers=POLLED, end=record("failed", charged=True))),
    ("charge", kinds(answers=POLLED, end=record("done", contacts=NO_EMAIL))),
    ("usage", kinds(answers=POLLED, used=usage(2))),
    ("usage", kinds(answers=POLLED, used=usage(0))),
    ("usage-back", kinds((record("done", usage=usage(0)), 5))),
    ("usage-back", kinds(used=usage(0))),
    ("quota", kinds((record("done", usage=usage(4)), 5))),
    ("quota", kinds((record("done", usage=usage(1, 1)), 5))),
    ("minute", many([0, 1, 2, 3, 4, 5, 59])),
    ("day", many([n * 30.0 for n in range(61)])),
    ("in-flight", at_once(3)),
]


@pytest.mark.parametrize(("kind", "found"), WRONG, ids=[kind for kind, _ in WRONG])
def test_every_kind_of_wrong_is_found(kind: Kind, found: set[Kind]) -> None:
    assert kind in found
    assert {kind for kind, _ in WRONG} == set(get_args(Kind))


def test_nothing_is_found_without_a_fault() -> None:
    assert kinds() == many([0, 1, 2, 3, 4, 5, 60.5]) == at_once(2) == set()
    assert many([n * 30.0 for n in range(60)]) == set()
    assert kinds(answers=POLLED, end=record("failed"), used=usage(0)) == set()
