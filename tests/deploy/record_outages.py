"""Records what every process shows before and in real outages, for `test_outages`.

``python -m deploy.record_outages`` in ``tests`` writes `RECORDED`; it takes some minutes.  Of
each series that an alert reads it keeps a value and its growth from scrape to scrape, as
promtool takes them; histograms are left out, since a few calls say nothing of times.
"""

# ruff: noqa: T201 - a command prints

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import httpx
import promql_parser as promql
from prometheus_client.parser import text_string_to_metric_families

from deploy.test_monitoring import names_in, rules
from system.cluster.cluster import KINDS, Cluster, running_cluster

RECORDED = Path(__file__).with_name("recorded_outages.json")
#: Seconds between two scrapes of Prometheus, between two here, and until an outage is seen.
EVERY_S, APART_S, SETTLE_S, READY_S = 15, 6.0, 20.0, 120.0
BRANDS = iter(("Veltrana", "Dunmorrow", "Nuvarro", "Miruvane", "Kestrelle"))

Series = Mapping[str, float]


def main() -> None:
    with running_cluster(tell=print) as cluster:
        kafka, postgres, roles = cluster.kafka, cluster.postgres, cluster.roles
        # The last two are not mended: a broker that was killed may start for minutes.
        outages: dict[str, tuple[Callable[[], None], Callable[[], None] | None]] = {
            "the relay is gone": (roles["relay-1"].kill, roles["relay-1"].start),
            "the service's database is gone": (postgres.kill, postgres.start),
            "Kafka is gone": (kafka.kill, None),
            "nobody is left": (cluster.end, None),
        }
        secret = cluster.new_key()["key"]
        search(cluster, secret, wait=True)
        found = {"none": recorded(cluster)}
        for name, (begin, end) in outages.items():
            print(name)
            begin()
            search(cluster, secret, wait=False)
            threading.Event().wait(SETTLE_S)
            found[name] = recorded(cluster)
            if end is not None:
                end()
                until_ready(cluster)
    RECORDED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def search(cluster: Cluster, secret: str, *, wait: bool) -> None:
    """Search the next brand, which may fail in an outage."""
    headers = {"Authorization": f"Bearer {secret}"}
    body = {"brand": next(BRANDS), "wait": wait}
    with suppress(httpx.TransportError):
        httpx.post(f"{cluster.urls[0]}/contacts", json=body, headers=headers, timeout=100)


def until_ready(cluster: Cluster) -> None:
    cluster.start_missing()
    until = time.monotonic() + READY_S
    while [n for s, n in scraped(cluster).items() if s.startswith("cs_ready")] != [1] * 8:
        assert time.monotonic() < until, "not every process is ready again"
        threading.Event().wait(1.0)


def recorded(cluster: Cluster) -> dict[str, str]:
    """Return the series of all processes, each with its growth in `EVERY_S`."""
    began, before = time.monotonic(), scraped(cluster)
    threading.Event().wait(APART_S)
    after = scraped(cluster)
    scrapes = (time.monotonic() - began) / EVERY_S
    return {
        series: f"{value:g}+{max(0.0, value - before.get(series, value)) / scrapes:g}"
        for series, value in after.items()
    }


def scraped(cluster: Cluster) -> Series:
    """Return what alerts read of every process; times of day count from now, promtool's 0."""
    wanted = {name for rule in rules() for name, _ in names_in(promql.parse(rule["expr"]))}
    found = dict(_scraped(cluster, {name for name in wanted if name.startswith("cs_")}))
    now = time.time()
    return {s: n - now if "timestamp_seconds" in s else n for s, n in found.items()}


def _scraped(cluster: Cluster, wanted: set[str]) -> Iterator[tuple[str, float]]:
    for kind in KINDS:
        of = f'instance="{kind.removeprefix("stage-")}:8081"'
        url = f"http://127.0.0.1:{cluster.admin_ports[f'{kind}-1']}/metrics"
        try:
            page = httpx.get(url, timeout=10, trust_env=False).text
        except httpx.TransportError:
            yield f'up{{job="contact-search",{of}}}', 0
            continue
        yield f'up{{job="contact-search",{of}}}', 1
        for family in text_string_to_metric_families(page):
            if family.type != "histogram":
                for each in (each for each in family.samples if each.name in wanted):
                    labels = [f'{name}="{value}"' for name, value in each.labels.items()]
                    yield f"{each.name}{{{','.join([*labels, of])}}}", each.value


if __name__ == "__main__":
    main()
