"""A search that outlives the worker that has it in hand."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import asyncpg
import httpx
from rich.console import Console

from cs.cli.output import print_parts
from cs.cli.search import record_lines
from system.cluster.cluster import Cluster, Tell, running_cluster

T = TypeVar("T")

#: A world with one brand, whose mail server is slow enough to kill its worker meanwhile.
WORLD = Path(__file__).with_name("patient-world.json")
BRAND = "Lentavere"
#: The search has ended by then, or the demonstration has failed.
SEARCH_S = 60.0
LOOK_S = 0.25
#: Interval between two reads of the search: 120 a minute are allowed.
READ_S = 1.0


class TookTooLong(Exception):
    """The message names what was waited for."""


class Progress(NamedTuple):
    """What the log has of the only search."""

    verified: int  # mailboxes
    issued: int  # attempts at the verification


def demo(console: Console, tell: Tell, *, brokers: int, each: int) -> int:
    """Search, kill the worker in the middle of its work, show the result; return the exit code.

    Raises:
        KeyboardInterrupt: A signal ended it.
    """
    with running_cluster(brokers=brokers, each=each, world=WORLD, tell=tell) as cluster:
        key = cluster.new_key()["key"]
        with httpx.Client(
            base_url=cluster.urls[0],
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
        ) as http:
            found = http.post("/contacts", json={"brand": BRAND}).raise_for_status().json()
            tell(f"search for {BRAND}; its mail server takes its time")

            def ended() -> dict[str, object] | None:
                record = http.get(f"/searches/{found['id']}").raise_for_status().json()
                return None if record["status"] == "running" else record

            try:
                _kill_the_worker(cluster, tell)
                record = _until(cluster, tell, "the end of the search", ended, READ_S)
            except TookTooLong as late:
                tell(f"this did not happen in {SEARCH_S:.0f} s: {late}")
                return 1
        tell(f"the search has ended: {record['status']}")
        console.print()
        print_parts(record_lines(record))
    tell("everything is ended, nothing is left behind")
    return 0 if record["status"] == "done" else 1


def _kill_the_worker(cluster: Cluster, tell: Tell) -> None:
    def holder() -> str | None:
        names = (role.name for role in cluster.of("stage-verification"))
        return next((name for name in names if _has_work(cluster, name)), None)

    def one_verified() -> Progress | None:
        now = asyncio.run(_progress(cluster))
        return now if now.verified else None

    name = _until(cluster, tell, "a worker that verifies", holder)
    tell(f"{name} (process {cluster.roles[name].pid}) has the work in hand")
    before = _until(cluster, tell, "the first mailbox verified", one_verified)
    cluster.roles[name].kill()
    killed_at = time.monotonic()
    tell(f"SIGKILL to {name}, with {before.verified} of 4 mailboxes verified")
    heir = _until(cluster, tell, "a worker that takes over", holder)
    took = time.monotonic() - killed_at
    again = asyncio.run(_progress(cluster)).issued - before.issued
    how = "it was issued again" if again else "its record came again, not committed yet"
    tell(f"{heir} has it in hand after {took:.1f} s: {how}")


def _until(
    cluster: Cluster,
    tell: Tell,
    what: str,
    ask: Callable[[], T | None],
    every_s: float = LOOK_S,
) -> T:
    """Return the first answer of *ask* but ``None``; meanwhile start ended roles again.

    Raises:
        TookTooLong: There was none in `SEARCH_S`.
    """
    give_up = time.monotonic() + SEARCH_S
    while time.monotonic() < give_up:
        cluster.start_ended(tell)
        if (answer := ask()) is not None:
            return answer
        threading.Event().wait(every_s)
    raise TookTooLong(what)


def _has_work(cluster: Cluster, name: str) -> bool:
    """Return whether the role *name* works on a record, as its ``/readyz`` shows."""
    url = f"http://127.0.0.1:{cluster.admin_ports[name]}/readyz"
    try:
        bus = httpx.get(url, timeout=2.0, trust_env=False).json().get("bus")
    except httpx.TransportError:
        return False
    read = bus["subscriptions"] if isinstance(bus, dict) else ()
    return any(each["in_hand"] for each in read)


async def _progress(cluster: Cluster) -> Progress:
    connection = await asyncpg.connect(cluster.postgres.dsn_of("service"))
    try:
        row = await connection.fetchrow(_COUNTS)
    finally:
        await connection.close()
    assert row is not None, "counts are one row"
    return Progress(row[0], row[1])


_COUNTS = """
SELECT count(*) FILTER (WHERE topic = 'brand.mailbox-verified.v1'),
       count(*) FILTER (WHERE topic = 'brand.stage-issued.v1'
           AND convert_from(state, 'UTF8')::jsonb ->> 'stage' = 'verification')
FROM stored_events
"""
