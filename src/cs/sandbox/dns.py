"""The name server of the world, over UDP and TCP, and its records.

Names of the world answer with authority; every other name does not exist.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal, cast

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from cs.sandbox.servers import listening

DnsTrouble = Literal["answers", "servfail", "refused", "silent"]
#: Makes an answer of a question and whether it came over TCP; `None` is silence.
Respond = Callable[[bytes, bool], bytes | None]
_TTL_S = 60
_IDLE_S = 10.0
_RCODES = {"servfail": dns.rcode.SERVFAIL, "refused": dns.rcode.REFUSED}


class Zone:
    """Every name of a world."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}
        self._exchangers: dict[str, list[tuple[int, str]]] = {}
        self._trouble: dict[str, DnsTrouble] = {}

    def host(self, name: str, address: str) -> None:
        self._addresses[name] = address

    def mail(
        self, domain: str, exchangers: list[tuple[int, str]], trouble: DnsTrouble = "answers"
    ) -> None:
        """Give *domain* its MX records, as (preference, host); ``(0, ".")`` is a null MX."""
        self._exchangers[domain] = exchangers
        self._trouble[domain] = trouble

    def respond(self, data: bytes, tcp: bool) -> bytes | None:
        """Return the answer to *data*, cut to what UDP takes unless it came over *tcp*."""
        try:
            query = dns.message.from_wire(data)
            response = dns.message.make_response(query)
            response.flags |= dns.flags.AA
            (question,) = query.question
        except (dns.exception.DNSException, ValueError):
            return None
        name = question.name.to_text(omit_final_dot=True).casefold()
        kind = question.rdtype
        trouble = self._trouble.get(name) if kind == dns.rdatatype.MX else None
        if trouble == "silent":
            return None
        if trouble in _RCODES:
            response.set_rcode(_RCODES[trouble])
        elif name not in self._addresses and name not in self._exchangers:
            response.set_rcode(dns.rcode.NXDOMAIN)
        elif records := self._records(name, kind):
            response.answer.append(
                dns.rrset.from_text(question.name, _TTL_S, "IN", kind, *records)
            )
        size = 65_535 if tcp else max(512, min(query.payload, 1_232))
        return response.to_wire(max_size=size, prefer_truncation=True)

    def _records(self, name: str, kind: dns.rdatatype.RdataType) -> list[str]:
        if kind == dns.rdatatype.A and name in self._addresses:
            return [self._addresses[name]]
        if kind == dns.rdatatype.MX:
            hosts = self._exchangers.get(name, [])
            return [f"{preference} {host.rstrip('.')}." for preference, host in hosts]
        return []


@asynccontextmanager
async def name_server(respond: Respond, host: str, port: int) -> AsyncIterator[None]:
    """Send what *respond* makes of each question, over UDP and TCP.

    Raises:
        OSError: The port is taken.
    """

    async def over_tcp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            async with asyncio.timeout(_IDLE_S):
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                data = await reader.readexactly(length)
            answer = respond(data, True)
            if answer is not None:
                writer.write(struct.pack("!H", len(answer)) + answer)
                await writer.drain()

    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Datagrams(respond), local_addr=(host, port)
    )
    try:
        async with listening(over_tcp, [host], port):
            yield
    finally:
        transport.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Python 3.11's is no subclass of the type it promises.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._respond(data, False)
        if answer is not None:
            self._transport.sendto(answer, addr)
