"""One request and its whole answer, or a clear reason why there is none."""

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpcore
import httpx

from cs.outside.body import ACCEPT_ENCODING, read_body
from cs.outside.guard import host_of
from cs.outside.port import Response, Unreachable

#: Longest body, both as it comes and unfolded.
MAX_BYTES = 2 * 1024 * 1024

#: httpx's own transport raises the first two, ours lets httpcore's through.
_NO_ANSWER = (
    httpx.TransportError,
    httpx.DecodingError,
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
)
_TIME_OUTS = (httpx.TimeoutException, httpcore.TimeoutException)
_CONNECTING = (httpx.ConnectError, httpcore.ConnectError)


class RequestClient:
    """Sends single requests through *transport*: no redirects, no cookies, no environment.

    Args:
        user_agent: Who we say we are; name a way to reach a person (`user_agent`).
        wait_s: For each wait.  The time for the whole is the caller's to limit.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport,
        *,
        user_agent: str,
        wait_s: float,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._transport = transport
        self._extensions = {"timeout": httpx.Timeout(wait_s).as_dict()}
        self._max_bytes = max_bytes
        self._headers = {
            "user-agent": user_agent,
            "accept": "*/*",
            "accept-encoding": ACCEPT_ENCODING,
        }

    async def get(self, url: httpx.URL, headers: Mapping[str, str]) -> Response:
        """Fetch *url* once; any status is an answer, a redirect too.

        *headers* are sent besides the usual ones, in place of those of the same name.

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
        sent = self._headers | {name.lower(): value for name, value in headers.items()}
        check_values(sent)
        request = httpx.Request(
            method,
            url,
            headers=sent,
            content=body,
            extensions=self._extensions,
        )
        try:
            answer = await self._transport.handle_async_request(request)
            try:
                return Response(
                    status=answer.status_code,
                    headers=dict(answer.headers),
                    body=await self._body(answer),
                    url=str(url),
                )
            finally:
                await answer.aclose()
        except _NO_ANSWER as error:
            raise Unreachable(_why(error), f"{host_of(url)}: {error}") from error

    async def _body(self, answer: httpx.Response) -> bytes:
        declared = answer.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self._max_bytes:
            raise Unreachable("too-large", f"{declared} bytes")
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        return await read_body(
            aiter(answer.stream),
            encoding=answer.headers.get("content-encoding", ""),
            max_bytes=self._max_bytes,
        )

    async def aclose(self) -> None:
        await self._transport.aclose()


def check_values(headers: Mapping[str, str]) -> None:
    """Check that *headers* can be sent: a line break would begin another (RFC 9110, 5.5).

    Raises:
        Unreachable: One cannot; its value, which may be a key, is not told.
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
    if isinstance(error, _TIME_OUTS):
        return "timeout"
    return "connect" if isinstance(error, _CONNECTING) else "protocol"


def _causes(error: BaseException) -> Iterator[BaseException]:
    # The pool re-raises "from None", so the cause is left only as the context.
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
