"""``/sandbox/clock``: the sandbox's time, read and moved by whoever tries the service out."""

from datetime import datetime, timedelta
from typing import Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cs.admin.sandbox_clock import MOST, SandboxClock

#: The longest one call may move the clock.
LONGEST = timedelta(days=366)
MAX_BODY = 1024
ALLOWED = (
    f'send {{"advance": seconds}}, a number from 0 to {LONGEST.total_seconds():.0f}; '
    f"all together the clock moves at most {MOST.days} days ahead"
)


class ClockAdvancer(Protocol):
    """What moves a sandbox's clock."""

    @property
    def clock(self) -> SandboxClock: ...

    async def advance(self, by: timedelta) -> datetime:
        """Let *by* go by, and what is due in it happen; return the time it is then."""


class Move(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    advance: float


def clock_routes(clock_advancer: ClockAdvancer) -> list[Route]:
    """Return the routes that read and move the clock of *clock_advancer*.

    ``GET`` answers ``{"now": ...}``; ``POST {"advance": seconds}`` answers the same once
    what is due in that time has happened, 400 if it cannot be moved so, and 415 to a body that
    is not said to be JSON: a page of anybody's may send those without being asked (CORS).
    """

    async def read(_: Request) -> Response:
        return _json({"now": clock_advancer.clock.now()})

    async def move(request: Request) -> Response:
        if not is_json(request):
            message = "send the body with Content-Type: application/json"
            return _json({"code": "invalid_request", "message": message}, 415)
        try:
            by = _span(await read_body(request, MAX_BODY))
            return _json({"now": await clock_advancer.advance(by)})
        except ValueError as error:
            message = f"{error}; {ALLOWED}"
            return _json({"code": "invalid_request", "message": message}, 400)

    path = "/sandbox/clock"
    return [Route(path, read, methods=["GET"]), Route(path, move, methods=["POST"])]


def is_json(request: Request) -> bool:
    """Return whether the body of *request* is said to be JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0]
    return kind.strip().lower() == "application/json"


async def read_body(request: Request, most: int) -> bytes:
    """Return the body of *request*, of *most* bytes at most.

    Raises:
        ValueError: It is longer.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise ValueError(f"the body is longer than {most} bytes")
    return body


def _span(body: bytes) -> timedelta:
    """Return how far *body* wants the clock to move.

    Raises:
        ValueError: It does not say, or too far.
    """
    seconds = msgspec.json.decode(body, type=Move).advance  # its errors are ValueErrors
    if not 0 <= seconds <= LONGEST.total_seconds():
        raise ValueError(f"{seconds} is out of bounds")
    return timedelta(seconds=seconds)


def _json(body: dict[str, object], status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/json"
    )
