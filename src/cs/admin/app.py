"""The application of the admin port, for operators.  Never under ``/v1``."""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import timedelta
from ipaddress import ip_address
from typing import Annotated, TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cs.admin.health import Readiness
from cs.admin.sandbox_clock import MOST, ClockAdvancer
from cs.eventlog.port import LogUnavailable
from cs.keystore.port import KeysUnavailable
from cs.postgres.errors import DatabaseUnavailable

#: Records the bounces of a body with at most so many rows; returns the result of each.  Raises
#: ValueError if there are none or too many, LogUnavailable or KeysUnavailable.
RecordBounces: TypeAlias = Callable[[bytes, int], Awaitable[object]]

#: Longest body of bounces, in bytes, and most rows: larger files go to `cs mailboxes bounced`.
MAX_BODY, MAX_ROWS = 1 << 20, 1_000
#: Longest body of a move of the clock, and the longest move.
MAX_MOVE_BODY, LONGEST_MOVE = 1024, timedelta(days=366)
_BOUNCES_ALLOWED = (
    'send a JSON array of objects, or {"bounces": [...]}, with email, and of type, status, '
    "code, diagnostic and time those that are known"
)
_MOVE_ALLOWED = (
    f'send {{"advance": seconds}}, a number from 0 to {LONGEST_MOVE.total_seconds():.0f}; '
    f"all together the clock moves at most {MOST.days} days ahead"
)


class Move(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    advance: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_MOVE.total_seconds())]


def build(
    health: Readiness,
    clock_advancer: ClockAdvancer | None = None,
    names: Collection[str] = (),
    bounces: RecordBounces | None = None,
    console: Sequence[BaseRoute] = (),
) -> Starlette:
    """Return the application of the admin port.

    ``/healthz``: 200 while the process answers.  ``/readyz``: 200 if it can serve calls, else
    503 with the reason.  ``/metrics``: for Prometheus.  ``/mailboxes/bounced``
    only with *bounces*, ``/sandbox/clock`` only with *clock_advancer*, and what *console* has.
    Other host names than ``localhost`` and *names* are refused.
    """

    async def healthz(_: Request) -> Response:
        return _json({"ok": True})

    async def readyz(_: Request) -> Response:
        ready, body = await health.check()
        return _json(body, 200 if ready else 503)

    async def metrics(request: Request) -> Response:
        page, media_type = await health.page(request.headers.get("accept", ""))
        return Response(page, headers={"Content-Type": media_type})

    handlers = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
    routes: list[BaseRoute] = [Route(path, handler) for path, handler in handlers.items()]
    routes += console
    if bounces is not None:
        routes.append(_bounces_route(bounces))
    if clock_advancer is not None:
        routes += _clock_routes(clock_advancer)
    return Starlette(
        routes=routes,
        middleware=[Middleware(_HostCheck, names=names)],
        exception_handlers={_Refused: _show_refusal, Exception: _show_failure},
    )


class _HostCheck:
    """Answers 421 (RFC 9110 section 15.5.20) to a call by a foreign host name.

    A page in a browser can make its own name point at this machine (DNS rebinding), call the
    port and read its answers.  It cannot do so without a name in ``Host``: an address or
    ``localhost`` there belongs to no other site.  (Starlette's TrustedHostMiddleware knows
    names and no addresses: probes and Prometheus call by the address of the moment.)
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            hosts = Request(scope).headers.getlist("host")
            if not all(self._is_ours(host.strip()) for host in hosts):
                message = "call this port by an address or localhost, or name it in admin_names"
                app = _json({"code": "invalid_request", "message": message}, 421)
        await app(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        # A name, or an address in brackets, and a port (RFC 9110 section 7.2).
        found = re.fullmatch(r"(?:\[([^][]*)\]|([^]:@/[]+))(?::[0-9]*)?", host)
        name = (found[1] or found[2]) if found else ""
        try:
            return name.lower() in self._names or bool(ip_address(name))
        except ValueError:
            return False


def _bounces_route(record: RecordBounces) -> Route:
    async def bounced(request: Request) -> Response:
        body = await _json_body(request, MAX_BODY, _BOUNCES_ALLOWED)
        try:
            return _json(await record(body, MAX_ROWS))
        except ValueError as error:
            raise _Refused(400, f"{error}; {_BOUNCES_ALLOWED}") from error
        except (LogUnavailable, KeysUnavailable) as error:
            message = f"{error}; send the same again: what is recorded is not recorded twice"
            return _json({"code": "unavailable", "message": message}, 503)

    return Route("/mailboxes/bounced", bounced, methods=["POST"])


def _clock_routes(advancer: ClockAdvancer) -> list[Route]:
    """Return the routes that read the clock, and that move it.

    A move answers once all that is due in that time has happened.
    """

    async def read(_: Request) -> Response:
        return _json({"now": advancer.clock.now()})

    async def move(request: Request) -> Response:
        body = await _json_body(request, MAX_MOVE_BODY, _MOVE_ALLOWED)
        try:
            by = timedelta(seconds=msgspec.json.decode(body, type=Move).advance)
            return _json({"now": await advancer.advance(by)})
        except ValueError as error:
            raise _Refused(400, f"{error}; {_MOVE_ALLOWED}") from error
        except (LogUnavailable, DatabaseUnavailable, OSError) as error:
            return _json({"code": "unavailable", "message": f"the clock: {error}"}, 503)

    path = "/sandbox/clock"
    return [Route(path, read, methods=["GET"]), Route(path, move, methods=["POST"])]


class _Refused(HTTPException):
    """A refusal of a call, with its status and a message."""


async def _show_refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, _Refused)
    return _json({"code": "invalid_request", "message": error.detail}, error.status_code)


async def _show_failure(_: Request, error: Exception) -> Response:
    message = f"{type(error).__name__}; the log of this process has more"
    return _json({"code": "internal_error", "message": message}, 500)


async def _json_body(request: Request, max_bytes: int, allowed: str) -> bytes:
    """Return the body of *request*.

    Raises:
        _Refused: 415 if it is not declared as JSON: a page of any origin may send other types
            without being asked first (CORS).  400 if it is too long.
    """
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind.strip().lower() != "application/json":
        raise _Refused(415, "send the body with Content-Type: application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > max_bytes:
            raise _Refused(400, f"the body is longer than {max_bytes} bytes; {allowed}")
    return body


def _json(body: object, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/json"
    )
