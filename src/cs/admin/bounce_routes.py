"""``POST /mailboxes/bounced``: bounces, from whatever sends the operator's mail."""

from typing import Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cs.admin.clock_routes import is_json, read_body
from cs.eventlog.errors import LogUnavailable
from cs.keystore.errors import KeysUnavailable

#: Longest body, in bytes, and most rows in one: larger files go to `cs mailboxes bounced`.
MAX_BODY = 1 << 20
MAX_ROWS = 1_000
ALLOWED = (
    'send a JSON array of objects, or {"bounces": [...]}, with email, and of type, status, '
    "code, diagnostic and time those that are known"
)


class BounceIntake(Protocol):
    """What records bounces."""

    async def record(self, body: bytes, max_rows: int) -> msgspec.Struct:
        """Record the bounces in *body*; return what became of each row, and how many of what.

        Raises:
            ValueError: It holds none, or too many; nothing was recorded.
            LogUnavailable, KeysUnavailable: Send it again.
        """


def bounce_routes(intake: BounceIntake) -> list[Route]:
    """Return the route that gives bounces to *intake*.

    200 with what became of each row, also if some are bad; 400 if there is nothing that could
    be taken; 415 to a body that is not said to be JSON: a page of anybody's may send those
    without being asked (CORS); 503 while the log is away.
    """

    async def bounced(request: Request) -> Response:
        if not is_json(request):
            return _refused("send the body with Content-Type: application/json", 415)
        try:
            return _json(await intake.record(await read_body(request, MAX_BODY), MAX_ROWS))
        except ValueError as error:
            return _refused(f"{error}; {ALLOWED}", 400)
        except (LogUnavailable, KeysUnavailable) as error:
            message = f"{error}; send the same again: what is recorded is not recorded twice"
            return _json({"code": "unavailable", "message": message}, 503)

    return [Route("/mailboxes/bounced", bounced, methods=["POST"])]


def _refused(message: str, status: int) -> Response:
    return _json({"code": "invalid_request", "message": message}, status)


def _json(body: object, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/json"
    )
