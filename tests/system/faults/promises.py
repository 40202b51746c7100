"""Checks what clients were answered against what holds in the end.

Knows only the promises of docs/contract.md and what came over HTTP: no event, no view.  Times
are seconds of the clients' own clock; an answer is between its ``sent_at`` and
``received_at``.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Literal

import msgspec

from system.faults.world import Wish

Kind = Literal[
    "lost",  # a search that clients know of is gone, or never ended
    "unanswered",  # a client asked until the end and was never answered
    "changed",  # a finished search is not what it was
    "reopened",  # answered as finished, then as running
    "two-searches",  # one idempotency key, two searches
    "charge",  # charged without a verified e-mail, or not charged with one
    "usage",  # the key's use is not the number of its charged searches
    "usage-back",  # used was less than in an earlier answer
    "quota",  # more used than granted, or the sum is wrong
    "minute",  # more than 6 searches of a key within a minute
    "day",  # more than 60 searches of a key
    "in-flight",  # more than 2 live searches of a key at once
]

_PER_MINUTE, _PER_DAY, _IN_FLIGHT = 6, 60, 2

Body = Mapping[str, Any]

#: Reasons that blame the service (contract text 7), never what it was asked for.
_BREAKDOWNS = ("timeout", "scrape_error", "error")


class ClientAnswer(msgspec.Struct, frozen=True):
    """One answer that a client got: a search's record, 200 or 202."""

    key: str
    idempotency_key: str  # of a POST; empty for a GET
    sent_at: float
    received_at: float
    body: Body


class ClientRequest(msgspec.Struct, frozen=True):
    """One wish of a client, however often it had to be sent."""

    key: str
    idempotency_key: str
    wish: Wish
    sent_at: float  # the first time
    answered_at: float | None  # the answer that ended it; None: never
    search: str | None  # None: refused for good (402)


class FinalState(msgspec.Struct, frozen=True):
    """How everything stands when all is over."""

    searches: Mapping[str, Body]  # by id, of those that were found
    usage: Mapping[str, Body]  # by key


class BrokenPromise(msgspec.Struct, frozen=True):
    kind: Kind
    what: str


def check(
    answers: Sequence[ClientAnswer], requests: Sequence[ClientRequest], end: FinalState
) -> Iterator[BrokenPromise]:
    """Yield every promise that was not kept."""
    yield from _answered(answers, requests, end)
    yield from _unchanged(answers, end)
    yield from _charged(answers, end)
    yield from _limits(answers, requests)


def as_intended(wish: Wish, body: Body) -> bool:
    """Tell whether the finished search *body* is what the world means for *wish*."""
    outcome = "done" if body["status"] == "done" else body.get("reason")
    emails = {contact["email"] for contact in body["contacts"] if contact.get("email")}
    return outcome == wish.outcome and emails == wish.verified


def is_untrue(wish: Wish, body: Body) -> bool:
    """Tell whether the finished search *body* says what is not so in the world of *wish*.

    A breakdown says nothing of the world: it asks to search again (contract text 7).  Nor
    does a search that was cut off by its time with some of the people (contract S8).
    """
    emails = {contact["email"] for contact in body["contacts"] if contact.get("email")}
    if body["status"] == "done":
        return not emails or not emails <= wish.verified
    return body.get("reason") not in {*_BREAKDOWNS, wish.outcome}


def _answered(
    answers: Sequence[ClientAnswer], requests: Sequence[ClientRequest], end: FinalState
) -> Iterator[BrokenPromise]:
    for one in requests:
        if one.answered_at is None:
            yield BrokenPromise("unanswered", one.idempotency_key)
    for search in sorted({answer.body["id"] for answer in answers}):
        found = end.searches.get(search)
        if found is None or found["status"] == "running":
            yield BrokenPromise("lost", search)
    searches = defaultdict(set)
    for answer in answers:
        if answer.idempotency_key:
            searches[answer.key, answer.idempotency_key].add(answer.body["id"])
    for (_, key), ids in searches.items():
        if len(ids) > 1:
            yield BrokenPromise("two-searches", f"{key}: {sorted(ids)}")


