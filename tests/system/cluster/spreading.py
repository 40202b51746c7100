"""Calls of one caller, spread over all nodes of the API as a proxy before them would."""

from collections.abc import Sequence
from itertools import cycle

import httpx


class Spreading(httpx.BaseTransport):
    """Sends each call to the next of *ports*, whatever port its address names."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = cycle(ports)
        self._http = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return self._http.handle_request(request)

    def close(self) -> None:
        self._http.close()
