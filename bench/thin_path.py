"""The thin HTTP path against services written by hand, in one run.

    PYTHONPATH=tests .venv/bin/python bench/thin_path.py [CALLS_A_ROUND] [--json]

Each service is a process of its own on uvicorn, h11 and uvloop, each call is one of 16 kept
connections.  The whole service on SQLite, in its sandbox, is compared with CRUD: Starlette with
one durable row a POST and one row read a GET.  ``cs api`` on PostgreSQL, with ``cs project``
and what it answers found before, is compared with CRUD with keys on the same server
(`crud_service.py` has both).

Every kind of call is made in rounds, one kind after the other, so that what else the machine
does meets all of them; shown is the median of the rounds, and how far they are apart
(``spread``: the best less the worst, of the median).  Calls are spread over so many keys that
no limit is met; an answer with another status than the one measured ends the run.

``ratio`` is calls a second against those of the hand-written service, more is better.
``cpu_ms`` is the processor time of the serving process for a call, less is better; it depends
little on what else the machine does.
"""

import json
import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import uvloop

from cli.command import environment
from crud_service import KEYS, PER_MINUTE, search_of, secret_of
from harness.api_keys import new_keys, operating
from harness.served import served
from harness.service_process import ServiceProcess
from http_load import CONNECTIONS, Took, call, load
from shown import command, show
from system.cluster.cluster import Cluster, running_cluster

HERE = Path(__file__).parent
BRAND = "Veltrana"
BODY = json.dumps({"brand": BRAND}).encode()
ROUNDS = 5
#: Of one key, below 120 checks and 6 searches a minute.
CHECKS, REUSED = 100, 5
UVICORN_RUNS = re.compile(r".*running on (http://[^/\s]+)")


@dataclass
class Kind:
    """One kind of call to one service, and all of its calls."""

    name: str
    url: str
    pid: int  # of the serving process
    status: int
    calls: list[bytes]
    against: str  # the kind of the hand-written service that does the same

    def of_round(self, turn: int) -> list[bytes]:
        each = len(self.calls) // ROUNDS
        return self.calls[turn * each : (turn + 1) * each]


def by_hand(stack: ExitStack, name: str, folder: Path, postgres: str = "") -> tuple[str, int]:
    """Start the service *name* of `crud_service`; return its address and process id."""
    same = ("--loop=uvloop", "--http=h11", "--no-access-log")
    service = ServiceProcess(
        name,
        [*("--app-dir", str(HERE)), "--port=0", *same, f"crud_service:{name}"],
        environment(CRUD_FILE=str(folder / f"{name}.db"), CRUD_POSTGRES=postgres, NO_COLOR="1"),
        ready=UVICORN_RUNS,
        module="uvicorn",
    )
    stack.callback(service.end)
    service.start()
    service.wait_ready()
    assert service.ready_line is not None, "it is ready"
    return service.ready_line[1], service.pid


def spread(items: Sequence[Any], each: int, total: int) -> list[Any]:
    """Return *total* items in turn, none more often than *each* times."""
    assert len(items) * each >= total, "limits would be met"
    return [items[n % len(items)] for n in range(total)]


async def crud_kinds(url: str, pid: int, total: int) -> list[Kind]:
    async with httpx.AsyncClient(base_url=url) as client:
        stored = [
            (await client.post("/contacts", json={"brand": BRAND})).json()["id"]
            for _ in range(50)
        ]
    gets = [call("GET", f"/searches/{each}") for each in spread(stored, total, total)]
    # A POST takes so little that its rounds have four times as many.
    posts = [call("POST", "/contacts", "", BODY)] * (4 * total)
    return [
        Kind("CRUD, GET", url, pid, 200, gets, "CRUD, GET"),
        Kind("CRUD, POST", url, pid, 202, posts, "CRUD, POST"),
    ]


def keyed_kinds(url: str, pid: int, total: int) -> list[Kind]:
    stored = [(search_of(n), secret_of(n)) for n in range(KEYS)]
    gets = [
        call("GET", f"/searches/{search}", secret)
        for search, secret in spread(stored, PER_MINUTE, total)
    ]
    name = "CRUD with keys on PostgreSQL, GET"
    return [Kind(name, url, pid, 200, gets, name)]


