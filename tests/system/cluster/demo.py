"""A search that outlives the worker that has it in hand."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx
from rich.console import Console

from cs.cli.output import print_parts
from cs.cli.search import record_lines
from harness.service_process import NotRunning
from system.cluster.cluster import Cluster, Tell, running_cluster

T = TypeVar("T")

#: A world with one brand, whose mail server is slow enough to kill its worker meanwhile.
WORLD = Path(__file__).with_name("patient-world.json")
BRAND = "Lentavere"
#: The search has ended by then, or the demonstration has failed.
SEARCH_S = 60.0
#: Interval between two looks; a search may be read 120 times a minute.
LOOK_S = 0.5
_VERIFIED = "SELECT count(*) FROM stored_events WHERE topic = 'brand.mailbox-verified.v1'"


def demo(console: Console, tell: Tell, *, brokers: int, each: int) -> int:
    """Search, kill the worker in the middle of its work, show the result; return the exit code.

    Raises:
        KeyboardInterrupt: A signal ended it.
        NotRunning: Something did not happen in `SEARCH_S`.
    """
    with running_cluster(brokers=brokers, each=each, world=WORLD, tell=tell) as cluster:
        with httpx.Client(
            base_url=cluster.urls[0],
            headers={"Authorization": f"Bearer {cluster.new_key()['key']}"},
            trust_env=False,
        ) as http:
            found = http.post("/contacts", json={"brand": BRAND}).raise_for_status().json()
            tell(f"search for {BRAND}; its mail server takes its time")

            def holder() -> str | None:
                names = (role.name for role in cluster.of("stage-verification"))
                return next((name for name in names if _has_work(cluster, name)), None)

            def verified() -> int | None:
                ((count,),) = asyncio.run(cluster.fetch(_VERIFIED))
                return count or None

            def ended() -> dict[str, object] | None:
                record = http.get(f"/searches/{found['id']}").raise_for_status().json()
                return None if record["status"] == "running" else record

            name = _until(cluster, tell, "a worker that verifies", holder)
            tell(f"{name} (process {cluster.roles[name].pid}) has the work in hand")
            before = _until(cluster, tell, "the first mailbox verified", verified)
            cluster.roles[name].kill()
            killed_at = time.monotonic()
            tell(f"SIGKILL to {name}, with {before} of 4 mailboxes verified")
            heir = _until(cluster, tell, "a worker that takes over", holder)
            tell(f"{heir} has it in hand after {time.monotonic() - killed_at:.1f} s")
            record = _until(cluster, tell, "the end of the search", ended)
        tell(f"the search has ended: {record['status']}")
        console.print()
        print_parts(record_lines(record))
    tell("everything is ended, nothing is left behind")
    return 0 if record["status"] == "done" else 1


def _until(cluster: Cluster, tell: Tell, what: str, ask: Callable[[], T | None]) -> T:
    """Return the first answer of *ask* but ``None``; meanwhile start ended roles again."""
    give_up = time.monotonic() + SEARCH_S
    while time.monotonic() < give_up:
        cluster.start_ended(tell)
        if (answer := ask()) is not None:
            return answer
        threading.Event().wait(LOOK_S)
    raise NotRunning(f"this did not happen in {SEARCH_S:.0f} s: {what}")


def _has_work(cluster: Cluster, name: str) -> bool:
    """Return whether the role *name* works on a record, as its ``/readyz`` shows."""
    url = f"http://127.0.0.1:{cluster.admin_ports[name]}/readyz"
    try:
        bus = httpx.get(url, timeout=2.0, trust_env=False).json().get("bus")
    except httpx.TransportError:
        return False
    read = bus["subscriptions"] if isinstance(bus, dict) else ()
    return any(each["in_hand"] for each in read)
