"""Requests of both clients to httpx, and reading of its responses."""

import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from cs.client.answers import NoReply, Reply
from cs.client.api import Call
from cs.client.errors import Unauthorized, Unreachable

T = TypeVar("T")

#: Never asked through a proxy that the environment names.
LOCAL_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})
#: Opening a connection; its TLS handshake; waiting for a free one of our own.
CONNECT_S = 10.0
#: More than any answer: a record of 25 people, as many as a service shows, has some 15 KiB.
MAX_BYTES = 4 * 2**20
#: Of an answer that has not come whole within the time-out of its call.
TOO_SLOW = "the answer takes too long"
#: Silence after which TCP probes the connection: a held call is silent for 85 s, and firewalls
#: forget silent connections (contract H13).
KEEPALIVE_S = 20
#: Their names differ by platform.
_KEEPALIVE_OPTIONS = ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL")

_PERMANENT = (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.DecodingError)
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.InvalidURL,
    httpx.UnsupportedProtocol,
)


def checked_address(base_url: str, key: str) -> str:
    """Return *base_url* as it is called.

    Raises:
        Unreachable: It is no address, or names a user.
        Unauthorized: No key is like *key*.
    """
    if not (key.isascii() and key.isprintable() and key and " " not in key):
        raise Unauthorized("an API key has only letters, digits and _", code="unauthorized")
    like = "an address looks like http://127.0.0.1:8080/v1"
    url = _url(base_url)
    # Nothing before an @ is ever shown: it may be a password.
    shown = base_url.rpartition("@")[2]
    if not url.host or not base_url.startswith(("http://", "https://")):
        raise Unreachable(f"{shown!r} is no address; {like}", may_pass=False)
    if url.userinfo:
        why = "an address has no user and no password here, the API key is all there is"
        raise Unreachable(f"{shown!r}: {why}; {like}", may_pass=False)
    return base_url.rstrip("/")


def client_options(base_url: str, key: str) -> dict[str, Any]:
    """Return what both of httpx's clients are made with."""
    headers = {"Authorization": f"Bearer {key}", "User-Agent": "contact-search-client"}
    return {"base_url": base_url, "headers": headers, "trust_env": not _is_local(base_url)}


def direct_transport(base_url: str, transport: Callable[..., T]) -> T | None:
    """Return a *transport* to *base_url* with TCP keep-alive.

    It is None if the environment names a proxy: httpx uses none next to a transport.
    """
    parts = urlsplit(base_url)
    named = {"all", parts.scheme} & getproxies().keys()
    if named and not _is_local(base_url) and not proxy_bypass(parts.hostname or ""):
        return None
    here = [getattr(socket, name) for name in _KEEPALIVE_OPTIONS if hasattr(socket, name)]
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    options += [(socket.IPPROTO_TCP, option, KEEPALIVE_S) for option in here]
    return transport(socket_options=options, trust_env=not _is_local(base_url))


def request(http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
    """Return *call* as a request of *http*."""
    # Half, as the TLS handshake has as long once more.
    connect_s = min(CONNECT_S, call.timeout_s / 2)
    return http.build_request(
        call.method,
        call.path,
        content=call.body or None,
        headers=call.headers,
        timeout=httpx.Timeout(call.timeout_s, connect=connect_s, pool=CONNECT_S),
    )


class ReplyReader:
    """Reads an answer while its body comes in, which may be neither endless nor slow.

    httpx bounds the silence between two parts of an answer, not the whole.
    """

    def __init__(self, timeout_s: float) -> None:
        self._until = time.monotonic() + timeout_s
        self._body = bytearray()

    def add(self, part: bytes) -> None:
        """Add *part*.

        Raises:
            httpx.DecodingError: The body is longer than any answer.
            httpx.ReadTimeout: It takes longer than the call has.
        """
        if time.monotonic() > self._until:
            raise httpx.ReadTimeout(TOO_SLOW)
        self._body += part
        if len(self._body) > MAX_BYTES:
            raise httpx.DecodingError(f"the answer is longer than {MAX_BYTES} bytes")

    def reply(self, response: httpx.Response) -> Reply:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, headers, bytes(self._body))


def no_reply(error: Exception) -> NoReply:
    """Return what *error* of httpx means; whatever it is, another try makes a new call."""
    why = str(error) or type(error).__name__
    sent = not isinstance(error, _NOT_SENT)
    return NoReply(why, may_pass=not isinstance(error, _PERMANENT), sent=sent)


def _url(base_url: str) -> httpx.URL:
    """Return *base_url* as all read it who will: httpx, urllib and the look-up of its host.

    It is empty if one of them cannot.
    """
    try:
        urlsplit(base_url)
        url = httpx.URL(base_url)
        url.raw_host.decode("ascii").encode("idna")
        return url if url.host else httpx.URL()
    except (httpx.InvalidURL, ValueError):
        return httpx.URL()


def _is_local(base_url: str) -> bool:
    return httpx.URL(base_url).host in LOCAL_HOSTS
