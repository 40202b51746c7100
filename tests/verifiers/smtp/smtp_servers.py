"""Mail servers on loopback that do as a script says, good and bad."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cs.sandbox.certificates import Authority
from harness.loopback_server import loopback_server

OK = "250 2.1.5 Ok"
NO_SUCH_USER = "550 5.1.1 <{}>: Recipient address rejected: User unknown"


@dataclass(frozen=True)
class Hostile:
    """A reply that is none: raw bytes, over and over, before the connection is shut."""

    raw: bytes = b""
    times: int = 1
    shut: bool = True


@dataclass(frozen=True)
class Thinks:
    """A reply that comes only after some time."""

    reply: str
    seconds: float


@dataclass(frozen=True)
class Waits:
    """A reply that comes only after something else has happened."""

    reply: str
    until: asyncio.Event


SILENCE = Hostile(shut=False)
CLOSE = Hostile()

Reply = str | Hostile | Thinks | Waits


@dataclass(frozen=True)
class Rcpt:
    """One RCPT: whose, and how many this session (from 1) and this server has had."""

    address: str
    in_session: int
    session: int  # from 1
    encrypted: bool
    seen_before: bool  # this very address, in an earlier session

    @property
    def local(self) -> str:
        return self.address.rpartition("@")[0]


Answer = Callable[[Rcpt], Reply]


@dataclass(frozen=True)
class Script:
    """What a server says to each command."""

    rcpt: Answer
    banner: Reply = "220 mx.test ESMTP"
    ehlo: Reply = "250-mx.test\n250-PIPELINING\n250 SIZE 10240000"
    helo: Reply = "250 mx.test"
    mail: Reply = "250 2.1.0 Ok"
    quit: Reply = "221 2.0.0 Bye"
    starttls: Reply = "220 2.0.0 Ready to start TLS"
    handshake: bool = True
    mail_needs_tls: str | None = None
    at_once: int | None = None  # sessions; the banner of one more is 421


def people(*locals_: str, refusal: str = NO_SUCH_USER) -> Answer:
    """Accept these local parts, refuse all others."""

    def answer(rcpt: Rcpt) -> Reply:
        return OK if rcpt.local in locals_ else refusal.format(rcpt.address)

    return answer


def said_to(known: dict[str, str], others: Reply = NO_SUCH_USER) -> Answer:
    """Give each local part the reply in *known*; all others *others*."""

    def answer(rcpt: Rcpt) -> Reply:
        reply = known.get(rcpt.local, others)
        return reply.format(rcpt.address) if isinstance(reply, str) else reply

    return answer


class ServerRecord:
    """What a server was asked, session by session, and how many sessions it had at once."""

    def __init__(self) -> None:
        self.sessions: list[list[str]] = []
        self.encrypted: list[bool] = []
        self.seen: set[str] = set()
        self.most = 0
        self._ended = 0
        self._news = asyncio.Condition()
        self.address = ""

    async def one_over(self) -> None:
        async with self._news:
            self._ended += 1
            self._news.notify_all()

    async def all_over(self) -> None:
        """Wait until every session that was begun has ended."""
        async with self._news:
            await self._news.wait_for(lambda: self._ended == len(self.sessions))

    @property
    def open(self) -> int:
        return len(self.sessions) - self._ended

    @property
    def commands(self) -> list[str]:
        return [command for session in self.sessions for command in session]

    def recipients(self) -> list[list[str]]:
        return [
            [c.split("<")[1].rstrip(">") for c in session if c.startswith("RCPT")]
            for session in self.sessions
        ]


class _Conversation:
    def __init__(
        self,
        script: Script,
        heard: ServerRecord,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.script, self.heard, self.reader, self.writer = script, heard, reader, writer
        self.said: list[str] = []
        heard.sessions.append(self.said)
        heard.encrypted.append(False)
        heard.most = max(heard.most, heard.open)
        self.number = len(heard.sessions)
        self.recipients = 0
        self.encrypted = False

    async def run(self) -> None:
        if self.script.at_once is not None and self.heard.open > self.script.at_once:
            await self._give("421 4.7.0 Too many concurrent connections from you")
            return
        await self._give(self.script.banner)
        while line := await self.reader.readline():
            command = line.decode().rstrip("\r\n")
            self.said.append(command)
            await self._give(self._reply(command))
            if command == "STARTTLS" and str(self.script.starttls).startswith("220"):
                await self._start_tls()
            if command == "QUIT" and self.script.quit != SILENCE:
                return

    def _reply(self, command: str) -> Reply:
        script = self.script
        match command.split(maxsplit=1)[0].upper():
            case "EHLO":
                return script.ehlo
            case "HELO":
                return script.helo
            case "STARTTLS":
                return script.starttls
            case "MAIL":
                if script.mail_needs_tls and not self.encrypted:
                    return script.mail_needs_tls
                return script.mail
            case "RCPT":
                return self._rcpt(command.split("<")[1].rstrip(">"))
            case "QUIT":
                return script.quit
            case _:
                return "500 5.5.2 what?"

    def _rcpt(self, address: str) -> Reply:
        self.recipients += 1
        before = address in self.heard.seen
        self.heard.seen.add(address)
        return self.script.rcpt(
            Rcpt(address, self.recipients, self.number, self.encrypted, before)
        )

    async def _give(self, reply: Reply) -> None:
        if isinstance(reply, Thinks):
            with suppress(TimeoutError):
                async with asyncio.timeout(reply.seconds):
                    await self.reader.read()  # until the client gives up
            reply = reply.reply
        if isinstance(reply, Waits):
            await reply.until.wait()
            reply = reply.reply
        if isinstance(reply, Hostile):
            for _ in range(reply.times):
                self.writer.write(reply.raw)
                await self.writer.drain()
            if reply.shut:
                raise ConnectionAbortedError
            return
        self.writer.write(reply.replace("\n", "\r\n").encode() + b"\r\n")
        await self.writer.drain()

    async def _start_tls(self) -> None:
        if not self.script.handshake:
            raise ConnectionAbortedError
        await self.writer.start_tls(_server_side())
        self.encrypted = True
        self.heard.encrypted[self.number - 1] = True


@asynccontextmanager
async def smtp_server(
    script: Script, address: str = "127.77.25.1", port: int = 0
) -> AsyncIterator[tuple[ServerRecord, int]]:
    """Serve *script*; gives what it hears, and its port."""
    heard = ServerRecord()
    heard.address = address

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ValueError):
                await _Conversation(script, heard, reader, writer).run()
        finally:
            await heard.one_over()
            writer.transport.abort()

    async with loopback_server(talk, address, port) as listens_at:
        yield heard, listens_at


@cache
def _server_side() -> ssl.SSLContext:
    """Return a TLS server whose certificate nobody trusts and names somebody else."""
    with tempfile.TemporaryDirectory() as folder:
        return Authority(Path(folder)).context(["someone.else.test"])
