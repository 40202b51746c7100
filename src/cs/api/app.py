"""The ASGI application: key first, then path and method, then the endpoint."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from cs.api import failures
from cs.api.api import Api
from cs.api.call_log import CallRecord
from cs.api.contacts import post_contacts
from cs.api.credentials import Caller, presented, wrong_key
from cs.api.errors import ApiError
from cs.api.key_access import check_secret
from cs.api.log_rate_limit import LogRateLimit
from cs.api.openapi import OPENAPI_PATH, get_openapi
from cs.api.request_ids import RequestIds
from cs.api.searches import get_search
from cs.api.time_limits import within
from cs.api.usage import get_usage
from cs.domain.api_key import hash_key
from cs.eventlog.errors import LogUnavailable

Handler = Callable[[Request], Awaitable[Response]]
RawHeaders = list[tuple[bytes, bytes]]

_NOSNIFF = (b"x-content-type-options", b"nosniff")
_NO_STORE = (b"cache-control", b"no-store")
_CLOSE = (b"connection", b"close")


def build(api: Api) -> ASGIApp:
    """Return the application that serves *api* under ``/v1``."""
    app = Starlette(
        routes=[
            Route("/v1/contacts", partial(post_contacts, api), methods=["POST"]),
            Route("/v1/searches/{id}", partial(get_search, api), methods=["GET"]),
            Route("/v1/usage", partial(get_usage, api), methods=["GET"]),
            Route(OPENAPI_PATH, get_openapi, methods=["GET"]),
        ],
        exception_handlers={
            ApiError: _api_error,
            HTTPException: partial(_http_error, api),
            LogUnavailable: failures.unavailable,
            ClientDisconnect: failures.gone,
            Exception: failures.server_error,
        },
    )
    # A redirect would make clients send a POST twice (contract H1).
    app.router.redirect_slashes = False
    return Gate(app, api)


class Gate:
    """Gives each request an id, asks for the key, and sets what every response carries.

    Whatever goes wrong, the caller is answered in our shape and with the id.
    """

    def __init__(self, app: ASGIApp, api: Api) -> None:
        self._app = app
        self._api = api
        self._request_ids = RequestIds()
        self._keyless = LogRateLimit("unauthorized_calls_left_out")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._request_ids.new()
        state = scope.setdefault("state", {})
        state["request_id"] = request_id
        call = CallRecord(scope, self._keyless, self._api.metrics)

        begun = ended = False

        async def send_marked(message: Message) -> None:
            nonlocal begun, ended
            if message["type"] == "http.response.start":
                begun = True
                call.status = message["status"]
                message["headers"] = _marked(message["headers"], request_id)
                if self._api.draining.is_set():
                    message["headers"].append(_CLOSE)
            await send(message)
            ended = message["type"] == "http.response.body" and not message.get("more_body")

        with bound_contextvars(request=request_id):
            try:
                await self._answer(scope, call.watching_for_hang_up(receive), send_marked)
            except asyncio.CancelledError:  # the service leaves, and waits no longer
                if not begun:
                    await failures.cut_off(Request(scope))(scope, receive, send_marked)
                raise
            except Exception as error:
                if not begun:
                    answer = await failures.server_error(Request(scope), error)
                    await answer(scope, receive, send_marked)
                elif not ended:
                    raise
                # Else Starlette has answered and logged it, and lets it through all the same.
            finally:
                call.end()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._authenticate(scope)
            await self._check_slashes(scope)
        except ApiError as error:
            await error.response()(scope, receive, send)
        except LogUnavailable as error:
            answer = await failures.unavailable(Request(scope), error)
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _authenticate(self, scope: Scope) -> None:
        if (
            scope["path"] == OPENAPI_PATH
            and scope["method"] in {"GET", "HEAD"}
            and not _hides_slash(scope)
        ):
            return
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        secret_hash = hash_key(presented([value.decode("latin-1") for value in sent]))
        key_id = self._api.key_ring.known(secret_hash)
        if key_id is None:
            async with within(self._api.time_limits.read_s):
                key_id = await self._api.key_ring.find(secret_hash)
        if key_id is None:
            raise wrong_key()
        scope["state"] |= {"key_id": key_id, "caller": Caller(key_id, secret_hash)}

    async def _check_slashes(self, scope: Scope) -> None:
        """Refuse a path with an encoded slash, which is not a slash (contract H1).

        Raises:
            ApiError: ``not_found``.
        """
        if _hides_slash(scope):
            await check_secret(self._api, scope["state"]["caller"])
            raise _nothing_there()


def _marked(headers: RawHeaders, request_id: str) -> RawHeaders:
    """Return *headers* with what every response carries."""
    marked = [*headers, (b"x-request-id", request_id.encode()), _NOSNIFF]
    if all(name != b"cache-control" for name, _ in headers):
        marked.append(_NO_STORE)
    return marked


def _hides_slash(scope: Scope) -> bool:
    return b"%2f" in scope.get("raw_path", b"").lower()


def _nothing_there() -> ApiError:
    return ApiError("not_found", "there is nothing at this path")


async def _api_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error.response()


async def _http_error(api: Api, request: Request, error: Exception) -> Response:
    """Starlette's own 404 and 405, in our shape (contract H1, H2)."""
    assert isinstance(error, HTTPException)
    try:
        await check_secret(api, request.state.caller)
    except ApiError as wrong:
        return wrong.response()
    if error.status_code == 404:
        return _nothing_there().response()
    if error.status_code == 405:
        allow = (error.headers or {}).get("Allow", "")
        message = f"this path does not take this method; it takes {allow}"
        return ApiError(
            "invalid_request", message, status=405, headers={"Allow": allow}
        ).response()
    return ApiError("invalid_request", "the request could not be read").response()
