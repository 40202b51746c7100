"""Requests over connections that are kept a while, of which there are only so many."""

import ssl
from collections.abc import AsyncIterable, AsyncIterator

import httpcore
import httpx

#: Connections of one client, in use and idle.
CONNECTIONS = 100
#: Of them idle ones; another that gets idle is closed.
IDLE_CONNECTIONS = 20


class PooledTransport(httpx.AsyncBaseTransport):
    """httpx's way to a connection pool that dials through *backend*.

    Args:
        idle_s: How long a connection that nobody uses is kept.
    """

    def __init__(
        self, backend: httpcore.AsyncNetworkBackend, context: ssl.SSLContext, *, idle_s: float
    ) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=CONNECTIONS,
            max_keepalive_connections=IDLE_CONNECTIONS,
            keepalive_expiry=idle_s,
            network_backend=backend,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.content,
                extensions=request.extensions,
            )
        )
        assert isinstance(answer.stream, AsyncIterable)
        return httpx.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._answer.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()
