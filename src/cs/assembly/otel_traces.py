"""Spans by OpenTelemetry, sent by OTLP over HTTP.  Needs the extra ``otel``.

Places are chosen (`cs.metrics.traces`), where the library would draw them at random: its
generator of ids gives out what the span that is being made is to have.  No exception is
recorded, since its words may name a person.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from structlog import get_logger

from cs.metrics.traces import Kind, Span, Value
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: How often spans are sent, and how many may wait; more are dropped.
EVERY_MS = 1_000
WAITING = 4_096
#: Until an answer of the receiver.
TIMEOUT_S = 5
#: How often it is logged that they cannot be sent.
LOG_EVERY_S = 60.0
#: The library's own words, which go through `_OwnLog`.
LIBRARY = "opentelemetry"

_KINDS = {
    "server": trace.SpanKind.SERVER,
    "producer": trace.SpanKind.PRODUCER,
    "consumer": trace.SpanKind.CONSUMER,
    "client": trace.SpanKind.CLIENT,
    "internal": trace.SpanKind.INTERNAL,
}
_FAILED = trace.Status(trace.StatusCode.ERROR)
#: Trace and span of the one that is being made.
_PLACE: ContextVar[tuple[int, int] | None] = ContextVar("place", default=None)


class OtelTraces:
    """`cs.metrics.traces.Traces`; `close` sends what is left.

    Args:
        address: Of an OTLP receiver, without ``/v1/traces``.
        role: What this process is.
    """

    def __init__(self, address: str, role: str) -> None:
        library_log = logging.getLogger(LIBRARY)
        library_log.handlers, library_log.propagate = [_OwnLog()], False
        exporter = OTLPSpanExporter(
            endpoint=f"{address.rstrip('/')}/v1/traces", timeout=TIMEOUT_S
        )
        self._provider = TracerProvider(
            resource=Resource({"service.name": "contact-search", "cs.role": role}),
            id_generator=_Places(),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=EVERY_MS, max_queue_size=WAITING)
        )
        self._tracer = self._provider.get_tracer("contact-search")

    def close(self) -> None:
        """Send what is left; to be called in a thread, as it may take `TIMEOUT_S`."""
        self._provider.shutdown()

    @contextmanager
    def span(
        self,
        name: str,
        kind: Kind = "internal",
        *,
        within: str | None = None,
        place: str | None = None,
        **attributes: Value,
    ) -> Iterator[Span]:
        with _placed(place):
            made = self._tracer.start_span(
                name,
                context=_parent(within),
                kind=_KINDS[kind],
                attributes={f"cs.{key}": value for key, value in attributes.items()},
            )
        with trace.use_span(
            made, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            try:
                yield _OtelSpan(made)
            except Exception as error:
                made.set_status(_FAILED)
                made.set_attribute("error.type", type(error).__name__)
                raise

    def past_call(
        self, name: str, *, within: str | None, place: str | None, took_s: float, status: int
    ) -> None:
        ended = time.time_ns()
        with _placed(place):
            made = self._tracer.start_span(
                name,
                context=Context() if within is None else _parent(within),
                kind=trace.SpanKind.SERVER,
                attributes={"http.response.status_code": status},
                start_time=ended - int(took_s * 1e9),
            )
        made.end(ended)


class _OtelSpan:
    def __init__(self, made: trace.Span) -> None:
        self._made = made

    def note(self, **attributes: Value) -> None:
        self._made.set_attributes({f"cs.{key}": value for key, value in attributes.items()})


class _Places(RandomIdGenerator):
    """Gives out the place that was chosen, else a random one."""

    def generate_trace_id(self) -> int:
        place = _PLACE.get()
        return super().generate_trace_id() if place is None else place[0]

    def generate_span_id(self) -> int:
        place = _PLACE.get()
        return super().generate_span_id() if place is None else place[1]


@contextmanager
def _placed(place: str | None) -> Iterator[None]:
    token = _PLACE.set(None if place is None else _ids(place))
    try:
        yield
    finally:
        _PLACE.reset(token)


def _parent(within: str | None) -> Context | None:
    """Return the context of the place *within*; ``None``: the context around."""
    if within is None:
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": within}, Context())


def _ids(place: str) -> tuple[int, int]:
    _, trace_id, span_id, _ = place.split("-")
    return int(trace_id, 16), int(span_id, 16)


class _OwnLog(logging.Handler):
    """Writes the messages of the library to our own log, one a minute at most."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._throttle = LogThrottle(LOG_EVERY_S)

    def emit(self, record: logging.LogRecord) -> None:
        if self._throttle.allow() is not None:
            log.warning("traces_not_sent", said=record.getMessage()[:300])
