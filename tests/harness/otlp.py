"""A receiver of spans on this machine, which speaks OTLP over HTTP as a collector does."""

import gzip
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from cs.assembly.otel_traces import OtelTraces
from cs.assembly.process import open_traces
from cs.metrics.traces import Traces
from cs.settings import Settings

#: Spans are sent every second.
ARRIVE_S = 30.0


@dataclass(frozen=True)
class ReceivedSpan:
    """Attributes: *role*: of the process that sent it; *kind*: OpenTelemetry's number."""

    name: str
    trace: str
    id: str
    parent: str  # empty: none
    role: str
    attributes: dict[str, str]
    kind: int


@dataclass
class Receiver:
    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, *names: str) -> list[ReceivedSpan]:
        """Return the spans of the first trace with one of each of *names*, and every parent."""

        def whole() -> list[ReceivedSpan] | None:
            traces = defaultdict[str, list[ReceivedSpan]](list)
            for span in self.spans:
                traces[span.trace].append(span)
            for spans in traces.values():
                parents = {span.parent for span in spans} - {""}
                if parents <= {s.id for s in spans} and {*names} <= {s.name for s in spans}:
                    return spans
            return None

        with self.changed:
            if (found := self.changed.wait_for(whole, ARRIVE_S)) is None:
                missing = set(names) - {span.name for span in self.spans}
                raise AssertionError(f"never arrived: {sorted(missing)}")
            return found

    def wait_for_all(self, many: int) -> list[ReceivedSpan]:
        """Return all that arrived, once they are *many*."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.spans) >= many, ARRIVE_S)
            return list(self.spans)

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        with self.changed:
            for resource in request.resource_spans:
                about = {a.key: a.value.string_value for a in resource.resource.attributes}
                for scope in resource.scope_spans:
                    self.spans += [
                        ReceivedSpan(
                            span.name,
                            span.trace_id.hex(),
                            span.span_id.hex(),
                            span.parent_span_id.hex(),
                            about["cs.role"],
                            {a.key: str(a.value) for a in span.attributes},
                            span.kind,
                        )
                        for span in scope.spans
                    ]
            self.changed.notify_all()


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Take spans until left."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            receiver.take(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def parents_of(spans: list[ReceivedSpan]) -> dict[str, set[str]]:
    """Return the names of the parents of each span, by its name; ``-``: it has none.

    Raises:
        AssertionError: They are of several traces, or a parent never arrived.
    """
    by_id = {span.id: span.name for span in spans}
    assert len({span.trace for span in spans}) == 1, "one trace"
    found: dict[str, set[str]] = {}
    for span in spans:
        assert not span.parent or span.parent in by_id, f"{span.name} hangs on nothing"
        found.setdefault(span.name, set()).add(by_id.get(span.parent, "-"))
    return found


def traces_of(settings: Settings) -> AbstractAsyncContextManager[Traces]:
    """Open the traces of a process with *settings*."""
    return open_traces(settings, "api")


@contextmanager
def sending(url: str) -> Iterator[Traces]:
    """Yield traces that are sent to *url* once they are left."""
    traces = OtelTraces(url, "api")
    try:
        yield traces
    finally:
        traces.close()
