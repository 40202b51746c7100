"""Every reason to refuse POST /contacts, and a request that meets any two of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import httpx

from conformance.answers import is_refused, windows
from conformance.target import Caller, Target, new_brand, until

#: Contract O1 to O11: in the order in which they are reported, with status, code and a word
#: of the message that distinguishes it from others with the same code.
OBSTACLES: Mapping[str, tuple[int, str, str]] = {
    "key": (401, "unauthorized", ""),
    "path": (404, "not_found", ""),
    "body": (400, "invalid_request", "`brand`"),
    "idempotency": (400, "invalid_request", "Idempotency-Key"),
    "pause": (503, "api_disabled", "paused"),
    "quota": (402, "quota_exhausted", "quota"),
    "windows": (429, "rate_limited", "minute"),
    "ceiling": (503, "at_capacity", "24 hours"),
    "in flight": (429, "too_many_in_flight", "2 new-brand searches"),
    "last unit": (429, "too_many_in_flight", "last unit"),
}
#: What runs holds a unit, so a quota cannot be used up while as much of it is held.
IMPOSSIBLE = {("quota", "in flight"), ("quota", "last unit")}
PAIRS = [pair for pair in combinations(OBSTACLES, 2) if pair not in IMPOSSIBLE]
#: Fails at once, is reused, and costs nothing.
FREE = "Nowhere Known Trading"
PER_MINUTE = 6


@dataclass
class Armed:
    """A request that meets all of *obstacles* but the pause, which is the operator's."""

    target: Target
    caller: Caller
    obstacles: tuple[str, ...]
    path: str = "/contacts"
    body: dict[str, object] = field(default_factory=lambda: {"brand": new_brand()})
    headers: dict[str, str] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)

    def send(self) -> httpx.Response:
        if "key" not in self.obstacles:
            self._still_stands()
        return self.caller.http.post(self.path, json=self.body, headers=self.headers)

    def _still_stands(self) -> None:
        """Assert that what passes by itself has not passed."""
        if "windows" in self.obstacles:
            assert windows(self.caller.http.get("/usage"))["minute"]["r"] == 0
        for search in self.running:
            assert self.caller.read(search)["status"] == "running"


def armed(  # noqa: C901 - one branch for each obstacle
    target: Target, obstacles: tuple[str, ...], *, fresh: bool = False
) -> Armed:
    """Bring *obstacles* about for a new key on *target*.

    Args:
        target: For the ceiling, one that has one.
        obstacles: Names of `OBSTACLES`.
        fresh: Nothing runs on *target* and nothing is reused, so the clock may stay.
    """
    caller = target.caller(_quota(obstacles))
    made = Armed(target, caller, obstacles)
    running = 2 if "in flight" in obstacles else 1 if "last unit" in obstacles else 0
    if not fresh and (running or "ceiling" in obstacles):
        target.a_month_later()  # what is to run must not be known, and the ceiling be far
    counted = 0
    if "idempotency" in obstacles:
        made.headers["Idempotency-Key"] = "one-wish"
        assert caller.ask(made.headers, brand=FREE, wait=True).status_code == 200
        counted += 1
    to_charge = 1 if "quota" in obstacles else 0
    if "windows" in obstacles:
        for _ in range(PER_MINUTE - counted - running - to_charge):
            assert caller.ask(brand=FREE, wait=True).status_code == 200
    if to_charge:
        assert caller.found(brand="Veltrana")["charged"]
    for brand in ("Quellmark", "Zephrine")[:running]:
        begun = caller.ask(brand=brand)
        assert begun.status_code == 202
        made.running.append(begun.json()["id"])
    if "ceiling" in obstacles:
        other = target.caller()
        until(lambda: other.ask(brand=new_brand(), wait=True).status_code == 503)
    if "path" in obstacles:
        made.path = "/nothing"
    if "body" in obstacles:
        made.body = {"wait": False}
    if "key" in obstacles:
        if {"key", "path", "body", "pause"}.issuperset(obstacles):
            # None is about what this key did before, so one that never was will do.
            made.headers["Authorization"] = "Bearer cs_live_wrong"
        else:
            target.command(["keys", "revoke", caller.key.id])
    return made


def named(pair: tuple[str, ...]) -> str:
    return " and ".join(pair)


def tells(answer: httpx.Response, obstacle: str) -> None:
    """Assert that *answer* reports *obstacle*."""
    status, code, word = OBSTACLES[obstacle]
    assert word in is_refused(answer, code, status)


def _quota(obstacles: tuple[str, ...]) -> int:
    if "quota" in obstacles:
        return 1
    if "last unit" in obstacles:
        return 2 if "in flight" in obstacles else 1
    return 100
