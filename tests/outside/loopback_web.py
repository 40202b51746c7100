"""Real HTTP and HTTPS servers on loopback addresses, and a certificate authority."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cs.outside.port import MailHosts
from harness.loopback_server import loopback_server


@dataclass(frozen=True)
class WebRequest:
    """One request as a server heard it."""

    path: str  # with its query
    headers: Mapping[str, str]  # names and values in lower case
    method: str = "GET"
    body: bytes = b""


@dataclass
class Web:
    """What a server heard, and where it is."""

    address: str
    port: int
    asked: list[WebRequest] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    def paths(self, *, robots: bool = False) -> list[str]:
        return [a.path for a in self.asked if robots or a.path != "/robots.txt"]


#: Writes one whole answer, status line included.
Answer = Callable[[WebRequest, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serve(
    answer: Answer,
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Web]:
    """Serve *answer*, one request a connection."""
    web = Web(address, port)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = WebRequest(first.split()[1], headers, first.split()[0], body)
        web.asked.append(asked)
        web.at_once += 1
        web.most_at_once = max(web.most_at_once, web.at_once)
        try:
            await answer(asked, writer)
            await writer.drain()
        finally:
            web.at_once -= 1

    async with loopback_server(talk, address, port, tls=tls) as web.port:
        yield web


def reply(
    writer: asyncio.StreamWriter,
    body: bytes = b"",
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Write a whole answer."""
    fields = {"content-length": str(len(body)), "connection": "close"} | dict(headers or {})
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode("latin-1") + body)


#: A body of HTML, or status, headers and body.
Page = bytes | tuple[int, Mapping[str, str], bytes]


def pages(table: Mapping[str, Page]) -> Answer:
    """Answer by path; what is not in *table* is a 404."""

    async def answer(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
        match table.get(asked.path.partition("?")[0]):
            case None:
                reply(writer, b"no such page", status=404)
            case bytes(body):
                reply(writer, body, headers={"content-type": "text/html; charset=utf-8"})
            case (status, headers, body):
                reply(writer, body, status=status, headers=headers)

    return answer


class Zone:
    """A resolver that knows the names given.

    Several tuples for one name are the answers to one question after the other; the last
    one stays.
    """

    def __init__(self, names: Mapping[str, list[tuple[str, ...]]]) -> None:
        self._names = {name: list(answers) for name, answers in names.items()}
        self.asked: list[str] = []

    async def addresses(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        answers = self._names.get(host, [()])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def mail_hosts(self, domain: str) -> MailHosts:
        raise NotImplementedError(domain)
