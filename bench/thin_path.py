"""The thin HTTP path against services written by hand, in one run.

Each service is a process of its own on uvicorn, h11 and uvloop, each call is one of 16 kept
connections:

- CRUD: Starlette with one durable row a POST, one row read a GET, and no more, on SQLite and,
  with ``--postgres``, on PostgreSQL;
- CRUD with keys: the same with what callers need: a key looked up by its hash, a limit counted
  and told in headers, a POST charged in the transaction that stores it, and answered whole;
- ours: the whole service on SQLite in its sandbox, with keys, limits, quota and reuse;
- ours on PostgreSQL, with ``--postgres``: ``cs api`` beside ``cs project``, what is answered
  found before.

Every kind of call is made in rounds, one kind after the other, so that what else the machine
does meets all of them; told is the median of the rounds, and how far they are apart
(``spread``: the best less the worst, of the median).  A `POST` of CRUD takes so little that its
rounds have four times as many, else each would last a tenth of a second.  Calls are spread over
so many keys that no limit is met; an answer with another status than the one measured ends the
run.  A new search goes on working in the serving process while the next ones are measured: its
figure is of the whole service.

``of_crud`` and ``of_keyed`` are calls a second against those of CRUD without and with keys (the
call alike, on the same kind of store), more is better.  ``cpu_ms`` is what a
call took of the serving process's processor time, less is better; it depends
little on what else the machine does.  Calls are made by a protocol on uvloop: ``caller`` is
which part of a core that took; near 1 it is the caller that is measured.

    PYTHONPATH=tests .venv/bin/python bench/thin_path.py [CALLS_A_ROUND] [--json]
        [--postgres postgresql://USER@HOST/DATABASE | --postgres own]
        [--only KIND]

``--only "POST from reuse"`` makes no other calls than those whose name has these words, and
those that they are held against.
"""

import argparse
import json
import os
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import uvloop

from api.http_load import CONNECTIONS, Took, call, load
from cli.command import environment
from crud_service import KEYS, PER_MINUTE, secret_of
from harness.api_keys import new_keys
from harness.served import served
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres
from harness.service_process import ServiceProcess
from postgres_service import SharedService, url_of

HERE = Path(__file__).parent
BRAND = "Veltrana"
ROUNDS = 5
OWN = "own"
#: Of one key, below 120 checks a minute, 6 searches a minute and 2 in flight.
CHECKS, REUSED, NEW = 100, 5, 2
UVICORN_RUNS = re.compile(r".*running on (http://[^/\s]+)")


