"""One TCP connection that sends commands and reads replies, and trusts nothing it reads.

Lines, replies and unread bytes are bounded, every wait has an end, and a reply that came
before its command was sent breaks the connection: an answer must never be taken for the
answer to another question.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from cs.domain.mail.reply_meaning import MalformedReply, SmtpReply, decoded, is_last, parse

#: RFC 5321, 4.5.3.1.5: a reply line is at most 512 octets.  Longer ones are heard and
#: cut, up to a length that no honest server needs.
_LINE = 512
_LONGEST_LINE = 8_192
_LINES = 100
_UNREAD = 65_536
_CLOSING_S = 1.0
#: RFC 1928, section 6: what became of the connection beyond the proxy.  1 is "general
#: failure", which is what many answer to a time-out there.
_BEYOND_PROXY = frozenset({1, 3, 4, 5, 6})

#: Seconds after which it is worth asking again, where no server named a wait.
RETRY_TIMEOUT_S = 60.0

#: Called with "C" or "S", the client or the server, and the line that it sent.
Note = Callable[[str, str], None]


class NoUsableReply(Exception):
    """No reply that says anything of a recipient, now or from this connection.

    Attributes:
        why: "connect", "proxy", "timeout", "closed", "protocol", "out-of-step" or "tls", and
            the connection is of no more use; or the kind of the refusal of all that we ask.
        retry_in_s: When it may be different.
    """

    def __init__(self, why: str, retry_in_s: float | None = RETRY_TIMEOUT_S) -> None:
        super().__init__(why)
        self.why, self.retry_in_s = why, retry_in_s


class SmtpConnection(asyncio.Protocol):
    """A connection; made by `connect`.  After `NoUsableReply` only `abort` makes sense."""

    def __init__(self, note: Note, reply_s: float) -> None:
        self._note = note
        self._reply_s = reply_s
        self._unread = bytearray()
        self._news = asyncio.Event()
        self._gone = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self._in_step = True
        self.encrypted = False

    # Called by the event loop.
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        self._news.set()
        if len(self._unread) > _UNREAD and self._transport is not None:
            self._transport.abort()

    def connection_lost(self, _error: Exception | None) -> None:
        self._gone.set()
        self._news.set()

    # Called by us.
    async def read_reply(self, within_s: float | None = None) -> SmtpReply:
        """Return the next reply, which may take *within_s*, or else what `connect` was given.

        Raises:
            NoUsableReply: None came in time, whole and well-formed.
        """
        self._in_step = False
        try:
            async with asyncio.timeout(self._reply_s if within_s is None else within_s):
                lines = [await self._line()]
                while not is_last(lines[-1]):
                    if len(lines) == _LINES:
                        raise NoUsableReply("protocol")
                    lines.append(await self._line())
            reply = parse(lines)
        except TimeoutError:
            raise NoUsableReply("timeout") from None
        except MalformedReply:
            raise NoUsableReply("protocol") from None
        self._in_step = True
        return reply

    async def send(self, command: str, within_s: float | None = None) -> SmtpReply:
        """Send *command*, which is one ASCII line, and return the reply.

        Args:
            command: Without its line end.
            within_s: As `read_reply`.

        Raises:
            NoUsableReply: As `read_reply`; or it had sent something that was not asked for.
        """
        self._write(command)
        return await self.read_reply(within_s)

    async def quit(self, within_s: float) -> None:
        """Send QUIT, wait for its reply (RFC 5321, 4.1.1.10) and drop the connection.

        Nothing is noted after QUIT, as it is about no address.
        """
        try:
            with suppress(NoUsableReply):
                self._write("QUIT")
                self._note = lambda _who, _text: None
                await self.read_reply(within_s)
        finally:
            await self.abort()

    async def encrypt(self, server_name: str) -> None:
        """Go over to TLS, whatever the other side is.

        Raises:
            NoUsableReply: The other side cannot, or had already sent more in plain.
        """
        if self._unread or self._transport is None:
            # What is injected before TLS must not count after it.
            raise NoUsableReply("out-of-step")
        loop = asyncio.get_running_loop()
        self._in_step = False
        try:
            transport = await loop.start_tls(
                self._transport,
                self,
                _any_certificate(),
                server_hostname=server_name,
                ssl_handshake_timeout=self._reply_s,
            )
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise NoUsableReply("tls") from error
        if transport is None:
            raise NoUsableReply("tls")
        self._transport = transport
        self._in_step = True
        self.encrypted = True

    async def abort(self) -> None:
        """Drop the connection and wait until it is gone."""
        if self._transport is not None:
            self._transport.abort()
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_S):
                    await self._gone.wait()

    async def _line(self) -> bytes:
        """Return the next line, at most `_LINE` bytes of it."""
        while (end := self._unread.find(b"\n")) < 0:
            if len(self._unread) > _LONGEST_LINE:
                raise NoUsableReply("protocol")
            if self._gone.is_set():
                raise NoUsableReply("closed")
            self._news.clear()
            await self._news.wait()
        if end > _LONGEST_LINE:
            raise NoUsableReply("protocol")
        line = bytes(self._unread[: min(end, _LINE)])
        del self._unread[: end + 1]
        self._note("S", decoded(line))
        return line

    def _write(self, command: str) -> None:
        if self._gone.is_set() or self._transport is None:
            raise NoUsableReply("closed")
        if self._unread or not self._in_step:
            for line in bytes(self._unread[:_LINE]).splitlines()[:3]:
                self._note("S", decoded(line))
            raise NoUsableReply("out-of-step")
        self._note("C", command)
        self._in_step = False
        self._transport.write(command.encode("ascii") + b"\r\n")


async def connect(
    address: str,
    port: int,
    *,
    connect_s: float,
    reply_s: float,
    note: Note,
    proxy: str | None = None,
) -> SmtpConnection:
    """Connect to *address*, an IP address that has been judged by the guard.

    Args:
        address: Of the server.
        port: Of the server.
        connect_s: How long that may take.
        reply_s: How long a reply may take.
        note: Called with every line.
        proxy: Of a SOCKS5 server to connect through.

    Raises:
        NoUsableReply: ``connect``, ``timeout``, ``proxy``.
    """
    loop = asyncio.get_running_loop()

    def made() -> SmtpConnection:
        return SmtpConnection(note, reply_s)

    try:
        async with asyncio.timeout(connect_s):
            if proxy is None:
                _, connection = await loop.create_connection(made, address, port)
            else:
                through = await _connect_through(proxy, address, port)
                _, connection = await loop.create_connection(made, sock=through)
    except TimeoutError:
        raise NoUsableReply("timeout") from None
    except OSError as error:
        raise NoUsableReply("connect") from error
    return connection


async def _connect_through(proxy: str, address: str, port: int) -> socket.socket:
    """Return a connection to *address* through the SOCKS5 server at *proxy* (RFC 1928).

    Raises:
        NoUsableReply: ``connect``: *address* does not answer; ``proxy``: the proxy itself
            does not, or it refuses us.
    """
    # Needed where there is a proxy only.
    from python_socks import ProxyConnectionError, ProxyError  # noqa: PLC0415
    from python_socks.async_.asyncio import Proxy  # noqa: PLC0415

    try:
        return await Proxy.from_url(proxy, rdns=False).connect(address, port)
    except ProxyConnectionError as error:
        raise NoUsableReply("proxy") from error
    except ProxyError as error:
        why = "connect" if error.error_code in _BEYOND_PROXY else "proxy"
        raise NoUsableReply(why) from error
    except OSError as error:  # it went away in the middle
        raise NoUsableReply("proxy") from error


def _any_certificate() -> ssl.SSLContext:
    """Return a TLS client that takes any certificate.

    Opportunistic TLS between mail servers (RFC 7435): most exchangers' certificates name
    another server, nothing secret is sent, and the alternative would be plain text.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
