"""The results of the clients of a service in a storm."""

from collections.abc import Mapping, Sequence

import msgspec

from system.faults.caller import Notebook
from system.faults.promises import (
    Body,
    BrokenPromise,
    ClientRequest,
    FinalState,
    as_intended,
    check,
    is_untrue,
)

#: Of searches that ended, how many must end as the world intends.  The others may have broken
#: down: their time goes on while the service is dead.
GOOD_SHARE = 0.95
_RUNS: Body = {"status": "running"}


class ClientResults(msgspec.Struct, frozen=True, kw_only=True):
    """How calls of clients were answered, and how their searches ended."""

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
    untrue: Sequence[str]  # searches that ended with what is not so
    broken: Sequence[BrokenPromise]

    @property
    def faults(self) -> list[str]:
        """Return every promise that was broken; empty if all were kept."""
        found = [f"{each.kind}: {each.what}" for each in self.broken]
        found += [f"not so: {line}" for line in self.untrue]
        if not self.intended >= GOOD_SHARE * self.searches > 0:
            found.append(f"{self.intended} of {self.searches} ended as the world intends")
        return found


def readable(report: msgspec.Struct, faults: Sequence[str]) -> str:
    """Return a *report* as JSON for people, a field a line, with its *faults* at the end."""
    plain = msgspec.to_builtins(report) | {"faults": faults}
    return msgspec.json.format(msgspec.json.encode(plain)).decode()


def client_results(notes: Notebook, end: FinalState) -> ClientResults:
    """Return the results in *notes*, checked against the *end*."""
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
        untrue=[
            otherwise[search]
            for search in otherwise
            if is_untrue(ended[search].wish, end.searches[search])
        ],
        slowest_s=max((_took_s(notes, search) for search in ended), default=0.0),
        broken=tuple(check(notes.answers, notes.requests, end)),
    )


def _took_s(notes: Notebook, search: str) -> float:
    """Return how long clients waited until they knew that *search* had ended."""
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
