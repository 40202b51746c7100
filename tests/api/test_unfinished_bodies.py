"""Bodies that stop on the way: who hangs up is no failure, and who dawdles is cut off."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from structlog.testing import capture_logs

from system.overload.http_service import OverHttp, over_http

pytestmark = pytest.mark.slow


@asynccontextmanager
async def half_a_body(
    over: OverHttp,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Send a head and less body than it says, to a service that waits for the rest."""
    (key,) = await over.keys(1)
    assert (await over.get(key)).status_code == 200
    reader, writer = await asyncio.open_connection(
        over.http.base_url.host, over.http.base_url.port
    )
    head = (
        "POST /v1/contacts HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {key.key}",
        "Content-Type: application/json",
        "Content-Length: 50",
        "Expect: 100-continue",
    )
    writer.write("\r\n".join([*head, "", ""]).encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
    writer.write(b'{"brand": ')
    yield reader, writer
    writer.close()


async def test_a_caller_that_hangs_up_in_mid_body_is_no_failure_of_the_service() -> None:
    with capture_logs() as lines:
        async with over_http() as over:
            async with half_a_body(over) as (_, writer):
                writer.transport.abort()
            await over.until(lambda: any(line.get("status") == 499 for line in lines))

    assert [line for line in lines if line["log_level"] not in {"debug", "info"}] == []


async def test_a_body_that_does_not_come_is_refused_and_its_connection_closed() -> None:
    async with over_http() as over:
        over.shorten_bodies(0.1)
        async with half_a_body(over) as (reader, _), asyncio.timeout(5):
            answer = (await reader.read()).decode()  # to its end: it is closed

    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 ")
    assert "connection: close" in head.lower().splitlines()
    error = msgspec.json.decode(body)["error"]
    assert error["code"] == "invalid_request"
    assert "did not come within 0.1 s" in error["message"]
