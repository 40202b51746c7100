"""The answers when the service fails: nothing happened, or perhaps something did.

Once a search may be stored no answer says that nothing was.  Who asks again without an
Idempotency-Key may pay twice, so callers with one and without get different messages.
"""

from starlette.requests import Request
from starlette.responses import Response
from structlog import get_logger

from cs.api.errors import ApiError
from cs.eventlog.errors import AppendInDoubt, DamagedEvent

log = get_logger()

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


def may_be_stored(request: Request) -> None:
    """Note that from now on *request* may have stored a search."""
    request.state.may_be_stored = True


async def unavailable(request: Request, error: Exception) -> Response:
    """Answer while log and views cannot be used; only an `AppendInDoubt` may have stored."""
    log.error("log_unavailable", why=str(error))
    message = "what the service knows cannot be read or written now; try again"
    if isinstance(error, AppendInDoubt):
        message = _in_doubt(request)
    elif isinstance(error, DamagedEvent):
        return ApiError("server_error", _DAMAGED).response()
    return ApiError("server_error", message, headers=_AGAIN).response()


async def server_error(request: Request, error: Exception) -> Response:
    """Answer after an error that nobody foresaw: a bug."""
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
