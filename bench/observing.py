"""What figures and traces cost, on and off in turns in one process and one run.

- ``usage``, ``ended``: ``GET /usage`` and ``GET /searches/{id}`` of an ended search, called
  without a port, so that nothing is measured but the service.  Off: nothing is counted.
- ``search``: a live search in memory, whose outside answers at once, with its spans sent to a
  receiver in a process of its own and without.

On and off change places every `TURN` calls.  ``cpu_us`` is processor time of a call, the lower
quartile of all (what else the machine does only adds to it); ``more`` is how much more with
than without, less is better: 0.02 is 2 %.  ``counting_us`` is what counting one call takes by
itself, many times in a row: it says more where the machine is busy.

    PYTHONPATH=tests .venv/bin/python bench/observing.py [CALLS] [--json]
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import cycle
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import quantiles
from typing import Any

from starlette.types import ASGIApp, Message, Scope

from cs.api.call_log import CallRecord
from cs.assembly.otel_traces import OtelTraces
from cs.domain.contact import Query
from cs.metrics.instruments import Counter, Histogram
from cs.metrics.metrics import Metrics
from cs.metrics.traces import NO_TRACES, Span, Traces
from cs.runtime import logs
from cs.runtime.log_throttle import LogThrottle
from harness.in_process import Service, on_folder
from harness.otlp import receiving
from harness.outside import tools

#: Of one key: below 120 checks and 6 searches a minute.
CHECKS, OF_A_KEY = 100, 5
#: Calls with, then as many without: the interpreter has time to learn what is called.
TURN = 50
#: What counts in a call.
COUNTING = [
    (owner, name, getattr(owner, name))
    for owner, name in ((CallRecord, "_count"), (Counter, "inc"), (Histogram, "observe"))
]


class Switch:
    """Traces that go where *to* says now."""

    def __init__(self) -> None:
        self.to: Traces = NO_TRACES

    def span(self, *told: Any, **attributes: Any) -> AbstractContextManager[Span]:
        return self.to.span(*told, **attributes)

    def past_call(self, *told: Any, **attributes: Any) -> None:
        self.to.past_call(*told, **attributes)


async def get(app: ASGIApp, path: str, key: str) -> None:
    """Have *app* answer a check as the server does."""
    headers = [(b"host", b"service.test"), (b"authorization", f"Bearer {key}".encode())]
    scope: Scope = {"type": "http", "method": "GET", "path": path, "headers": headers}

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        assert message.get("status", 200) == 200, message

    await app(scope, receive, send)


def count(counted: bool) -> None:
    """Have calls counted from now on, or not."""
    for owner, name, counts in COUNTING:
        setattr(owner, name, counts if counted else _nothing)


def _nothing(*_: object) -> None:
    pass


async def in_turns(
    calls: int, call: Callable[[], Awaitable[None]], switch: Callable[[bool], None], turn: int
) -> dict[str, float]:
    """Make *calls* calls with and as many without, *turn* at a time; return what they took."""
    took: dict[bool, list[float]] = {False: [], True: []}
    for number in range(calls // turn):
        for on in (number % 2 == 0, number % 2 == 1):
            switch(on)
            for _ in range(turn):
                began = time.process_time_ns()
                await call()
                took[on].append((time.process_time_ns() - began) / 1e3)
    switch(True)
    off_us, on_us = (quantiles(took[on], n=4)[0] for on in (False, True))
    return {
        "cpu_us_off": round(off_us, 1),
        "cpu_us_on": round(on_us, 1),
        "more": round(on_us / off_us - 1, 4),
    }


async def thin_path(folder: Path, calls: int) -> dict[str, Any]:
    async with on_folder(folder, tools()) as service:
        first = await service.new_key()
        assert (await service.search(first, brand="Acme")).json()["status"] == "done"
        found: dict[str, Any] = {}
        for kind in ("usage", "ended"):
            asked = cycle(await _paths(service, kind, 2 * calls // CHECKS + 1))

            async def call(asked: Iterator[tuple[str, str]] = asked) -> None:
                await get(service.running.app, *next(asked))

            found[kind] = await in_turns(calls, call, count, TURN)
    return found


async def _paths(service: Service, kind: str, keys: int) -> list[tuple[str, str]]:
    """Return as many calls of *kind*, each with a key of its own."""
    calls = []
    for _ in range(keys):
        key = await service.new_key()
        path = "/v1/usage"
        if kind == "ended":
            path = f"/v1/searches/{(await service.search(key, brand='Acme')).json()['id']}"
        calls.append((path, key.key))
    return calls


async def searching(folder: Path, calls: int) -> dict[str, float]:
    with receiver_elsewhere() as url:
        traces = OtelTraces(url, "bench")
        switch = Switch()
        async with on_folder(folder, tools(), Metrics(switch)) as service:
            keys = [await service.new_key() for _ in range(2 * calls // OF_A_KEY + 1)]
            asked = iter([key for key in keys for _ in range(OF_A_KEY)])

            def trace(traced: bool) -> None:
                switch.to = traces if traced else NO_TRACES

            async def call() -> None:
                found = await service.search(next(asked), brand="Acme")
                assert found.json()["status"] == "done"
                await service.operator.forget_brand(Query(brand="Acme"))

            took = await in_turns(calls, call, trace, 1)
        await asyncio.to_thread(traces.close)
        return took


@contextmanager
def receiver_elsewhere() -> Iterator[str]:
    ours, theirs = Pipe()
    process = get_context("spawn").Process(target=_receive, args=(theirs,))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("leave")
        process.join()


def _receive(pipe: Connection) -> None:
    with receiving() as receiver:
        pipe.send(receiver.url)
        pipe.recv()


async def counting_us(times: int = 20_000) -> float:
    scope: Scope = {"method": "GET", "path": "/v1/usage", "state": {"request_id": "req_1"}}
    record = CallRecord(scope, LogThrottle(1.0), Metrics())
    record.status = 200
    began = time.process_time()
    for _ in range(times):
        record._count(0.001, "GET", "/v1/usage", 200)  # noqa: SLF001  what is measured
    return round((time.process_time() - began) / times * 1e6, 2)


async def run(calls: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        found = await thin_path(Path(folder) / "thin", calls)
        found["counting_us"] = await counting_us()
        found["search"] = await searching(Path(folder) / "searching", calls // 50)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("calls", nargs="?", type=int, default=5_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    logs.configure("error", "json")
    found = asyncio.run(run(asked.calls))
    if asked.json:
        print(json.dumps(found))
        return
    for kind in ("usage", "ended", "search"):
        took = found[kind]
        print(
            f"{kind:8} {took['cpu_us_off']:9.1f} µs off, {took['cpu_us_on']:9.1f} µs on, "
            f"{took['more']:+.2%}"
        )
    print(f"counting one call by itself: {found['counting_us']} µs")


if __name__ == "__main__":
    main()
