"""What clients were told, held against what holds in the end.

Knows only the promises of docs/contract.md and what came over HTTP: no event, no view.  Times
are seconds of the clients' own clock; an answer is between its ``sent`` and ``heard``.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from system.faults.world import Wish

Kind = Literal[
    "lost",  # a search that clients know of is gone, or never ended
    "unanswered",  # somebody asked until the end and was never answered
    "changed",  # a finished search is not what it was
    "reopened",  # told finished, then told running
    "two-searches",  # one idempotency key, two searches
    "charge",  # charged without a verified e-mail, or not charged with one
    "usage",  # the key's use is not the number of its charged searches
    "usage-back",  # used was less than what had been told before
    "quota",  # more used than granted, or the sum is wrong
    "minute",  # more than 6 searches of a key within a minute
    "day",  # more than 60 searches of a key
    "in-flight",  # more than 2 live searches of a key at once
]

_PER_MINUTE, _PER_DAY, _IN_FLIGHT = 6, 60, 2

Body = Mapping[str, Any]

#: Reasons that blame the service (contract text 7), never what it was asked for.
_BREAKDOWNS = ("timeout", "scrape_error", "error")


class Told(msgspec.Struct, frozen=True):
    """One answer that a client got: a search's record, 200 or 202."""

    key: str
    ask: str  # idempotency key of a POST, empty for a GET
    sent: float
    heard: float
    body: Body


class Asked(msgspec.Struct, frozen=True):
    """One wish of a client, however often it had to be sent."""

    key: str
    ask: str
    wish: Wish
    sent: float  # the first time
    heard: float | None  # the answer that ended it; None: never
    search: str | None  # None: refused for good (402)


class End(msgspec.Struct, frozen=True):
    """How everything stands when all is over."""

    searches: Mapping[str, Body]  # by id, of those that were found
    usage: Mapping[str, Body]  # by key


class Wrong(msgspec.Struct, frozen=True):
    kind: Kind
    what: str


def check(told: Sequence[Told], asked: Sequence[Asked], end: End) -> Iterator[Wrong]:
    """Yield every promise that was not kept."""
    yield from _kept(told, asked, end)
    yield from _stayed(told, end)
    yield from _charged(told, end)
    yield from _limits(told, asked)


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


def _kept(told: Sequence[Told], asked: Sequence[Asked], end: End) -> Iterator[Wrong]:
    for one in asked:
        if one.heard is None:
            yield Wrong("unanswered", one.ask)
    for search in sorted({answer.body["id"] for answer in told}):
        found = end.searches.get(search)
        if found is None or found["status"] == "running":
            yield Wrong("lost", search)
    searches = defaultdict(set)
    for answer in told:
        if answer.ask:
            searches[answer.key, answer.ask].add(answer.body["id"])
    for (_, ask), ids in searches.items():
        if len(ids) > 1:
            yield Wrong("two-searches", f"{ask}: {sorted(ids)}")


def _stayed(told: Sequence[Told], end: End) -> Iterator[Wrong]:
    ended_at: dict[str, float] = {}
    for answer in told:
        search, body = answer.body["id"], answer.body
        if body["status"] != "running":
            ended_at[search] = min(answer.heard, ended_at.get(search, answer.heard))
            final = end.searches.get(search)
            if final is not None and _lasting(body) != _lasting(final):
                yield Wrong("changed", f"{search}: {_lasting(body)} became {_lasting(final)}")
    for answer in told:
        search = answer.body["id"]
        if answer.body["status"] == "running" and answer.sent > ended_at.get(
            search, float("inf")
        ):
            yield Wrong("reopened", search)


def _lasting(body: Body) -> Body:
    """Return *body* without the use of the key, which goes on."""
    return {name: value for name, value in body.items() if name != "usage"}


def _charged(told: Sequence[Told], end: End) -> Iterator[Wrong]:
    owners = {answer.body["id"]: answer.key for answer in told}
    charged: dict[str, int] = defaultdict(int)
    for search, body in end.searches.items():
        if body["status"] == "running":
            continue
        charged[owners[search]] += body["charged"]
        verified = any(contact.get("email") for contact in body["contacts"])
        if not body["charged"] == verified == (body["status"] == "done"):
            yield Wrong("charge", search)
    for key, usage in end.usage.items():
        if usage["used"] != charged[key]:
            yield Wrong("usage", f"{key}: {usage['used']} used, {charged[key]} charged")
    for key, usages in _usages(told, end).items():
        most = 0
        for before, usage in usages:
            most = max(most, before)
            if usage["used"] < most:
                yield Wrong("usage-back", f"{key}: {usage['used']} after {most}")
            if (
                usage["used"] > usage["quota"]
                or usage["used"] + usage["remaining"] != usage["quota"]
            ):
                yield Wrong("quota", f"{key}: {usage}")


def _usages(told: Sequence[Told], end: End) -> dict[str, list[tuple[int, Body]]]:
    """Return each key's use as told, with the most that had been told when it was asked."""
    of_key: dict[str, list[Told]] = defaultdict(list)
    for answer in told:
        of_key[answer.key].append(answer)
    found: dict[str, list[tuple[int, Body]]] = {}
    for key, answers in of_key.items():
        heard = sorted(answers, key=lambda answer: answer.heard)
        rows = []
        most, place = 0, 0
        for answer in sorted(answers, key=lambda answer: answer.sent):
            while place < len(heard) and heard[place].heard < answer.sent:
                most = max(most, heard[place].body["usage"]["used"])
                place += 1
            rows.append((most, answer.body["usage"]))
        everything = max(answer.body["usage"]["used"] for answer in answers)
        found[key] = [*rows, *([(everything, end.usage[key])] if key in end.usage else [])]
    return found


def _limits(told: Sequence[Told], asked: Sequence[Asked]) -> Iterator[Wrong]:
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in asked:
        if one.search is not None and one.heard is not None:
            spans[one.key].append((one.sent, one.heard))
    for key, of_key in spans.items():
        if len(of_key) > _PER_DAY:
            yield Wrong("day", f"{key}: {len(of_key)}")
        for begin, _ in of_key:
            inside = sum(begin <= sent and heard < begin + 60 for sent, heard in of_key)
            if inside > _PER_MINUTE:
                yield Wrong("minute", f"{key}: {inside}")
    for key, running in _running(told).items():
        for begin, _ in running:
            at_once = sum(sent <= begin < until for sent, until in running)
            if at_once > _IN_FLIGHT:
                yield Wrong("in-flight", f"{key}: {at_once}")


def _running(told: Iterable[Told]) -> dict[str, list[tuple[float, float]]]:
    """Return when each key's searches were running beyond doubt.

    From the first answer that said so to the last question that was answered so.
    """
    spans: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for answer in told:
        if answer.body["status"] == "running" and not answer.ask:
            search = answer.body["id"]
            first, last = spans[answer.key].get(search, (answer.heard, answer.sent))
            spans[answer.key][search] = (min(first, answer.heard), max(last, answer.sent))
    return {
        key: [span for span in of.values() if span[0] < span[1]] for key, of in spans.items()
    }
