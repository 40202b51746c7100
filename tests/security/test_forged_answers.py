"""Bytes that come before the TLS handshake are never part of an answer.

A relay on the way cannot read TLS, but it can write before TLS begins.  Every client that goes
outside is tried, direct and through the proxies that it takes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import certifi
import pytest

from cs.client import AsyncClient, Client, ClientError
from cs.client.retries import NO_RETRIES
from cs.outside.port import Unreachable
from cs.verifiers.smtp.connection import NoUsableReply
from cs.verifiers.smtp.exchanger import Exchanger
from cs.verifiers.smtp.identity import Identity, SmtpSettings
from cs.verifiers.smtp.mail_route import MxAddress
from harness.clients import certificates, guarded_client, trusted_client
from outside.loopback_web import Zone, pages, serve
from security.relay import relay
from verifiers.smtp.smtp_servers import Script, people, smtp_server
from verifiers.smtp.socks_server import socks_server

KEY = "cs_live_x"
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
    monkeypatch.setenv("SSL_CERT_FILE", str(made.ca_file))  # comes first, by way of a proxy
    return made


async def configured(port: int) -> str:
    async with trusted_client() as client:
        return (await client.get(f"https://localhost:{port}/")).body.decode()


async def found(port: int) -> str:
    names = Zone({"localhost": [("127.0.0.1",)], "localhost.test": [("127.0.0.1",)]})
    async with guarded_client(names, "127.0.0.0/8", web_ports=(port, port)) as client:
        return (await client.get("https://localhost.test/")).body.decode()


async def library(port: int) -> str:
    async with AsyncClient(f"https://localhost:{port}/v1", KEY, patience=NO_RETRIES) as client:
        return str(await client.usage())


async def blocking_library(port: int) -> str:
    def ask() -> str:
        with Client(f"https://localhost:{port}/v1", KEY, patience=NO_RETRIES) as client:
            return str(client.usage())

    return await asyncio.to_thread(ask)


Ask = Callable[[int], Awaitable[str]]
DIRECT = [configured, found, library, blocking_library]
OK = pages({"/": HONEST, "/v1/usage": HONEST, "/robots.txt": (404, {}, b"")})


async def answers(ask: Ask, port: int, times: int) -> list[str]:
    """Return what *ask* was answered; the kind of the error where it was not."""

    async def one() -> str:
        try:
            return await ask(port)
        except (Unreachable, ClientError) as error:
            return repr(error)

    return [await one() for _ in range(times)]


@pytest.mark.parametrize("ask", DIRECT)
async def test_no_client_accepts_an_answer_from_before_tls(ask: Ask, authority: Any) -> None:
    tls = authority.context(["localhost", "localhost.test"])
    async with (
        serve(OK, tls=tls) as web,
        relay(web.port) as honest,
        relay(web.port, at_once=ANSWER) as forging,
    ):
        assert "9" in (await answers(ask, honest, 1))[0]
        got = await answers(ask, forging, TRIES)

    assert not [each for each in got if "666" in each]


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
