"""One line in the log for each call: what an ``X-Request-Id`` leads to (contract H6).

Each is counted too, with its id as an exemplar: it leads from a bar of a diagram to the line.

Of calls without a good key only `KEYLESS_PER_S` a second have one, or a client that floods the
service would fill its disk.

Of what callers write only that stands in it which has one of a few forms: no brand, no
unknown path, no secret.
"""

import logging
import re
from time import perf_counter

from starlette.types import Message, Receive, Scope
from structlog import get_logger
from structlog.contextvars import bound_contextvars

from cs.api.admission import StoredAdmission
from cs.api.openapi import OPENAPI_PATH
from cs.bus.headers import root_place
from cs.domain.api_key import PREFIX
from cs.domain.key import SearchAdmitted
from cs.metrics.metrics import Metrics
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: Lines a second of calls without a good key.
KEYLESS_PER_S = 10
#: Paths that are their own route.
PLAIN = frozenset({"/v1/contacts", "/v1/usage", OPENAPI_PATH})
SEARCH = "/v1/searches/"
#: Logged for a path that leads nowhere, and for a method that HTTP does not have.
OTHER = "other"
#: Status of a call whose caller hung up before its answer, as proxies log it; never sent.
HUNG_UP = 499
#: Of calls that a quota, a limit or a pause refuses.
REFUSED = frozenset({402, 429, 503})
#: Counted for a call that was cut off before its answer, and not logged.
CUT_OFF = 500

_METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}
)
_SEARCH_ID = re.compile(r"srch_[0-9a-z]{26}")
#: A caller's own id of a call: visible characters, and neither the ``@`` that addresses have
#: nor the ``%`` that it is also written with; and no key, nor a piece of one.
_CLIENTS_ID = re.compile(rb"(?!.*%b)[!-$&-?A-~]{1,128}" % PREFIX.encode(), re.IGNORECASE)


class CallRecord:
    """A call from its first byte to its answer's last; `end` counts it and writes the line.

    What is learned of it on the way stands in the state of *scope*: ``key_id``, ``code`` of
    an error, ``held`` if it was, and what `note_search` adds.

    Attributes:
        route: The template of its path.
        status: Of the answer; None: it was cut off before there was one.
    """

    def __init__(self, scope: Scope, keyless: LogThrottle, metrics: Metrics) -> None:
        self._scope = scope
        self._metrics = metrics
        self._keyless = keyless
        self._began = perf_counter()
        self._hung_up = False
        self.route = route(scope["path"])
        self.status: int | None = None

    def watching_for_hang_up(self, receive: Receive) -> Receive:
        """Return *receive*, listened to for the caller hanging up before the answer."""

        async def receive_and_watch() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and self.status is None:
                self._hung_up = True
            return message

        return receive_and_watch

    def end(self) -> None:
        took_s = perf_counter() - self._began
        path: str = self._scope["path"]
        method = self._scope["method"] if self._scope["method"] in _METHODS else OTHER
        status = HUNG_UP if self._hung_up else self.status
        self._count(took_s, method, self.route, status)
        if "lookup" in self._scope["state"]:
            self._trace(took_s, f"{method} {self.route}", status or CUT_OFF)
        self._log(took_s, method, path, status)

    def _count(self, took_s: float, method: str, template: str, status: int | None) -> None:
        state = self._scope["state"]
        # Cut off before an answer: proxies log it as a failure of ours.
        shown = str(status or CUT_OFF)
        held = "yes" if "held" in state else "no"
        spent = self._metrics.call_seconds.of(method, template, shown, held)
        spent.observe(took_s, {"request": state["request_id"]})
        if "code" in state:
            self._metrics.call_errors.of(state["code"]).inc()
            if status in REFUSED and "key_id" in state:
                self._metrics.calls_refused.of(state["key_id"], state["code"]).inc()

    def _trace(self, took_s: float, name: str, status: int) -> None:
        """Put a call into the trace of its lookup, which the one that started it begins."""
        state, traces = self._scope["state"], self._metrics.traces
        if state["admitted"] not in {"started", "joined", "repeated"}:
            return  # of a lookup of another day
        root = root_place(state["lookup"])
        if state["admitted"] == "started":
            traces.past_call(name, within=None, place=root, took_s=took_s, status=status)
        else:
            traces.past_call(name, within=root, place=None, took_s=took_s, status=status)

    def _log(self, took_s: float, method: str, path: str, status: int | None) -> None:
        scope, state = self._scope, self._scope["state"]
        line = log.bind()
        if not line.is_enabled_for(logging.INFO):
            return
        more: dict[str, int] | None = {}
        if self.status == 401 or "key_id" not in state:
            more = self._keyless.allow()
        if more is None:
            return
        fields = {
            "method": method,
            "route": self.route,
            "status": status,
            "code": state.get("code"),
            "key": state.get("key_id"),
            "search": state.get("search") or search_id(path),
            "lookup": state.get("lookup"),
            "client_request": clients_id(scope["headers"]),
        }
        took_ms = round(took_s * 1000, 1)
        known = {name: value for name, value in fields.items() if value is not None}
        with bound_contextvars(request=state["request_id"]):  # bound to most calls already
            line.info("call", **known, took_ms=took_ms, **more)


def note_search(state: dict[str, object], admitted: StoredAdmission) -> None:
    """Put into *state* which search a call led to, and which lookup answers it."""
    search = admitted.admission.search
    state["search"] = search
    state["admitted"] = admitted.admission.kind
    for event in admitted.admission.key_events:
        if isinstance(event, SearchAdmitted):
            state["lookup"] = event.lookup
    for running in admitted.key.running:
        if running.search == search:
            state["lookup"] = running.lookup


def route(path: str) -> str:
    """Return the template of *path*.

    >>> route("/v1/usage"), route("/v1/searches/srch_x"), route("/v1/searches/x/y")
    ('/v1/usage', '/v1/searches/{id}', 'other')
    """
    if path in PLAIN:
        return path
    ending = path.removeprefix(SEARCH)
    return f"{SEARCH}{{id}}" if path != ending and ending and "/" not in ending else OTHER


def search_id(path: str) -> str | None:
    """Return the id of the search that *path* asks for, if it looks like one of ours."""
    found = _SEARCH_ID.fullmatch(path.removeprefix(SEARCH))
    return found and found[0]


def clients_id(headers: list[tuple[bytes, bytes]]) -> str | None:
    """Return the caller's own ``X-Request-Id`` if it may stand in a log.

    >>> clients_id([(b"x-request-id", b"a-1")]), clients_id([(b"x-request-id", b"Ada Kern")])
    ('a-1', None)
    """
    for name, value in headers:
        if name == b"x-request-id":
            return value.decode() if _CLIENTS_ID.fullmatch(value) else None
    return None
