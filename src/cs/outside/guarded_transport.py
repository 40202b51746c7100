"""Connections to hosts that somebody else named: resolved, judged and dialled in one place.

The address that was judged is the address that is dialled.  TLS and the Host header keep
the name, so that certificates are checked as ever, and a name that resolves differently
the next time (DNS rebinding) is judged anew.  A connection that is kept leads to the address
that was judged, whatever the name resolves to since.
"""

from collections.abc import Iterable
from typing import Any

import httpcore

from cs.outside.asyncio_backend import AsyncioBackend
from cs.outside.guard import Guard, is_literal
from cs.outside.port import Forbidden, Resolver, Unreachable

#: How long one address of a host may take before the next one is tried.
CONNECT_S = 4.0
#: Addresses of one host that are tried.
ADDRESSES = 4


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Dials names by way of *resolver* and *guard*.

    Args:
        web_ports: Where port 80 and port 443 are, in this order.
    """

    def __init__(self, guard: Guard, resolver: Resolver, *, web_ports: tuple[int, int]) -> None:
        self._guard = guard
        self._resolver = resolver
        self._ports = dict(zip((80, 443), web_ports, strict=True))
        self._tcp = AsyncioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of *host* that answers.

        Raises:
            Forbidden: One of its addresses is refused; then none of them is dialled.
            Unreachable: ``no-host``, ``dns``.
            httpcore.ConnectError: No address answered.
        """
        addresses = await self._addresses(host)
        last: Exception | None = None
        for address in addresses[:ADDRESSES]:
            try:
                return await self._tcp.connect_tcp(
                    address,
                    self._ports.get(port, port),
                    timeout=min(timeout or CONNECT_S, CONNECT_S),
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
        assert last is not None
        raise last

    async def sleep(self, seconds: float) -> None:
        await self._tcp.sleep(seconds)

    async def _addresses(self, host: str) -> tuple[str, ...]:
        if is_literal(host):
            addresses: tuple[str, ...] = (host.strip("[]"),)
        else:
            addresses = await self._resolver.addresses(host)
        if not addresses:
            raise Unreachable("no-host", host)
        for address in addresses:
            try:
                self._guard.check(address)
            except Forbidden as error:
                raise Forbidden(f"{host}: {error}") from error
        return addresses
