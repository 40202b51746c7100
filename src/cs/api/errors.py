"""Every error that a caller can get: one shape, nine codes (contract text 7).

Once a search may be stored no answer says that nothing was.  A caller who asks again without
an Idempotency-Key may pay twice, so callers with one and without get different messages.
"""

import math
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from structlog import get_logger

from cs.eventlog.port import AppendInDoubt, DamagedEvent

log = get_logger()

#: Contract text 7; the code set and the statuses are closed (contract R2).
STATUS: Mapping[str, int] = MappingProxyType(
    {
        "invalid_request": 400,
        "unauthorized": 401,
        "quota_exhausted": 402,
        "not_found": 404,
        "rate_limited": 429,
        "too_many_in_flight": 429,
        "at_capacity": 503,
        "api_disabled": 503,
        "server_error": 500,
    }
)
NO_HEADERS: Mapping[str, str] = MappingProxyType({})

_UNKNOWN = "it is not known whether this search was stored"
_WITH_KEY = f"{_UNKNOWN}; send it again with the same Idempotency-Key"
_WITHOUT_KEY = (
    f"{_UNKNOWN}; read GET /usage: if `used` has grown it was charged, and sent again it is "
    "charged again; if not, send it again at once: while it runs that is the same search"
)
_DAMAGED = (
    "some of what is stored for this key or brand is damaged; nothing was charged, and trying "
    "again does not help before the operator of the service has mended it"
)
_AGAIN = {"Retry-After": "5"}


class ApiError(Exception):
    """Ends a request with the Error shape."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status or STATUS[code]
        self.headers = headers

    def response(self) -> Response:
        return ErrorResponse(self)


class TooManyWaiting(Exception):
    """More calls of this key wait already than it may make in a minute."""


class ErrorResponse(Response):
    """The Error shape; it notes its code in the state of the call, for the call's log line."""

    def __init__(self, error: ApiError) -> None:
        self._code = error.code
        super().__init__(
            msgspec.json.encode({"error": {"code": error.code, "message": error.message}}),
            status_code=error.status,
            headers=dict(error.headers),
            media_type="application/json",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["code"] = self._code
        await super().__call__(scope, receive, send)


def whole_seconds(wait: timedelta) -> int:
    """Return *wait* rounded up, at least 1: sleeping that long is long enough (contract L8).

    >>> whole_seconds(timedelta(seconds=4.2)), whole_seconds(timedelta(0))
    (5, 1)
    """
    return max(1, math.ceil(wait.total_seconds()))


def may_be_stored(request: Request) -> None:
    """Note that from now on *request* may have stored a search."""
    request.state.may_be_stored = True


def unavailable(request: Request, error: Exception) -> Response:
    """Answer while log and views cannot be used; only an `AppendInDoubt` may have stored."""
    log.error("log_unavailable", why=str(error))
    message = "what the service knows cannot be read or written now; try again"
    if isinstance(error, AppendInDoubt):
        message = _in_doubt(request)
    elif isinstance(error, DamagedEvent):
        return ApiError("server_error", _DAMAGED).response()
    return ApiError("server_error", message, headers=_AGAIN).response()


def server_error(request: Request, error: Exception) -> Response:
    """Answer after an error that was not foreseen: a bug."""
    log.error("server_error", exc_info=error)
    message = "something went wrong on our side and nothing was charged; try again"
    return ApiError("server_error", _unless_stored(request, message)).response()


def cut_off(request: Request) -> Response:
    """Answer a call that takes longer than the service, which leaves, can wait."""
    log.warning("call_cut_off")
    message = "the service is restarting and nothing was charged; try again"
    return ApiError("server_error", _unless_stored(request, message), headers=_AGAIN).response()


def _unless_stored(request: Request, message: str) -> str:
    return _in_doubt(request) if hasattr(request.state, "may_be_stored") else message


def _in_doubt(request: Request) -> str:
    return _WITH_KEY if "idempotency-key" in request.headers else _WITHOUT_KEY
