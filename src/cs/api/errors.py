"""Every error that a caller can get: one shape, nine codes (contract text 7)."""

import math
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

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
