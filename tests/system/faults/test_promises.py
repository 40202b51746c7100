"""The checker of a storm's answers finds every kind of broken promise, and only those."""

from collections.abc import Iterable
from typing import Any, get_args

from system.faults.promises import ClientAnswer, ClientRequest, FinalState, Kind, check
from system.faults.world import Wish

WISH = Wish({"brand": "Acme"}, "done", frozenset({"ida@acme.test"}))
NO_EMAIL = [{"email": None}]


def usage(used: int, remaining: int | None = None) -> dict[str, int]:
    return {"quota": 3, "used": used, "remaining": 3 - used if remaining is None else remaining}


def record(status: str, search: str = "s1", **changes: Any) -> dict[str, Any]:
    """Return the record of a search; a done one has a verified e-mail and is charged."""
    done = status == "done"
    ended = {"charged": done, "contacts": [{"email": "ida@acme.test"}] * done + NO_EMAIL}
    whole = {"id": search, "status": status, "usage": usage(int(done))}
    return whole | ({} if status == "running" else ended) | changes


DONE, RUNNING = record("done"), record("running")
Timed = tuple[dict[str, Any], float]


def found(
    answers: Iterable[Timed], used: dict[str, int], *ends: dict[str, Any], sent: str = ""
) -> set[Kind]:
    """Return the broken promises of *answers*; with *sent*, each answered a request of it."""
    received = [
        ClientAnswer("k", sent and sent + b["id"], at, at + 0.5, b) for b, at in answers
    ]
    asked = [
        ClientRequest("k", each.idempotency_key, WISH, each.sent_at, each.received_at, "s")
        for each in received
        if sent
    ]
    end = FinalState({body["id"]: body for body in ends}, {"k": used})
    return {each.kind for each in check(received, asked, end)}


def polled(*answers: Timed, used: int = 1, end: dict[str, Any] = DONE) -> set[Kind]:
    return found([(RUNNING, 2.0), *answers], usage(used), end)


def failed_at(*times: float) -> set[Kind]:
    bodies = [record("failed", f"s{n}") for n in range(len(times))]
    return found(zip(bodies, times, strict=True), usage(0), *bodies, sent="a")


def at_once(count: int) -> set[Kind]:
    names = [f"s{n}" for n in range(count)]
    answers = [(record("running", s), at) for n, s in enumerate(names) for at in (1.0 + n, 20)]
    return found(answers, usage(0), *(record("failed", name) for name in names))


UNANSWERED = ClientRequest("k", "a", WISH, 0, None, None)
TWO = [ClientAnswer("k", "a", 1, 1.5, record("failed", name)) for name in ("s1", "s2")]
TWO_END = FinalState({each.body["id"]: each.body for each in TWO}, {"k": usage(0)})
DONE_AT_3 = (DONE, 3.0)
WRONG: list[tuple[Kind, set[Kind]]] = [
    ("lost", found([(RUNNING, 2.0)], usage(0))),
    ("lost", polled(used=0, end=RUNNING)),
    ("unanswered", {each.kind for each in check([], [UNANSWERED], FinalState({}, {}))}),
    ("changed", polled((record("done", contacts=[{"email": "ida@acme.test"}]), 5))),
    ("changed", polled((record("failed", usage=usage(1)), 5))),
    ("reopened", polled(DONE_AT_3, (record("running", usage=usage(1)), 5))),
    ("two-searches", {each.kind for each in check(TWO, [], TWO_END)}),
    ("charge", polled(used=0, end=record("done", charged=False))),
    ("charge", polled(end=record("failed", charged=True))),
    ("charge", polled(end=record("done", contacts=NO_EMAIL))),
    ("usage", polled(used=2)),
    ("usage", polled(used=0)),
    ("usage-back", polled(DONE_AT_3, (record("done", usage=usage(0)), 5))),
    ("usage-back", polled(DONE_AT_3, used=0)),
    ("quota", polled((record("done", usage=usage(4)), 5))),
    ("quota", polled((record("done", usage=usage(1, 1)), 5))),
    ("minute", failed_at(0, 1, 2, 3, 4, 5, 59)),
    ("day", failed_at(*(n * 30.0 for n in range(61)))),
    ("in-flight", at_once(3)),
]


def test_every_kind_of_broken_promise_is_found_and_nothing_without_one() -> None:
    for kind, kinds in WRONG:
        assert kind in kinds
    assert {kind for kind, _ in WRONG} == set(get_args(Kind))
    assert polled(DONE_AT_3, (DONE, 4)) == at_once(2) == set()
    assert failed_at(0, 1, 2, 3, 4, 5, 60.5) == set()
    assert failed_at(*(n * 30.0 for n in range(60))) == set()
    assert polled(used=0, end=record("failed")) == set()
