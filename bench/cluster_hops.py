"""Where the time of one quiet search goes on its way through every role and Kafka, hop by hop.

    PYTHONPATH=tests .venv/bin/python bench/cluster_hops.py [SEARCHES] [--json]

Searches are made one after the other, each live.  A hop is the time between two moments that
their traces have (setting ``traces_to``), all of one machine and one clock: from the POST's
head to the work on its way, to the stage that takes it, to its result, to whoever records that,
to the end of the append, to the next work, and so on until the answer is sent.  The hops of a
search are all of it; the medians of hops do not add up to the median of searches.  Spans cost
some time themselves, so the sum is more than `bench/cluster_own_time.py` says.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import httpx

from cluster_own_time import WARM, both, main, p50_and_p95
from harness.otlp import ReceivedSpan, receiving
from system.cluster.cluster import STAGES, Cluster, running_cluster
from system.cluster.operating import operating

#: The longest chain of a trace has one span of each of these.
SEARCH = "POST /v1/contacts"


def moments(spans: Sequence[ReceivedSpan]) -> Iterator[tuple[str, int]]:
    """Yield when each hop of the search of *spans* ended, ns; the first is its beginning."""
    named: dict[str, list[ReceivedSpan]] = defaultdict(list)
    for span in spans:
        named[span.name].append(span)
    (whole,) = named[SEARCH]
    yield "", whole.began_ns
    before = "POST"
    for stage in STAGES:
        (publish,), (work,) = named[f"publish {stage}"], named[f"stage {stage}"]
        recorded = max(named[f"record {stage}"], key=lambda each: each.ended_ns)
        yield f"{before}: stored, to the relay", publish.began_ns
        yield f"{stage}: published, to the stage", work.began_ns
        yield f"{stage}: the stage", work.ended_ns
        yield f"{stage}: result, to the process manager", max(recorded.began_ns, work.ended_ns)
        yield f"{stage}: recorded", recorded.ended_ns
        before = stage
    (settled,) = named["settle"]
    yield f"{before}: stored, to the driver", settled.began_ns
    yield "settled", settled.ended_ns
    yield "views, to the answer", whole.ended_ns


def hops(spans: Sequence[ReceivedSpan]) -> Mapping[str, list[float]]:
    """Return the ms of each hop of every live search in *spans* but the first ones."""
    traces: dict[str, list[ReceivedSpan]] = defaultdict(list)
    for span in spans:
        traces[span.trace].append(span)
    live = [of for of in traces.values() if any(span.name == "settle" for span in of)]
    live.sort(key=lambda of: min(span.began_ns for span in of))
    found: dict[str, list[float]] = defaultdict(list)
    for of in live[WARM:]:
        for (_, before), (name, at) in pairwise(ends := list(moments(of))):
            found[name].append((at - before) / 1e6)
        found["all"].append((ends[-1][1] - ends[0][1]) / 1e6)
    return found


async def searched(cluster: Cluster, searches: int) -> None:
    async with (
        operating(cluster) as operated,
        httpx.AsyncClient(base_url=cluster.urls[0], timeout=100) as client,
    ):
        await both(operated.operator, client, searches)


def measured(searches: int) -> dict[str, list[float]]:
    """Return p50 and p95 of each hop, ms."""
    with receiving() as receiver, running_cluster(kinds=()) as cluster:
        for environment in (cluster.environment, cluster.stage_environment):
            environment["CS_TRACES_TO"] = receiver.url
        cluster.start()
        asyncio.run(searched(cluster, searches))
        cluster.end()  # which sends what is left
        found = hops(list(receiver.spans))
    if not found:
        raise SystemExit("none of so few searches has a whole trace: measure more of them")
    return p50_and_p95(found)


if __name__ == "__main__":
    main(measured, __doc__)
