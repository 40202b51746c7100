"""The ASGI application: key first, then path and method, then the endpoint."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog import get_logger
from structlog.contextvars import bound_contextvars

from cs.api.admitting import InDoubt
from cs.api.errors import ApiError
from cs.api.in_time import within
from cs.api.openapi import OPENAPI_PATH, get_openapi
from cs.api.request_ids import RequestIds
from cs.api.routes import Api, unauthorized
from cs.domain.api_key import hash_key, well_formed
from cs.eventlog.port import LogUnavailable

log = get_logger()

Handler = Callable[[Request], Awaitable[Response]]
RawHeaders = list[tuple[bytes, bytes]]

_NOSNIFF = (b"x-content-type-options", b"nosniff")
_NO_STORE = (b"cache-control", b"no-store")


def build(api: Api) -> ASGIApp:
    """Return the application that serves *api* under ``/v1``."""
    app = Starlette(
        routes=[
            Route("/v1/contacts", api.post_contacts, methods=["POST"]),
            Route("/v1/searches/{id}", api.get_search, methods=["GET"]),
            Route("/v1/usage", api.get_usage, methods=["GET"]),
            Route(OPENAPI_PATH, get_openapi, methods=["GET"]),
        ],
        exception_handlers={
            ApiError: _api_error,
            HTTPException: _http_error,
            LogUnavailable: _unavailable,
            Exception: _server_error,
        },
    )
    # A redirect would make clients send a POST twice (CONTRACT.md H1).
    app.router.redirect_slashes = False
    return Gate(app, api)


class Gate:
    """Gives each request an id, asks for the key, and sets what every response carries."""

    def __init__(self, app: ASGIApp, api: Api) -> None:
        self._app = app
        self._api = api
        self._request_ids = RequestIds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._request_ids.new()
        state = scope.setdefault("state", {})
        state["request_id"] = request_id

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _marked(message["headers"], request_id)
            await send(message)

        with bound_contextvars(request=request_id):
            try:
                await self._authenticate(scope)
                _check_slashes(scope)
            except ApiError as error:
                await error.response()(scope, receive, send_marked)
            except LogUnavailable as error:
                answer = await _unavailable(Request(scope), error)
                await answer(scope, receive, send_marked)
            else:
                await self._app(scope, receive, send_marked)

    async def _authenticate(self, scope: Scope) -> None:
        if (
            scope["path"] == OPENAPI_PATH
            and scope["method"] in {"GET", "HEAD"}
            and not _hides_slash(scope)
        ):
            return
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        secret = bearer([value.decode("latin-1") for value in given])
        if secret is None or not well_formed(secret):
            raise unauthorized(sent=bool(given))
        secret_hash = hash_key(secret)
        key_id = self._api.key_ring.known(secret_hash)
        if key_id is None:
            async with within(self._api.patience.read_s):
                key_id = await self._api.key_ring.find(secret_hash)
        if key_id is None:
            raise unauthorized(sent=True)
        scope["state"] |= {"key_id": key_id, "secret_hash": secret_hash}


def _marked(headers: RawHeaders, request_id: str) -> RawHeaders:
    """Return *headers* with what every response carries."""
    marked = [*headers, (b"x-request-id", request_id.encode()), _NOSNIFF]
    if all(name != b"cache-control" for name, _ in headers):
        marked.append(_NO_STORE)
    return marked


def _check_slashes(scope: Scope) -> None:
    """Refuse a path with an encoded slash, which is not a slash (CONTRACT.md H1).

    Raises:
        ApiError: ``not_found``.
    """
    if _hides_slash(scope):
        raise _nothing_there()


def _hides_slash(scope: Scope) -> bool:
    return b"%2f" in scope.get("raw_path", b"").lower()


def _nothing_there() -> ApiError:
    return ApiError("not_found", "there is nothing at this path")


def bearer(values: list[str]) -> str | None:
    """Return the token of the one ``Authorization: Bearer`` header (CONTRACT.md H9).

    >>> bearer(["bearer   abc"]), bearer(["Bearer a b"]), bearer(["Bearer a", "Bearer a"])
    ('abc', None, None)
    """
    if len(values) != 1:
        return None
    scheme, _, token = values[0].strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or " " in token or "\t" in token:
        return None
    return token


async def _api_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error.response()


async def _http_error(_: Request, error: Exception) -> Response:
    """Starlette's own 404 and 405, in our shape (CONTRACT.md H1, H2)."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return _nothing_there().response()
    if error.status_code == 405:
        allow = (error.headers or {}).get("Allow", "")
        message = f"this path does not take this method; it takes {allow}"
        return ApiError(
            "invalid_request", message, status=405, headers={"Allow": allow}
        ).response()
    return ApiError("invalid_request", "the request could not be read").response()


async def _unavailable(_: Request, error: Exception) -> Response:
    log.error("log_unavailable", why=str(error))
    message = "what the service knows cannot be read or written now; try again"
    if isinstance(error, InDoubt):
        message = (
            "it is not known whether this search was stored; send it again, with the same "
            "Idempotency-Key if it had one"
        )
    return ApiError("server_error", message, headers={"Retry-After": "5"}).response()


async def _server_error(_: Request, error: Exception) -> Response:
    log.error("server_error", exc_info=error)
    message = "something went wrong on our side and nothing was charged; try again"
    return ApiError("server_error", message).response()
