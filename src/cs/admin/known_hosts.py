"""The admin port answers under its own names only.

A page in somebody's browser can make its own name point at this machine (DNS rebinding) and
then call the port and read its answers, as if they were its own.  It cannot do without a name
in ``Host``: an address or ``localhost`` there is nobody else's.
"""

import re
from collections.abc import Collection
from ipaddress import ip_address

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send


class KnownHosts:
    """Answers 421 (RFC 9110 section 15.5.20) to who calls *app* by another name.

    Args:
        app: The application of the port.
        names: Under which it may be called, besides addresses and ``localhost``.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = Request(scope).headers.getlist("host")
            if not all(self._known(host) for host in hosts):
                await _misdirected()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _known(self, host: str) -> bool:
        name = _without_port(host.strip())
        if name is None or name.lower() in self._names:
            return name is not None
        try:
            ip_address(name)
        except ValueError:
            return False
        return True


def _without_port(host: str) -> str | None:
    """Return the name or address in *host*; ``None`` if it is none (RFC 9110 section 7.2).

    >>> [_without_port(host) for host in ("localhost:80", "127.0.0.1", "[::1]:80", "[::1].x")]
    ['localhost', '127.0.0.1', '::1', None]
    """
    found = re.fullmatch(r"(?:\[([^][]*)\]|([^]:@/[]+))(?::[0-9]*)?", host)
    return (found[1] or found[2]) if found else None


def _misdirected() -> Response:
    message = "call this port by an address or localhost, or name it in admin_names"
    body = {"code": "invalid_request", "message": message}
    return Response(msgspec.json.encode(body), status_code=421, media_type="application/json")
