"""A page of `/metrics` with a value of every metric."""

from prometheus_client import Gauge, Histogram

from cs.metrics.metrics import Metrics


def family_names() -> list[str]:
    return [family.name for family in Metrics().families()]


def full_page() -> str:
    """Return a page on which every metric has a value for some labels."""
    metrics = Metrics()
    for family in metrics.families():
        instrument = family.of(*("x" for _ in family.label_names))
        if isinstance(instrument, Histogram):
            instrument.observe(0.1)
        elif isinstance(instrument, Gauge):
            instrument.set(1)
        else:
            instrument.inc()
    return metrics.page("")[0].decode()