@dataclass
class Target:
    """A service in a process of its own."""

    url: str
    pid: int

    def cpu_s(self) -> float:
        """Return the processor time of all its threads until now."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def by_hand(stack: ExitStack, name: str, folder: Path, postgres: str = "") -> Target:
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
    return Target(service.ready_line[1], service.pid)


def ours(stack: ExitStack, folder: Path) -> Target:
    service = stack.enter_context(served(folder, CS_LOG_LEVEL="error"))
    return Target(service.base_url.removesuffix("/v1"), service.pid)


@dataclass
class Kind:
    """One kind of call to one service, and its calls of each round."""

    name: str
    at: Target
    status: int
    rounds: list[list[bytes]]
    against: str  # the kind of the hand-written service that does the like

    def cpu_s(self) -> float:
        return self.at.cpu_s()


async def search(client: httpx.AsyncClient, key: str, *, wait: bool = False) -> str:
    answer = await client.post(
        "/contacts",
        json={"brand": BRAND, "wait": wait},
        headers={"Authorization": f"Bearer {key}"},
    )
    record: dict[str, Any] = answer.raise_for_status().json()
    assert record["status"] == "done", record
    return str(record["id"])


def rounds(calls: Sequence[bytes]) -> list[list[bytes]]:
    each = len(calls) // ROUNDS
    return [list(calls[n * each : (n + 1) * each]) for n in range(ROUNDS)]


def spread(keys: Sequence[str], each: int, total: int) -> list[str]:
    """Return *total* keys, none more often than *each* times."""
    assert len(keys) * each >= total, "limits would be met"
    return [keys[n % len(keys)] for n in range(total)]


#: Makes so many keys, and returns their secrets.
NewKeys = Callable[[int], Awaitable[list[str]]]


async def our_kinds(at: Target, new_keys: NewKeys, calls: int, *, shared: bool) -> list[Kind]:
    """Return the kinds of calls to our service; if it is *shared*, on PostgreSQL.

    There every brand was searched for before, and nothing is searched for anew.
    """
    name, crud = ("ours on PostgreSQL", "CRUD on PostgreSQL") if shared else ("ours", "CRUD")
    total, fewer = calls * ROUNDS, 0 if shared else calls * ROUNDS // 5
    reading, reusing = -(-3 * total // CHECKS), -(-total // REUSED)
    keys = await new_keys(reading + reusing + -(-fewer // NEW))
    readers, reusers = keys[:reading], keys[reading : reading + reusing]
    new = keys[reading + reusing :]
    async with httpx.AsyncClient(base_url=f"{at.url}/v1", timeout=100) as client:
        await search(client, readers[0], wait=True)
        searches = {key: await search(client, key) for key in readers}
    gets = [
        call("GET", f"/v1/searches/{searches[key]}", key)
        for key in spread(readers, CHECKS // 3 + 1, total)
    ]
    usages = [call("GET", "/v1/usage", key) for key in spread(readers, CHECKS // 3 + 1, total)]
    body = json.dumps({"brand": BRAND}).encode()
    reuses = [call("POST", "/v1/contacts", key, body) for key in spread(reusers, REUSED, total)]
    news = [
        call("POST", "/v1/contacts", key, json.dumps({"brand": f"Nobody {n}"}).encode())
        for n, key in enumerate(spread(new, NEW, fewer))
    ]
    kinds = [
        Kind(f"{name}, GET finished search", at, 200, rounds(gets), f"{crud}, GET"),
        Kind(f"{name}, GET usage", at, 200, rounds(usages), f"{crud}, GET"),
        Kind(f"{name}, POST from reuse", at, 200, rounds(reuses), f"{crud}, POST"),
    ]
    if news:
        kinds.append(Kind(f"{name}, POST new", at, 202, rounds(news), f"{crud}, POST"))
    return kinds


async def shared_kinds(stack: ExitStack, dsn: str, folder: Path, calls: int) -> list[Kind]:
    """Return the kinds of calls to services on PostgreSQL; *folder* has ours on SQLite."""
    crud = by_hand(stack, "crud_postgres", folder, dsn)
    kinds = await crud_kinds(crud, calls, "CRUD on PostgreSQL")
    keyed = by_hand(stack, "keyed_postgres", folder, dsn)
    kinds += await keyed_kinds(keyed, calls, "CRUD with keys on PostgreSQL")
    shared = SharedService(stack, dsn, folder)
    await shared.make(folder / "data", BRAND)
    shared.start("project")
    api = shared.start("api", "--port=0")
    target = Target(url_of(api), api.pid)
    return kinds + await our_kinds(target, shared.new_keys, calls, shared=True)


async def crud_kinds(at: Target, calls: int, name: str = "CRUD") -> list[Kind]:
    total = calls * ROUNDS
    body = json.dumps({"brand": BRAND}).encode()
    async with httpx.AsyncClient(base_url=at.url) as client:
        stored = [
            (await client.post("/contacts", json={"brand": BRAND})).json()["id"]
            for _ in range(50)
        ]
    gets = [call("GET", f"/searches/{stored[n % 50]}") for n in range(total)]
    posts = [call("POST", "/contacts", "", body)] * (2 * total)
    return [
        Kind(f"{name}, GET", at, 200, rounds(gets), f"{name}, GET"),
        Kind(f"{name}, POST", at, 202, rounds(posts), f"{name}, POST"),
    ]


async def keyed_kinds(at: Target, calls: int, name: str = "CRUD with keys") -> list[Kind]:
    total = calls * ROUNDS
    readers = 2 * total // PER_MINUTE + 1
    assert max(readers, 2 * total // PER_MINUTE) < KEYS, "limits would be met"
    body = json.dumps({"brand": BRAND}).encode()
    secrets = [secret_of(n) for n in range(KEYS)]
    stored = []
    async with httpx.AsyncClient(base_url=at.url) as client:
        for secret in secrets[:readers]:
            headers = {"Authorization": f"Bearer {secret}"}
            answer = await client.post("/contacts", json={"brand": BRAND}, headers=headers)
            stored.append((secret, answer.raise_for_status().json()["id"]))
    gets = [
        call("GET", f"/searches/{search}", secret)
        for secret, search in (stored[n % readers] for n in range(total))
    ]
    posts = [call("POST", "/contacts", secrets[n % KEYS], body) for n in range(2 * total)]
    return [
        Kind(f"{name}, GET", at, 200, rounds(gets), f"{name}, GET"),
        Kind(f"{name}, POST", at, 200, rounds(posts), f"{name}, POST"),
    ]


@dataclass
class Measured:
    """One round of a kind of call."""

    took: Took
    cpu_s: float  # of the serving process
    caller_s: float  # processor time of this one

    @property
    def cpu_ms(self) -> float:
        """Return the processor time of the serving process for one call."""
        return self.cpu_s / len(self.took.times_s) * 1000


async def one_round(kind: Kind, turn: int) -> Measured:
    before, caller = kind.cpu_s(), time.process_time()
    took = await load(kind.at.url, kind.rounds[turn], kind.status)
    return Measured(took, kind.cpu_s() - before, time.process_time() - caller)


async def measure(kinds: Sequence[Kind]) -> dict[str, list[Measured]]:
    for kind in kinds:
        warm = kind.rounds[0][:CONNECTIONS]
        if kind.status == 200 and "POST" not in kind.name:
            await load(kind.at.url, warm, kind.status)
    measured: dict[str, list[Measured]] = {kind.name: [] for kind in kinds}
    for turn in range(ROUNDS):
        for kind in kinds:
            measured[kind.name].append(await one_round(kind, turn))
    return measured


def row(kind: Kind, measured: dict[str, list[Measured]]) -> dict[str, Any]:
    mine, like = measured[kind.name], measured[kind.against]
    keyed = measured.get(kind.against.replace("CRUD", "CRUD with keys"), like)
    per_s = [each.took.per_s for each in mine]
    cpu_ms = median(each.cpu_ms for each in mine)
    together = sum((each.took for each in mine), Took([], 0.0))
    return {
        "name": kind.name,
        "calls": len(together.times_s),
        "per_s": round(median(per_s)),
        "spread": round((max(per_s) - min(per_s)) / median(per_s), 2),
        "p50_ms": round(together.quantile_ms(0.5), 2),
        "p99_ms": round(together.quantile_ms(0.99), 2),
        "of_crud": round(_ratio(mine, like), 2),
        "of_keyed": round(_ratio(mine, keyed), 2),
        "cpu_ms": round(cpu_ms, 3),
        "cpu_of_crud": round(cpu_ms / median(each.cpu_ms for each in like), 2),
        "caller": round(sum(each.caller_s for each in mine) / together.total_s, 2),
    }


def _ratio(mine: Sequence[Measured], others: Sequence[Measured]) -> float:
    """Return the median over the rounds of what *mine* is of *others*, calls a second."""
    pairs = zip(mine, others, strict=True)
    return median(one.took.per_s / other.took.per_s for one, other in pairs)


def chosen(kinds: Sequence[Kind], only: str) -> list[Kind]:
    """Return those of *kinds* whose name has *only* in it, and those they are held against."""
    meant = [kind for kind in kinds if only in kind.name]
    if not meant:
        raise SystemExit(f"no kind of call is called {only!r}: {[k.name for k in kinds]}")
    beside = {kind.against for kind in meant}
    beside |= {name.replace("CRUD", "CRUD with keys") for name in beside}
    return [kind for kind in kinds if kind in meant or kind.name in beside]


async def main(calls: int, postgres: str, only: str, *, as_json: bool) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data = folder / "data"
        crud = by_hand(stack, "crud", folder)
        keyed = by_hand(stack, "keyed", folder)
        own = ours(stack, data)
        kinds = [
            *await crud_kinds(crud, calls),
            *await keyed_kinds(keyed, calls),
            *await our_kinds(own, partial(new_keys, data), calls, shared=False),
        ]
        if postgres == OWN:
            at = stack.enter_context(own_folder())
            server = stack.enter_context(running_postgres(at / "postgres", durable=True))
            postgres = server.dsn
        if postgres:
            kinds += await shared_kinds(stack, postgres, folder, calls)
        kinds = chosen(kinds, only)
        began = time.perf_counter()
        measured = await measure(kinds)
        rows = [row(kind, measured) for kind in kinds]
        took_s = time.perf_counter() - began
    load_1m = round(os.getloadavg()[0], 1)
    if as_json:
        print(json.dumps({"rounds": ROUNDS, "load_1m": load_1m, "rows": rows}))
        return
    print(f"{ROUNDS} rounds over {CONNECTIONS} connections, {took_s:.0f} s; load {load_1m}")
    print(f"{'':<44}" + "".join(f"{name:>12}" for name in list(rows[0])[1:]))
    for each in rows:
        name, *figures = each.values()
        print(f"{name:<44}" + "".join(f"{figure:>12}" for figure in figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="?", type=int, default=1500)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--postgres", default="", help="a database, or `own`: a new server")
    parser.add_argument("--only", default="", help="words in the names of the kinds of calls")
    given = parser.parse_args()
    uvloop.run(main(given.calls, given.postgres, given.only, as_json=given.json))
