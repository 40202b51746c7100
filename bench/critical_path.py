"""How long a live search takes, against the longest chain of what it waits for outside.

    PYTHONPATH=tests .venv/bin/python bench/critical_path.py [SEARCHES] [--json]

Every answer of the world is late by what such answers take: Wikidata and web sites 0.1 s, the
web search 0.4 s, each reply of a mail server 0.04 s.  Searches are made one after the other,
each of a new brand, through `cs serve`; the path is taken from the spans of each search's trace
(setting ``traces_to``): of the calls to sources and verifiers the last one to end, before it
the last one that had ended when it began, and so on.  ``ratio`` is the whole search by that.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from harness.otlp import ReceivedSpan, receiving
from live_searches import brands, service, world_process, write_world

HERE = Path(__file__).parents[1]
WARM = 3
WEB_S, SEARCH_S, MAIL_S = 0.1, 0.4, 0.04


def slow(file: Path) -> Path:
    """Make every answer of the world in *file* late."""
    world = json.loads(file.read_text())
    world["services"] = {"wikidata": {"latency_s": WEB_S}, "searxng": {"latency_s": SEARCH_S}}
    world["mail"] = []
    for brand in world["brands"]:
        brand["site"] = {"latency_s": WEB_S}
        late = {"kind": "slow", "delay_s": MAIL_S}
        world["mail"].append({"domain": brand["domain"], "behaviour": late})
    file.write_bytes(msgspec.json.encode(world))
    return file


def path_s(calls: Sequence[ReceivedSpan]) -> float:
    """Return how long the chain of *calls* took that the last one of them ends."""
    took, before = 0, max(call.ended_ns for call in calls)
    while ended := [call for call in calls if call.ended_ns <= before]:
        last = max(ended, key=lambda call: call.ended_ns)
        took += last.ended_ns - last.began_ns
        before = last.began_ns
    return took / 1e9


def measured(spans: Sequence[ReceivedSpan]) -> list[dict[str, float]]:
    """Return of each search, in the order of their beginning, what it and its path took."""
    whole = [span for span in spans if span.name == "POST /v1/contacts"]
    found = []
    for search in sorted(whole, key=lambda span: span.began_ns):
        of_it = [span for span in spans if span.trace == search.trace]
        calls = [span for span in of_it if span.kind == Span.SPAN_KIND_CLIENT]
        took = (search.ended_ns - search.began_ns) / 1e9
        path = path_s(calls)
        found.append({"total_ms": took * 1000, "path_ms": path * 1000, "ratio": took / path})
    return found


async def main(number: int) -> dict[str, Any]:
    names = brands(WARM + number)
    with tempfile.TemporaryDirectory() as made, receiving() as receiver:
        folder = Path(made)
        file = slow(write_world(folder / "world.json", names))
        with world_process(file, folder / "world") as (addresses, _):
            at = service(folder / "data", addresses, HERE)
            at.environment = {**at.environment, "CS_TRACES_TO": receiver.url}
            with at:
                for name in names:
                    with at.client(at.new_key()) as client:
                        await asyncio.to_thread(ended, client, name)
        rows = measured(receiver.spans)[WARM:]
    return {
        "searches": len(rows),
        "load_1m": round(os.getloadavg()[0], 1),
        **{
            name: [round(figure, 3 if name == "ratio" else 1) for figure in spread]
            for name in rows[0]
            if (values := sorted(row[name] for row in rows))
            and (spread := (statistics.median(values), values[0], values[-1]))
        },
    }


def ended(client: httpx.Client, name: str) -> None:
    answer = client.post("/contacts", json={"brand": name, "wait": True})
    assert answer.raise_for_status().json()["status"] == "done", answer.text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("searches", nargs="?", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    row = asyncio.run(main(given.searches))
    if given.json:
        print(json.dumps(row))
    else:
        print(f"{row['searches']} live searches; load {row['load_1m']}; median (low to high)")
        for name in ("total_ms", "path_ms", "ratio"):
            mid, low, high = row[name]
            print(f"{name:<10}{mid} ({low} to {high})")