async def search(client: httpx.AsyncClient, key: str, *, wait: bool = False) -> str:
    answer = await client.post(
        "/contacts",
        json={"brand": BRAND, "wait": wait},
        headers={"Authorization": f"Bearer {key}"},
    )
    record: dict[str, Any] = answer.raise_for_status().json()
    assert record["status"] == "done", record
    return str(record["id"])


async def finished(url: str, keys: Sequence[str], total: int) -> list[bytes]:
    """Return *total* GETs of searches that have ended, one of each of *keys*."""
    async with httpx.AsyncClient(base_url=f"{url}/v1", timeout=100) as client:
        await search(client, keys[0], wait=True)
        searches = [(await search(client, key), key) for key in keys]
    return [
        call("GET", f"/v1/searches/{found}", key)
        for found, key in spread(searches, CHECKS, total)
    ]


async def our_kinds(stack: ExitStack, folder: Path, total: int) -> list[Kind]:
    service = stack.enter_context(served(folder, CS_LOG_LEVEL="error"))
    url = service.base_url.removesuffix("/v1")
    readers = await new_keys(folder, -(-total // CHECKS))
    reusers = await new_keys(folder, -(-total // REUSED))
    gets = await finished(url, readers, total)
    posts = [call("POST", "/v1/contacts", key, BODY) for key in spread(reusers, REUSED, total)]
    return [
        Kind("ours, GET finished search", url, service.pid, 200, gets, "CRUD, GET"),
        Kind("ours, POST from reuse", url, service.pid, 200, posts, "CRUD, POST"),
    ]


async def shared_kinds(
    stack: ExitStack, folder: Path, cluster: Cluster, total: int
) -> list[Kind]:
    """Return the kinds of calls to services on one PostgreSQL."""
    kinds = keyed_kinds(*by_hand(stack, "keyed", folder, cluster.postgres.dsn), total)
    async with operating(cluster.environment) as operator:
        keys = [
            (await operator.create_key("bench", 10)).key for _ in range(-(-total // CHECKS))
        ]
    url = cluster.urls[0].removesuffix("/v1")
    gets = await finished(url, keys, total)
    for name, role in cluster.roles.items():
        if name not in {"api-1", "project-1"}:  # which answer what was found
            role.end()
    name = "ours on PostgreSQL, GET finished search"
    pid = cluster.roles["api-1"].pid
    return [*kinds, Kind(name, url, pid, 200, gets, kinds[0].name)]


async def measure(kinds: Sequence[Kind]) -> dict[str, list[Took]]:
    for kind in kinds:
        if "GET" in kind.name:
            await load(kind.url, kind.calls[:CONNECTIONS], kind.status)
    measured: dict[str, list[Took]] = {kind.name: [] for kind in kinds}
    for turn in range(ROUNDS):
        for kind in kinds:
            took = await load(kind.url, kind.of_round(turn), kind.status, kind.pid)
            measured[kind.name].append(took)
    return measured


def row(kind: Kind, measured: dict[str, list[Took]]) -> dict[str, Any]:
    ours, theirs = measured[kind.name], measured[kind.against]
    per_s = [each.per_s for each in ours]
    together = sum(ours, Took([], 0.0))
    pairs = zip(ours, theirs, strict=True)
    return {
        "per_s": round(median(per_s)),
        "spread": round((max(per_s) - min(per_s)) / median(per_s), 2),
        "p50_ms": round(together.quantile_ms(0.5), 2),
        "p99_ms": round(together.quantile_ms(0.99), 2),
        "ratio": round(median(one.per_s / other.per_s for one, other in pairs), 2),
        "cpu_ms": round(median(each.cpu_ms for each in ours), 3),
    }


async def main(calls: int, cluster: Cluster) -> dict[str, Any]:
    total = calls * ROUNDS
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kinds = [
            *await crud_kinds(*by_hand(stack, "crud", folder), total),
            *await our_kinds(stack, folder / "data", total),
            *await shared_kinds(stack, folder, cluster, total),
        ]
        measured = await measure(kinds)
    rows = {kind.name: row(kind, measured) for kind in kinds}
    return {"load_1m": round(os.getloadavg()[0], 1), "rows": rows}


if __name__ == "__main__":
    parser = command(__doc__)
    parser.add_argument("calls", nargs="?", type=int, default=1500)
    given = parser.parse_args()
    with running_cluster(durable=True) as cluster:
        found = uvloop.run(main(given.calls, cluster))
    show(found, as_json=given.json)
