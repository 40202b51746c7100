"""Metrics of `prometheus_client`, declared as fields, with a bound on their labels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property
from typing import Any, Generic, TypeVar

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.metrics_core import Metric

disable_created_metrics()  # type: ignore[no-untyped-call]  # times that no query reads

#: Values of labels that one metric has at most, so that no mistake fills a memory: beyond
#: it every further one is counted as `OTHER`.
CHILDREN = 500
OTHER = "other"

I = TypeVar("I", Counter, Gauge, Histogram)  # noqa: E741


class Family(Generic[I]):
    """A metric of `prometheus_client`, on the page once it was used.

    Args:
        kind: Its class.
        name: As it is shown, with its unit and ``_total``.
        text: What it says, one sentence.
        labels: Names of its labels.
        options: Further arguments of its class.
    """

    def __init__(
        self, kind: type[I], name: str, text: str, labels: Sequence[str], **options: Any
    ) -> None:
        self.kind: type[I] = kind
        self.name = name
        self.text = text
        self.label_names = labels
        self._options = options
        self._children: dict[tuple[str, ...], I] = {}

    @cached_property
    def _metric(self) -> I:
        metric: I = self.kind(
            self.name, self.text, self.label_names, registry=None, **self._options
        )
        return metric

    def of(self, *values: str) -> I:
        """Return the instrument whose labels have *values*, in the order of their names."""
        child = self._children.get(values)
        if child is None:
            assert len(values) == len(self.label_names), f"{self.name} has {self.label_names}"
            if len(self._children) >= CHILDREN:
                values = (OTHER,) * len(values)
            child = self._children[values] = self._child(values)
        return child

    def _child(self, values: tuple[str, ...]) -> I:
        child: I = self._metric.labels(*values) if values else self._metric
        return child

    def clear(self) -> None:
        """Forget every instrument: what they measured is gone."""
        self._children.clear()
        self.__dict__.pop("_metric", None)

    def measure(self: "Family[Gauge]", measure: Callable[[], float], *values: str) -> None:
        """Have *measure* say the value of *values* whenever it is asked for, for good."""
        self.of(*values).set_function(measure)

    @contextmanager
    def measured(
        self: "Family[Gauge]", measure: Callable[[], float], *values: str
    ) -> Iterator[None]:
        """Have *measure* say the value of *values* whenever it is asked for, until left."""
        self.measure(measure, *values)
        try:
            yield
        finally:
            del self._children[values]
            if values:
                self._metric.remove(*values)

    def collect(self) -> Iterator[Metric]:
        """Yield what there is to show."""
        if self._children:
            yield from self._metric.collect()

    def read(self) -> Mapping[tuple[str, ...], float]:
        """Return the values of a gauge or counter by those of its labels."""
        samples = (sample for metric in self.collect() for sample in metric.samples)
        return {tuple(each.labels.values()): each.value for each in samples}


def counter(name: str, text: str, *labels: str) -> Family[Counter]:
    """Declare a metric as a field of a dataclass: each of its instances has its own."""
    return field(init=False, default_factory=lambda: Family(Counter, name, text, labels))


def gauge(name: str, text: str, *labels: str) -> Family[Gauge]:
    """Declare a metric as `counter` does."""
    return field(init=False, default_factory=lambda: Family(Gauge, name, text, labels))


def histogram(name: str, text: str, *labels: str, bounds: Sequence[float]) -> Family[Histogram]:
    """Declare a metric as `counter` does."""
    return field(
        init=False,
        default_factory=lambda: Family(Histogram, name, text, labels, buckets=bounds),
    )
