"""The metrics of a process as Prometheus reads them."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

from cs.metrics.instruments import Family, Histogram
from cs.metrics.metrics import Metrics


class Exposition:
    """Writes *metrics*, and the figures of the process, into one page of text."""

    def __init__(self, metrics: Metrics) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Families(metrics.families()))
        # Of the registry's own: without one they would go to that of the library.
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def page(self, accept: str) -> tuple[bytes, str]:
        """Return the page and its media type, OpenMetrics if *accept* asks for it.

        Only OpenMetrics has exemplars.
        """
        encode, media_type = choose_encoder(accept)
        return encode(self._registry), media_type


class _Families(Collector):
    def __init__(self, families: Sequence[Family[Any]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return map(_shown, self._families)


def _shown(family: Family[Any]) -> Metric:
    name = family.name.removesuffix("_total") if family.kind == "counter" else family.name
    metric = Metric(name, family.text, family.kind)
    for values, instrument in sorted(family.read().items()):
        labels = dict(zip(family.label_names, values, strict=True))
        if isinstance(instrument, Histogram):
            _add_histogram(metric, labels, instrument)
        else:
            metric.add_sample(family.name, labels, instrument.value)
    return metric


def _add_histogram(metric: Metric, labels: dict[str, str], measured: Histogram) -> None:
    bounds = [*map(floatToGoString, measured.bounds), "+Inf"]
    counts = list(accumulate(measured.counts))
    for bound, count, exemplar in zip(bounds, counts, measured.exemplars, strict=True):
        metric.add_sample(
            f"{metric.name}_bucket",
            {**labels, "le": bound},
            count,
            exemplar=_exemplar(exemplar),
        )
    metric.add_sample(f"{metric.name}_count", labels, counts[-1])
    metric.add_sample(f"{metric.name}_sum", labels, measured.sum)


def _exemplar(seen: tuple[str, float] | None) -> Exemplar | None:
    """Return the exemplar *seen*, whose id is that of a call: nothing else has one."""
    return seen and Exemplar({"request": seen[0]}, seen[1])