def _unchanged(answers: Sequence[ClientAnswer], end: FinalState) -> Iterator[BrokenPromise]:
    ended_at: dict[str, float] = {}
    for answer in answers:
        search, body = answer.body["id"], answer.body
        if body["status"] != "running":
            ended_at[search] = min(answer.received_at, ended_at.get(search, inf))
            now, final = _lasting(body), _lasting(end.searches.get(search, body))
            if now != final:
                yield BrokenPromise("changed", f"{search}: {now} became {final}")
    for answer in answers:
        search = answer.body["id"]
        if answer.body["status"] == "running" and answer.sent_at > ended_at.get(search, inf):
            yield BrokenPromise("reopened", search)


def _lasting(body: Body) -> Body:
    """Return *body* without the use of the key, which goes on."""
    return {name: value for name, value in body.items() if name != "usage"}


def _charged(answers: Sequence[ClientAnswer], end: FinalState) -> Iterator[BrokenPromise]:
    owners = {answer.body["id"]: answer.key for answer in answers}
    charged: dict[str, int] = defaultdict(int)
    for search, body in end.searches.items():
        if body["status"] == "running":
            continue
        charged[owners[search]] += body["charged"]
        verified = any(contact.get("email") for contact in body["contacts"])
        if not body["charged"] == verified == (body["status"] == "done"):
            yield BrokenPromise("charge", search)
    for key, usage in end.usage.items():
        if usage["used"] != charged[key]:
            yield BrokenPromise("usage", f"{key}: {usage['used']} used, {charged[key]} charged")
    for key in sorted({answer.key for answer in answers}):
        mine = [answer for answer in answers if answer.key == key]
        usages = [(answer.sent_at, answer.body["usage"]) for answer in mine]
        usages += [(inf, end.usage[key])] if key in end.usage else []
        for sent_at, usage in usages:
            known = (one.body["usage"]["used"] for one in mine if one.received_at < sent_at)
            most, used = max(known, default=0), usage["used"]
            if used < most:
                yield BrokenPromise("usage-back", f"{key}: {used} after {most}")
            if used > usage["quota"] or used + usage["remaining"] != usage["quota"]:
                yield BrokenPromise("quota", f"{key}: {usage}")


def _limits(
    answers: Sequence[ClientAnswer], requests: Sequence[ClientRequest]
) -> Iterator[BrokenPromise]:
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in requests:
        if one.search is not None and one.answered_at is not None:
            spans[one.key].append((one.sent_at, one.answered_at))
    for key, of_key in spans.items():
        if len(of_key) > _PER_DAY:
            yield BrokenPromise("day", f"{key}: {len(of_key)}")
        for begin, _ in of_key:
            inside = sum(begin <= sent and answered < begin + 60 for sent, answered in of_key)
            if inside > _PER_MINUTE:
                yield BrokenPromise("minute", f"{key}: {inside}")
    for key, running in _running(answers).items():
        for begin, _ in running:
            at_once = sum(sent <= begin < until for sent, until in running)
            if at_once > _IN_FLIGHT:
                yield BrokenPromise("in-flight", f"{key}: {at_once}")


def _running(answers: Iterable[ClientAnswer]) -> dict[str, list[tuple[float, float]]]:
    """Return when each key's searches were running beyond doubt.

    From the first answer that showed it to the last call with such an answer.
    """
    spans: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for answer in answers:
        if answer.body["status"] == "running" and not answer.idempotency_key:
            search = answer.body["id"]
            first, last = spans[answer.key].get(search, (answer.received_at, answer.sent_at))
            spans[answer.key][search] = (
                min(first, answer.received_at),
                max(last, answer.sent_at),
            )
    return {
        key: [span for span in of.values() if span[0] < span[1]] for key, of in spans.items()
    }
