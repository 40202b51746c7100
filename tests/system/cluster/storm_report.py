"""What came of a storm over a cluster, and whether that is good."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from system.cluster.storm_checks import Stored
from system.faults.caller import Notebook
from system.faults.told import Asked, Body, End, Kind, Wrong, as_intended, check

#: Of searches that ended, how many must end as the world intends.
GOOD_SHARE = 0.95


class Deeds(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to the cluster."""

    kills: Mapping[str, int]  # by kind of role
    at_start: int
    points: Mapping[str, int]  # fail points at which a role died
    missing: Sequence[str]  # those at which none did, and one was meant to
    servers: Sequence[str]
    fell: Sequence[str]  # roles that ended by themselves
    bugs: Sequence[str]  # what roles told of as their own fault
    seconds: float


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What its clients met with."""

    calls: int
    cut: int
    refused: int
    asked: int
    no_quota: int
    keys: int  # with which something was searched
    searches: int
    reused: int
    charged: int
    intended: int
    otherwise: Mapping[str, str]  # by search: how it ended, and how it should have
    slowest_s: float
    wrong: Sequence[Wrong]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    deeds: Deeds
    heard: Heard
    stored: Stored
    paid: int
    paid_twice: Sequence[str]

    @property
    def faults(self) -> list[str]:
        """Return every promise that was broken; empty if all were kept."""
        heard, stored = self.heard, self.stored
        found = [f"{wrong.kind}: {wrong.what}" for wrong in heard.wrong]
        found += [f"log: {line}" for line in stored.log]
        found += [f"view: {line}" for line in stored.views]
        found += [f"paid twice: {question}" for question in self.paid_twice]
        if not self.paid:
            found.append("nobody was asked for money: nothing was proven")
        found += [f"bug: {line}" for line in self.deeds.bugs]
        found += [f"nobody died at {point}" for point in self.deeds.missing]
        if stored.unfinished:
            found.append(f"{stored.unfinished} searches are not settled")
        if not heard.intended >= GOOD_SHARE * heard.searches > 0:
            found.append(f"{heard.intended} of {heard.searches} ended as the world intends")
        return found


def heard(notes: Notebook, end: End) -> Heard:
    """Return what clients met with, held against the *end*."""
    ended: dict[str, Asked] = {
        one.search: one
        for one in notes.asked
        if one.search is not None and end.searches.get(one.search, _RUNS)["status"] != "running"
    }
    otherwise = {
        search: f"{one.wish.body}: {_short(end.searches[search])}, not {one.wish.outcome}"
        for search, one in ended.items()
        if not as_intended(one.wish, end.searches[search])
    }
    bodies = [body for body in end.searches.values() if body["status"] != "running"]
    return Heard(
        calls=notes.calls,
        cut=notes.cut,
        refused=notes.refused,
        asked=len(notes.asked),
        no_quota=sum(one.heard is not None and one.search is None for one in notes.asked),
        keys=len({one.key for one in notes.asked if one.search is not None}),
        searches=len(end.searches),
        reused=sum(body["cached"] for body in bodies),
        charged=sum(body["charged"] for body in bodies),
        intended=len(ended) - len(otherwise),
        otherwise=otherwise,
        slowest_s=max((_took_s(notes, search) for search in ended), default=0.0),
        wrong=tuple(check(notes.told, notes.asked, end)),
    )


def shown(report: Report) -> list[tuple[str, str]]:
    """Return *report* as rows for people."""
    deeds, heard, stored = report.deeds, report.heard, report.stored
    found = Counter(wrong.kind for wrong in heard.wrong)
    hit = sum(deeds.points.values())
    return [
        ("kills", f"{sum(deeds.kills.values())}, {deeds.at_start} of them while it started"),
        *((f"  {kind}", str(number)) for kind, number in sorted(deeds.kills.items())),
        ("at fail points", f"{hit}, at {len(deeds.points)} points; never: {deeds.missing}"),
        ("servers and leaders", ", ".join(deeds.servers)),
        ("ended by themselves", str(len(deeds.fell))),
        ("seconds", f"{deeds.seconds:.0f}"),
        ("calls", f"{heard.calls}, {heard.cut} cut off, {heard.refused} refused"),
        ("asked for", f"{heard.asked}, {heard.no_quota} refused for good: no quota"),
        ("searches", f"{heard.searches} of {heard.keys} keys, {heard.reused} from reuse"),
        ("slowest", f"{heard.slowest_s:.0f} s"),
        ("charged", str(heard.charged)),
        ("ended as intended", f"{heard.intended} of {heard.searches}"),
        ("paid calls", f"{report.paid}, {len(report.paid_twice)} questions too often"),
        *((kind, str(found[kind])) for kind in get_args(Kind)),
        ("log", f"{stored.events} events, {len(stored.log)} violations"),
        ("views", f"{stored.rows} rows, {len(stored.views)} not as replayed"),
        ("not settled", str(stored.unfinished)),
    ]


_RUNS: Body = {"status": "running"}


def _took_s(notes: Notebook, search: str) -> float:
    """Return how long *search* was waited for: until somebody was told that it had ended."""
    began = min(one.sent for one in notes.asked if one.search == search)
    ends = [
        told.heard
        for told in notes.told
        if told.body["id"] == search and told.body["status"] != "running"
    ]
    return min(ends) - began if ends else 0.0


def _short(body: Body) -> str:
    emails = [contact["email"] for contact in body["contacts"] if contact.get("email")]
    return " ".join([str(body.get("reason", body["status"])), *emails])
