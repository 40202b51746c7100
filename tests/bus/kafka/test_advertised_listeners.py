"""A broker of this machine that names brokers elsewhere."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bus.kafka.kafka_cases import client_of
from cs.bus.port import BusRefused
from harness.loopback_server import loopback_server

API_VERSIONS, METADATA = 18, 3


@asynccontextmanager
async def broker_naming(host: str) -> AsyncIterator[str]:
    """Run a server that knows version 0 of two calls; yield its host and port.

    Kafka's protocol guide: "ApiVersions Response (Version: 0)", "Metadata Response
    (Version: 0)".
    """
    name = host.encode()
    answers = {
        API_VERSIONS: struct.pack("!hi", 0, 2)
        + struct.pack("!hhh", API_VERSIONS, 0, 0)
        + struct.pack("!hhh", METADATA, 0, 0),
        METADATA: struct.pack("!iih", 1, 1, len(name)) + name + struct.pack("!ii", 9092, 0),
    }

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (size,) = struct.unpack("!i", await reader.readexactly(4))
            asked = await reader.readexactly(size)
            call, _, number = struct.unpack("!hhi", asked[:8])
            answer = struct.pack("!i", number) + answers[call]
            writer.write(struct.pack("!i", len(answer)) + answer)

    async with loopback_server(serve) as port:
        yield f"127.0.0.1:{port}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_broker_that_names_this_machine_is_reached(host: str) -> None:
    async with broker_naming(host) as server:
        await client_of(server).check()


async def test_a_broker_that_sends_us_elsewhere_in_clear_is_refused() -> None:
    async with broker_naming("kafka-1.internal") as server:
        with pytest.raises(BusRefused, match=r"on to kafka-1\.internal.*kafka_tls"):
            await client_of(server).check()

        await client_of(server, insecure=True).check()
