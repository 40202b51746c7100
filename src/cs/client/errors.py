"""Errors of a call: one class for each status, and for a code where it matters.

``ClientError`` is the base of all; ``ApiError`` of those that the service itself reports.
"""

from typing import TYPE_CHECKING

from cs.client.limits import Limits

if TYPE_CHECKING:
    from cs.client.records import Search


class ClientError(Exception):
    """A call that failed.

    Attributes:
        code: Stable, to branch on.
        status: HTTP status; 0 if there was no answer.
        request_id: The server's name for the call, for its operator.
        retry_after_s: Seconds that the server asks to wait.
        limits: The key's limits as the answer states them.
        search: The search as it was last seen, if it was seen at all.
        in_doubt: Whether a search may have been started all the same; asked for again
            with the same idempotency key it is found.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int = 0,
        request_id: str | None = None,
        retry_after_s: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.limits = limits
        self.search: Search | None = None
        self.in_doubt = False


class Unreachable(ClientError):
    """No whole answer: no server, a broken connection, a time-out, one cut short or endless.

    Attributes:
        may_pass: Whether another try may do better.
        sent: Whether the service may have received the call.
    """

    def __init__(
        self, message: str, *, may_pass: bool = True, sent: bool = True, status: int = 0
    ) -> None:
        super().__init__(message, code="unreachable", status=status)
        self.may_pass = may_pass
        self.sent = sent


class NotThisApi(ClientError):
    """An answer that no server of this API gives: a proxy's, or another service's."""


class TooLate(ClientError):
    """The search was first asked for so long ago that it might be charged twice; not sent."""

    def __init__(self) -> None:
        why = "it was asked for over 23 hours ago, and asking again may charge it again"
        super().__init__(why, code="too_late")
        self.in_doubt = True


class StillRunning(ClientError):
    """The time given to wait is up.  `search` goes on, and can be waited for again."""


class ApiError(ClientError):
    """The service refused, with a status or a code that has no class of its own."""


class BadRequest(ApiError):
    """400 ``invalid_request``: change what is sent."""


class Unsendable(BadRequest):
    """The query cannot be sent, so no call was made: status 0."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="invalid_request")


class Unauthorized(ApiError):
    """401 ``unauthorized``: the API key is missing, wrong or revoked."""


class QuotaExceeded(ApiError):
    """402 ``quota_exhausted``: the key has used its whole quota."""


class NotFound(ApiError):
    """404 ``not_found``: no search with this id was made with this key, or a wrong address."""


class MethodNotAllowed(ApiError):
    """405 ``invalid_request``: the path does not take this method."""


class TooManyRequests(ApiError):
    """429: wait `retry_after_s`."""


class RateLimited(TooManyRequests):
    """429 ``rate_limited``: a limit of searches or checks; `limits` describes it."""


class InFlight(TooManyRequests):
    """429 ``too_many_in_flight``: two new-brand searches run, or one holds the last unit."""


class ServerError(ApiError):
    """500 ``server_error``: nothing was charged, unless `in_doubt`."""


class Unavailable(ApiError):
    """503: not now."""


class AtCapacity(Unavailable):
    """503 ``at_capacity``: cached brands still answer."""


class Paused(Unavailable):
    """503 ``api_disabled``: the operator has paused the API."""


_BY_CODE: dict[tuple[int, str], type[ApiError]] = {
    (429, "rate_limited"): RateLimited,
    (429, "too_many_in_flight"): InFlight,
    (503, "at_capacity"): AtCapacity,
    (503, "api_disabled"): Paused,
}
_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    402: QuotaExceeded,
    404: NotFound,
    405: MethodNotAllowed,
    429: TooManyRequests,
    500: ServerError,
    503: Unavailable,
}


def api_error_class(status: int, code: str) -> type[ApiError]:
    """Return the class of an error; `ApiError` for what this client does not know."""
    return _BY_CODE.get((status, code)) or _BY_STATUS.get(status, ApiError)
