"""An outside service that a plug-in is tried on: as it answers, and in every odd state.

A plug-in's author says how the service answers, once; the rest is here.

```python
def answer(asked: ServiceRequest) -> object:  # JSON, or a `Response`
    return {"people": PEOPLE if asked.params["domain"] == "acme.example" else []}


source = from_context(source_context(StandIn(answer), url=URL, key="s3cret"))
broken = out_of_order(lambda client: from_context(source_context(client, url=URL)))
```

`serve` is the same service on a port of this machine, to try the plug-in by hand.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from cs.outside.guard import Guard
from cs.outside.port import ApiClient, MailHosts, Response, Unreachable
from cs.plugins.sources import SourceContext
from cs.plugins.stages import StageContext
from cs.plugins.verifiers import VerifierContext

T = TypeVar("T")

#: The most that `serve` reads of what is posted to it.
BODY_BYTES = 1_000_000


class ServiceRequest(NamedTuple):
    """One request to the service.

    Attributes:
        path: Of the URL, without host and query.
        params: The query; of a name that comes twice the last.
        headers: With names in lower case.
        json: What was posted; ``None`` for a GET.
    """

    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    json: Any = None


#: What the service answers: a value that is sent as JSON with status 200, or a `Response`.
#: It may raise `Unreachable`, as the client does.
Answer = Callable[[ServiceRequest], object]


class StandIn:
    """The service in place of the HTTP client that a plug-in is given.

    Attributes:
        asked: Every request so far.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[ServiceRequest] = []

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        return await self._answered(url, params, headers, None)

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str] | None = None
    ) -> Response:
        return await self._answered(url, None, headers, json.loads(body))

    async def _answered(
        self,
        url: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        posted: Any,
    ) -> Response:
        asked = _asked(url, params or {}, headers or {}, posted)
        self.asked.append(asked)
        return _response(url, self._answer(asked))


class SilentStandIn(StandIn):
    """A service that takes the question and never answers."""

    def __init__(self) -> None:
        super().__init__(lambda _: None)

    async def _answered(self, *_: Any) -> Response:
        await asyncio.Event().wait()
        raise AssertionError


def _status(status: int, body: bytes = b"", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked: Response(status=status, headers=named, body=body, url=asked.path)


def _unreachable(why: str) -> Answer:
    def answer(asked: ServiceRequest) -> object:
        raise Unreachable(why, asked.path)

    return answer


#: How a service is out of order, by the name that a failed test tells: each is met in the
#: wild, and none of them is an answer.
OUT_OF_ORDER: Mapping[str, Answer] = {
    "a key that is refused (401)": _status(401, b'{"error": "bad key"}'),
    "no credits left (402)": _status(402, b'{"error": "upgrade your plan"}'),
    "a plan that may not ask (403)": _status(403),
    "too many calls (429)": _status(429),
    "too many calls (429 with Retry-After)": _status(429, retry_after="7"),
    "an error of its own (500)": _status(500, b"Internal Server Error"),
    "down for maintenance (503 with Retry-After)": _status(503, retry_after="120"),
    "a web page in place of JSON": _status(200, b"<!doctype html><title>Log in</title>"),
    "an error inside a 200": _status(200, b'{"status": "error", "error": "try later"}'),
    "half an answer": _status(200, b'{"result": "val'),
    "nothing at all": _status(200),
    "JSON of another type": _status(200, b'"please try again"'),
    "no answer in time": _unreachable("timeout"),
    "no connection": _unreachable("connect"),
    "no such host": _unreachable("no-host"),
}


def out_of_order(make: Callable[[ApiClient], T]) -> dict[str, T]:
    """Return what *make* makes for a service in each of the states of `OUT_OF_ORDER`."""
    return {state: make(StandIn(answer)) for state, answer in OUT_OF_ORDER.items()}


def source_context(client: ApiClient, **settings: Any) -> SourceContext:
    """Return what a source is made from: *client* for every address, and *settings*."""
    return SourceContext(trusted=client, guarded=client, settings=settings, now=_now)


def verifier_context(client: ApiClient, **settings: Any) -> VerifierContext:
    """Return what a verifier is made from; names of hosts lead nowhere."""
    return VerifierContext(
        fetcher=client,
        settings=settings,
        resolver=_NoNames(),
        guard=Guard(),
        now=_now,
        monotonic=time.monotonic,
    )


def stage_context(client: ApiClient, **settings: Any) -> StageContext:
    """Return what a stage is made from; otherwise as `source_context`."""
    return StageContext(
        trusted=client,
        guarded=client,
        settings=settings,
        resolver=_NoNames(),
        guard=Guard(),
        now=_now,
        monotonic=time.monotonic,
    )


class _NoNames:
    """A resolver without a network."""

    async def addresses(self, host: str) -> tuple[str, ...]:
        raise Unreachable("dns", host)

    async def mail_hosts(self, domain: str) -> MailHosts:
        raise Unreachable("dns", domain)


def _now() -> datetime:
    return datetime.now(UTC)


def serve(answer: Answer, port: int) -> None:
    """Answer on ``http://127.0.0.1:<port>`` as *answer* says, until Ctrl-C.

    Says on standard output where it is, and each path that it was asked for.
    """

    def say(words: str) -> None:
        print(words, flush=True)  # noqa: T201

    with ThreadingHTTPServer(("127.0.0.1", port), handler(answer, say)) as server:
        say(f"answering at http://127.0.0.1:{server.server_port}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("ended")


def handler(
    answer: Answer, say: Callable[[str], None] = lambda _: None
) -> type[BaseHTTPRequestHandler]:
    """Return what answers as *answer* says, for a server of the standard library.

    Args:
        answer: Of the service.
        say: Called with the method and path of each request, if given.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond(None)

        def do_POST(self) -> None:
            size = min(int(self.headers.get("Content-Length") or 0), BODY_BYTES)
            self._respond(json.loads(self.rfile.read(size) or b"null"))

        def _respond(self, posted: Any) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = _response(self.path, answer(_asked(self.path, {}, headers, posted)))
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, *_: object) -> None:
            say(f"{self.command} {urlsplit(self.path).path}")

    return Handler


def _asked(
    url: str, params: Mapping[str, str], headers: Mapping[str, str], posted: Any
) -> ServiceRequest:
    parts = urlsplit(url)
    return ServiceRequest(
        path=parts.path,
        params=dict(parse_qsl(parts.query, keep_blank_values=True)) | dict(params),
        headers={name.lower(): value for name, value in headers.items()},
        json=posted,
    )


def _response(url: str, answered: object) -> Response:
    if isinstance(answered, Response):
        return answered
    headers = {"content-type": "application/json"}
    return Response(status=200, headers=headers, body=json.dumps(answered).encode(), url=url)
