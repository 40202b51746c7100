"""A transport of HTTP for hundreds of calls at once, which costs each of them the same.

`httpx.AsyncHTTPTransport` looks through all its connections whenever a call begins and whenever
one ends (`_assign_requests_to_connections` of httpcore's pool): 300 calls at once took 7 s of
processor, most of which went there.
"""

import httpx


class ManyCalls(httpx.AsyncBaseTransport):
    """Any number of calls at once, each on a connection that is kept for a later one.

    An answer is read whole before it is handed on.
    """

    def __init__(self) -> None:
        self._idle: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        one = self._idle.pop() if self._idle else _one_connection()
        try:
            answer = await one.handle_async_request(request)
            assert isinstance(answer.stream, httpx.AsyncByteStream)
            content = b"".join([part async for part in answer.stream])
            await answer.aclose()
        except BaseException:
            await one.aclose()
            raise
        self._idle.append(one)
        return httpx.Response(answer.status_code, headers=answer.headers, content=content)

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()


def _one_connection() -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(verify=False, limits=httpx.Limits(max_connections=1))
