"""The report of a storm: what was done, how the clients fared, and every broken promise."""

from typing import Any, NamedTuple

import msgspec

from system.faults.caller import Notebook
from system.faults.promises import Body, FinalState, as_intended, check, is_untrue

#: How many of the searches may break down, whichever is more: their time goes on while the
#: service is dead.  The others must end as the world intends.
BROKEN_SHARE, BROKEN = 0.05, 3
_RUNS: Body = {"status": "running"}


class Report(NamedTuple):
    """What happened, and every promise that was broken; none if all were kept."""

    facts: dict[str, Any]
    faults: list[str]

    def __str__(self) -> str:
        """Return it as JSON for people, a field a line, the faults at the end."""
        return msgspec.json.format(
            msgspec.json.encode({**self.facts, "faults": self.faults})
        ).decode()


def client_results(notes: Notebook, end: FinalState) -> Report:
    """Return the results in *notes*, checked against the *end*."""
    searches = end.searches
    ended = {
        one.search: one
        for one in notes.requests
        if one.search and searches.get(one.search, _RUNS)["status"] != "running"
    }
    otherwise = {
        search: f"{one.wish.body}: {_short(searches[search])}, not {one.wish.outcome}"
        for search, one in ended.items()
        if not as_intended(one.wish, searches[search])
    }
    faults = [
        *(f"{each.kind}: {each.what}" for each in check(notes.answers, notes.requests, end)),
        *(
            f"not so: {said}"
            for search, said in otherwise.items()
            if is_untrue(ended[search].wish, searches[search])
        ),
    ]
    good = len(ended) - len(otherwise)
    if not good or len(searches) - good > max(BROKEN, BROKEN_SHARE * len(searches)):
        faults.append(f"{len(otherwise)} of {len(searches)} ended otherwise than intended")
    bodies = [body for body in searches.values() if body["status"] != "running"]
    facts = {
        "calls": notes.calls,
        "cut": notes.cut,
        "refused": notes.refused,
        "wishes": len(notes.requests),
        "searches": len(searches),
        "reused": sum(body["cached"] for body in bodies),
        "charged": sum(body["charged"] for body in bodies),
        "otherwise": otherwise,
    }
    return Report(facts, faults)


def _short(body: Body) -> str:
    emails = [contact["email"] for contact in body["contacts"] if contact.get("email")]
    return " ".join([str(body.get("reason", body["status"])), *emails])
