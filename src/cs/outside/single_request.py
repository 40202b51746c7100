"""One request and its whole answer, or a clear reason why there is none."""

import asyncio
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpcore
import httpx

from cs.outside import connections
from cs.outside.body import ACCEPT_ENCODING, read_body
from cs.outside.connections import BoundedStream
from cs.outside.guard import host_of
from cs.outside.port import Response, Unreachable

#: Longest body, both as it comes and unfolded.
MAX_BYTES = 2 * 1024 * 1024

_NO_ANSWER = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
)


class RequestClient:
    """Sends single requests: no redirects, no cookies, no environment.

    The caller limits the time of each (httpcore's timers for every wait would cost more).

    Args:
        pool: Connections that requests are sent over; closed with the client.
        user_agent: Our name, with a way to reach a person (`user_agent`).
    """

    def __init__(
        self,
        pool: httpcore.AsyncConnectionPool,
        *,
        user_agent: str,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._pool = pool
        # Nothing waits inside the pool: a wait that is cancelled there may keep a connection.
        self._slots = asyncio.Semaphore(connections.CONNECTIONS)
        self._max_bytes = max_bytes
        self._headers = {
            "user-agent": user_agent,
            "accept": "*/*",
            "accept-encoding": ACCEPT_ENCODING,
        }

    async def get(self, url: httpx.URL, headers: Mapping[str, str]) -> Response:
        """Fetch *url* once; any status is an answer, a redirect too.

        *headers* are sent with the usual ones, in place of those of the same name.

        Raises:
            Forbidden: The transport refuses an address.
            Unreachable: No usable answer.
        """
        return await self._send("GET", url, headers, None)

    async def post(self, url: httpx.URL, headers: Mapping[str, str], body: bytes) -> Response:
        """Post *body* to *url* once; otherwise as `get`."""
        return await self._send("POST", url, headers, body)

    async def _send(
        self, method: str, url: httpx.URL, headers: Mapping[str, str], body: bytes | None
    ) -> Response:
        host = {"host": url.netloc.decode("ascii")}
        sent = host | self._headers | {name.lower(): text for name, text in headers.items()}
        check_values(sent)
        target = httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        try:
            async with (
                self._slots,
                self._pool.stream(
                    method, target, headers=[*sent.items()], content=body
                ) as answer,
            ):
                fields = httpx.Headers(answer.headers)
                stream = answer.extensions["network_stream"]
                if isinstance(stream, BoundedStream):  # else the answer is 101, without a body
                    stream.allow_body(self._max_bytes)
                return Response(
                    status=answer.status,
                    headers=dict(fields),
                    body=await self._body(answer, fields),
                    url=str(url),
                )
        except _NO_ANSWER as error:
            raise Unreachable(_why(error), f"{host_of(url)}: {error}") from error

    async def _body(self, answer: httpcore.Response, headers: httpx.Headers) -> bytes:
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self._max_bytes:
            raise Unreachable("too-large", f"{declared} bytes")
        return await read_body(
            answer.aiter_stream(),
            encoding=headers.get("content-encoding", ""),
            max_bytes=self._max_bytes,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


def check_values(headers: Mapping[str, str]) -> None:
    """Check that *headers* can be sent: a line break would begin another (RFC 9110, 5.5).

    Raises:
        Unreachable: One cannot; its value, which may be a key, is not shown.
    """
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            why = f"the header {name} has a value that no header may have; it was not sent"
            raise Unreachable("protocol", why)


def trust(ca_file: Path | None) -> ssl.SSLContext:
    """Return what TLS is checked against: certifi's authorities and those in *ca_file*."""
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def _why(error: Exception) -> str:
    if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
        return "tls"
    if isinstance(error, httpcore.TimeoutException):
        return "timeout"
    return "connect" if isinstance(error, httpcore.ConnectError) else "protocol"


def _causes(error: BaseException) -> Iterator[BaseException]:
    # The pool re-raises "from None", so the cause is left only as the context.
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
