"""Counts appends by how they ended, and how long they took."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from cs.eventlog.errors import (
    AppendInDoubt,
    CeilingReached,
    LogUnavailable,
    WrongExpectedVersion,
)
from cs.metrics.metrics import Metrics

#: The first that fits; a caller who gave up is none of them.
_RESULTS: tuple[tuple[type[BaseException], str], ...] = (
    (WrongExpectedVersion, "conflict"),
    (CeilingReached, "ceiling"),
    (AppendInDoubt, "in_doubt"),
    (LogUnavailable, "unavailable"),
    (Exception, "failed"),
    (BaseException, "given_up"),
)


@contextmanager
def counted_append(metrics: Metrics) -> Iterator[None]:
    """Count the append that is made inside."""
    began = perf_counter()
    try:
        yield
    except BaseException as error:
        result = next(name for kind, name in _RESULTS if isinstance(error, kind))
        metrics.appends.of(result).inc()
        raise
    metrics.appends.of("stored").inc()
    metrics.append_seconds.of().observe(perf_counter() - began)
