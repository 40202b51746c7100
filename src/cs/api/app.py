"""The ASGI application: key first, then path and method, then the endpoint.

There is no framework between the server and an endpoint: its routing and its layers for
errors took a third of a short call's time, and there are four routes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, reset_contextvars

from cs.api.api import Api
from cs.api.call_log import KEYLESS_PER_S, SEARCH, CallRecord
from cs.api.contacts import post_contacts
from cs.api.errors import ApiError, cut_off, server_error, unavailable
from cs.api.openapi import OPENAPI_PATH, get_openapi
from cs.api.reads import check_secret, get_search, get_usage
from cs.eventlog.port import LogUnavailable
from cs.runtime.ids import random_id
from cs.runtime.log_throttle import LogThrottle

Endpoint = Callable[[Api, Request], Awaitable[Response]]
RawHeaders = list[tuple[bytes, bytes]]

#: By the template of a path (`cs.api.call_log.route`), then by method.
ROUTES: Mapping[str, Mapping[str, Endpoint]] = {
    "/v1/contacts": {"POST": post_contacts},
    f"{SEARCH}{{id}}": {"GET": get_search, "HEAD": get_search},
    "/v1/usage": {"GET": get_usage, "HEAD": get_usage},
    OPENAPI_PATH: {"GET": get_openapi, "HEAD": get_openapi},
}

_NOSNIFF = (b"x-content-type-options", b"nosniff")
_NO_STORE = (b"cache-control", b"no-store")
_CLOSE = (b"connection", b"close")


class Gate:
    """The application under ``/v1``: gives each request an id, asks for the key, marks answers.

    Whatever goes wrong, the caller is answered in our shape and with the id.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._keyless = LogThrottle(1.0, KEYLESS_PER_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "the server takes no other protocol"
        request_id = random_id("req_")
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

        tokens = bind_contextvars(request=request_id)
        try:
            watched = call.watching_for_hang_up(receive)
            answer = await self._answer(Request(scope, watched), call.route)
            await answer(scope, receive, send_marked)
        except asyncio.CancelledError:  # the service leaves, and waits no longer
            if not begun:
                await cut_off(Request(scope))(scope, receive, send_marked)
            raise
        except Exception as error:
            if not begun:
                answer = server_error(Request(scope), error)
                await answer(scope, receive, send_marked)
            elif not ended:
                raise
        finally:
            call.end()
            reset_contextvars(**tokens)

    async def _answer(self, request: Request, route: str) -> Response:
        try:
            await self._authenticate(request.scope)
            await self._check_slashes(request.scope)
            return await self._endpoint_answer(request, route)
        except ApiError as error:
            return error.response()
        except LogUnavailable as error:
            return unavailable(request, error)
        except ClientDisconnect:
            return Response()  # the client hung up within its body: it reads no answer

    async def _endpoint_answer(self, request: Request, route: str) -> Response:
        """Return what the endpoint of *route* says.

        Raises:
            ApiError: From it; or there is none (contract H1, H2).
        """
        endpoints = ROUTES.get(route, {})
        endpoint = endpoints.get(request.method)
        if endpoint is not None:
            return await endpoint(self._api, request)
        await check_secret(self._api, request.state.caller)
        if not endpoints:
            raise _nothing_there()
        allow = ", ".join(endpoints)
        message = f"this path does not take this method; it takes {allow}"
        raise ApiError("invalid_request", message, status=405, headers={"Allow": allow})

    async def _authenticate(self, scope: Scope) -> None:
        if (
            scope["path"] == OPENAPI_PATH
            and scope["method"] in {"GET", "HEAD"}
            and not _hides_slash(scope)
        ):
            return
        sent = [
            value.decode("latin-1")
            for name, value in scope["headers"]
            if name == b"authorization"
        ]
        caller = await self._api.keys.caller(sent, self._api.time_limits.read_s)
        scope["state"] |= {"key_id": caller.key_id, "caller": caller}

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
