"""What came of a storm over a cluster, and whether that is good."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from system.cluster.storm_checks import Stored
from system.faults.caller import Notebook
from system.faults.promises import (
    Body,
    BrokenPromise,
    ClientRequest,
    FinalState,
    Kind,
    as_intended,
    check,
)

#: Of searches that ended, how many must end as the world intends.
GOOD_SHARE = 0.95


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to the cluster."""

    kills: Mapping[str, int]  # by kind of role
    at_start: int
    points: Mapping[str, int]  # fail points at which a role died
    missing: Sequence[str]  # those at which none did, and one was meant to
    servers: Sequence[str]
    fell: Sequence[str]  # roles that ended by themselves
    bugs: Sequence[str]  # what roles told of as their own fault
    seconds: float


class ClientResults(msgspec.Struct, frozen=True, kw_only=True):
    """What its clients met with, and how their searches ended."""

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
    broken: Sequence[BrokenPromise]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    damage: Damage
    clients: ClientResults
    stored: Stored
    paid: int
    paid_twice: Sequence[str]

    @property
    def faults(self) -> list[str]:
        """Return every promise that was broken; empty if all were kept."""
        clients, stored = self.clients, self.stored
        found = [f"{each.kind}: {each.what}" for each in clients.broken]
        found += [f"log: {line}" for line in stored.log]
        found += [f"view: {line}" for line in stored.views]
        found += [f"paid twice: {question}" for question in self.paid_twice]
        if not self.paid:
            found.append("nobody was asked for money: nothing was proven")
        found += [f"bug: {line}" for line in self.damage.bugs]
        found += [f"nobody died at {point}" for point in self.damage.missing]
        if stored.unfinished:
            found.append(f"{stored.unfinished} searches are not settled")
        if not clients.intended >= GOOD_SHARE * clients.searches > 0:
            found.append(f"{clients.intended} of {clients.searches} ended as the world intends")
        return found


def client_results(notes: Notebook, end: FinalState) -> ClientResults:
    """Return what clients met with, held against the *end*."""
    ended: dict[str, ClientRequest] = {
        one.search: one
        for one in notes.requests
        if one.search is not None and end.searches.get(one.search, _RUNS)["status"] != "running"
    }
    otherwise = {
        search: f"{one.wish.body}: {_short(end.searches[search])}, not {one.wish.outcome}"
        for search, one in ended.items()
        if not as_intended(one.wish, end.searches[search])
    }
    bodies = [body for body in end.searches.values() if body["status"] != "running"]
    return ClientResults(
        calls=notes.calls,
        cut=notes.cut,
        refused=notes.refused,
        asked=len(notes.requests),
        no_quota=sum(
            one.answered_at is not None and one.search is None for one in notes.requests
        ),
        keys=len({one.key for one in notes.requests if one.search is not None}),
        searches=len(end.searches),
        reused=sum(body["cached"] for body in bodies),
        charged=sum(body["charged"] for body in bodies),
        intended=len(ended) - len(otherwise),
        otherwise=otherwise,
        slowest_s=max((_took_s(notes, search) for search in ended), default=0.0),
        broken=tuple(check(notes.answers, notes.requests, end)),
    )


def shown(report: Report) -> list[tuple[str, str]]:
    """Return *report* as rows for people."""
    damage, clients, stored = report.damage, report.clients, report.stored
    found = Counter(each.kind for each in clients.broken)
    hit = sum(damage.points.values())
    return [
        ("kills", f"{sum(damage.kills.values())}, {damage.at_start} of them while it started"),
        *((f"  {kind}", str(number)) for kind, number in sorted(damage.kills.items())),
        ("at fail points", f"{hit}, at {len(damage.points)} points; never: {damage.missing}"),
        ("servers and leaders", ", ".join(damage.servers)),
        ("ended by themselves", str(len(damage.fell))),
        ("seconds", f"{damage.seconds:.0f}"),
        ("calls", f"{clients.calls}, {clients.cut} cut off, {clients.refused} refused"),
        ("asked for", f"{clients.asked}, {clients.no_quota} refused for good: no quota"),
        ("searches", f"{clients.searches} of {clients.keys} keys, {clients.reused} from reuse"),
        ("slowest", f"{clients.slowest_s:.0f} s"),
        ("charged", str(clients.charged)),
        ("ended as intended", f"{clients.intended} of {clients.searches}"),
        ("paid calls", f"{report.paid}, {len(report.paid_twice)} questions too often"),
        *((kind, str(found[kind])) for kind in get_args(Kind)),
        ("log", f"{stored.events} events, {len(stored.log)} violations"),
        ("views", f"{stored.rows} rows, {len(stored.views)} not as replayed"),
        ("not settled", str(stored.unfinished)),
    ]


_RUNS: Body = {"status": "running"}


def _took_s(notes: Notebook, search: str) -> float:
    """Return how long *search* was waited for: until somebody was told that it had ended."""
    began = min(one.sent_at for one in notes.requests if one.search == search)
    ends = [
        each.received_at
        for each in notes.answers
        if each.body["id"] == search and each.body["status"] != "running"
    ]
    return min(ends) - began if ends else 0.0


def _short(body: Body) -> str:
    emails = [contact["email"] for contact in body["contacts"] if contact.get("email")]
    return " ".join([str(body.get("reason", body["status"])), *emails])
