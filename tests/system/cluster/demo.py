"""A search that outlives the worker that had it in hand."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console

from cs.cli.output import print_parts
from cs.cli.search_record import record_lines
from system.cluster.cluster import Cluster, Tell, running_cluster
from system.cluster.health import Checkup
from system.cluster.story import Stored, stored
from system.cluster.supervising import Supervisor

#: A brand whose mail server takes its time: long enough to die in the middle of its work.
WORLD = Path(__file__).with_name("patient-world.json")
BRAND = "Lentavere"
#: The search has ended by then, or the demonstration has failed.
SEARCH_S = 60.0
LOOK_S = 0.25
#: Between two reads of the search: 120 a minute are allowed.
READ_S = 1.0


class TookTooLong(Exception):
    """The message says what was waited for."""


def demo(console: Console, tell: Tell, *, brokers: int, each: int) -> int:
    """Show it; return the exit code."""
    with (
        running_cluster(brokers=brokers, each=each, world=WORLD, tell=tell) as cluster,
        Checkup(cluster) as checkup,
    ):
        try:
            record = _Search(cluster, checkup, tell).shown()
        except TookTooLong as late:
            tell(f"this did not happen in {SEARCH_S:.0f} s: {late}")
            return 1
        console.print()
        print_parts(record_lines(record))
    tell("everything is ended, nothing is left behind")
    return 0 if record["status"] == "done" else 1


@dataclass
class _Search:
    cluster: Cluster
    checkup: Checkup
    tell: Tell
    give_up: float = field(default_factory=lambda: time.monotonic() + SEARCH_S)

    def __post_init__(self) -> None:
        self._supervisor = Supervisor(self.cluster.roles, self.tell)
        self._workers = [role.name for role in self.cluster.of("stage-verification")]

    def shown(self) -> dict[str, Any]:
        """Search, kill the worker in the middle of its work, and return how it ends.

        Raises:
            TookTooLong: One of the steps did not happen.
        """
        key = self.cluster.new_key()["key"]
        with httpx.Client(
            base_url=self.cluster.urls[0],
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
        ) as http:
            found = http.post("/contacts", json={"brand": BRAND}).raise_for_status().json()
            self.tell(f"search for {BRAND}; its mail server takes its time")
            self._lose_the_worker()
            record: dict[str, Any] = self._until(
                f"the end of {found['id']}", lambda: _ended(http, found["id"]), READ_S
            )
        self.tell(f"the search has ended: {record['status']}")
        return record

    def _lose_the_worker(self) -> None:
        holder = self._until("a worker that verifies", self._holder)
        worker = self.cluster.roles[holder]
        self.tell(f"{holder} (process {worker.pid}) has the work in hand")
        before = self._until("the first mailbox verified", self._one_verified)
        worker.kill()
        killed_at = time.monotonic()
        self.tell(f"SIGKILL to {holder}, with {before.verified} of 4 mailboxes verified")
        heir = self._until("a worker that takes over", self._holder)
        took = time.monotonic() - killed_at
        number = self.cluster.roles[heir].pid
        again = self._stored().issued - before.issued
        how = "it was issued again" if again else "its record came again, not committed yet"
        self.tell(f"{heir} (process {number}) has it in hand after {took:.1f} s: {how}")

    def _holder(self) -> str | None:
        said = self.checkup.ask(self._workers)
        return next((name for name, health in said.items() if health and health.in_hand), None)

    def _one_verified(self) -> Stored | None:
        now = self._stored()
        return now if now.verified else None

    def _stored(self) -> Stored:
        return stored(self.cluster.postgres.dsn_of("service"))

    def _until(self, what: str, ask: Callable[[], Any], every_s: float = LOOK_S) -> Any:
        """Return the first answer of *ask* that is one, looking after the roles meanwhile."""
        while time.monotonic() < self.give_up:
            self._supervisor.look()
            answer = ask()
            if answer is not None:
                return answer
            threading.Event().wait(every_s)
        raise TookTooLong(what)


def _ended(http: httpx.Client, search: str) -> dict[str, Any] | None:
    record: dict[str, Any] = http.get(f"/searches/{search}").raise_for_status().json()
    return record if record["status"] != "running" else None
