"""Bytes that come before the TLS handshake are never part of an answer.

A relay on the way cannot read TLS, but it can write before TLS begins.  What goes outside is
tried: the fetcher of pages, the client library and the conversation with mail servers.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import certifi
import pytest

from cs.client import AsyncClient, ClientError
from cs.client.retries import NO_RETRIES
from cs.outside.port import Unreachable
from cs.verifiers.smtp.connection import NoUsableReply
from cs.verifiers.smtp.exchanger import Exchanger
from cs.verifiers.smtp.identity import Identity, SmtpSettings
from cs.verifiers.smtp.mail_route import MxAddress
from harness.clients import certificates, guarded_client
from outside.loopback_web import Zone, pages, serve
from security.relay import relay
from verifiers.smtp.smtp_servers import Script, people, smtp_server
from verifiers.smtp.socks_server import socks_server

TRIES = 20
HONEST, FORGED = (
    b'{"quota": %d, "used": 1, "remaining": 8, "window": {"searches": 1}}' % quota
    for quota in (9, 666)
)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(FORGED), FORGED)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = certificates(tmp_path)
    monkeypatch.setattr(certifi, "where", lambda: str(made.ca_file))
    return made


async def found(port: int) -> str:
    names = Zone({"localhost": [("127.0.0.1",)], "localhost.test": [("127.0.0.1",)]})
    async with guarded_client(names, "127.0.0.0/8", web_ports=(port, port)) as client:
        return (await client.get("https://localhost.test/")).body.decode()


async def library(port: int, host: str = "localhost") -> str:
    url = f"https://{host}:{port}/v1"
    async with AsyncClient(url, "cs_live_x", patience=NO_RETRIES) as client:
        return str(await client.usage())


OK = pages({"/": HONEST, "/v1/usage": HONEST, "/robots.txt": (404, {}, b"")})


@pytest.mark.parametrize("ask", [found, library])
async def test_no_answer_is_accepted_that_came_before_tls(
    ask: Callable[[int], Awaitable[str]], authority: Any
) -> None:
    tls = authority.context(["localhost", "localhost.test"])
    async with (
        serve(OK, tls=tls) as web,
        relay(web.port) as honest,
        relay(web.port, at_once=ANSWER) as forging,
    ):
        assert "9" in await ask(honest)
        for _ in range(TRIES):
            with suppress(Unreachable, ClientError):
                assert "666" not in await ask(forging)


async def test_no_answer_is_accepted_that_a_proxy_adds_to_its_own(
    authority: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))  # comes first with a proxy
    async with (
        serve(OK, tls=authority.context(["localhost.test"])) as web,
        relay(web.port, connects=True) as honest,
        relay(web.port, behind=(b"", ANSWER), connects=True) as forging,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{honest}")
        assert "9" in await library(web.port, "localhost.test")
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{forging}")
        for _ in range(TRIES):
            with suppress(ClientError):
                assert "666" not in await library(web.port, "localhost.test")


# Mail servers: all of a session up to the answer to MAIL, behind the answer to STARTTLS.

MAIL = Script(people(), ehlo="250-mx.test\n250 STARTTLS", starttls="220 go ahead")
SESSION = b"250 mx.test\r\n250 2.1.0 Ok\r\n250 2.1.5 forged\r\n"


async def session(port: int, proxy: str | None = None) -> str:
    """Return the answer to a RCPT, or why there is none."""
    exchanger = Exchanger(
        MxAddress("mx.test", "127.0.0.1", port),
        "mx.test",
        Identity("us.test", "jo@us.test", proxy),
        SmtpSettings(reply_s=2.0),
        note=lambda _who, _text: None,
        slots=asyncio.Semaphore(1),
        pause_timeout=nullcontext,
        heard=lambda _kind: None,
    )
    try:
        return (await exchanger.ask("anyone@mx.test"))[0].text
    except NoUsableReply as no_reply:
        return no_reply.why
    finally:
        await exchanger.abort()


async def test_no_reply_counts_that_came_before_starttls() -> None:
    async with smtp_server(MAIL, "127.0.0.1") as (_, port):
        async with relay(port) as honest:
            assert "unknown" in (await session(honest)).lower()
        async with relay(port, behind=(b"220 go ahead\r\n", SESSION)) as forging:
            got = [await session(forging) for _ in range(TRIES)]

    assert set(got) <= {"out-of-step", "tls"}


async def test_no_reply_counts_that_a_proxy_adds_before_starttls() -> None:
    greeting = b"220 mx.test ESMTP\r\n"
    async with smtp_server(MAIL, "127.0.0.1") as (_, port):
        async with socks_server() as honest:
            assert "unknown" in (await session(port, honest.url)).lower()
        for added in (greeting, greeting + b"250 STARTTLS\r\n220 go ahead\r\n" + SESSION):
            async with socks_server(added=added) as forging:
                got = [await session(port, forging.url) for _ in range(TRIES)]

            assert set(got) <= {"out-of-step", "tls", "protocol"}
