"""One SMTP session up to the point where recipients may be asked about.

Nothing here ever sends DATA, and nothing is decided here about a mailbox.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from cs.domain.mail.reply import Reply
from cs.domain.mail.reply_meaning import Kind, Meaning, Stage, meaning
from cs.verifiers.smtp.wire import Lost, Note, Wire, dial


@dataclass(frozen=True)
class Identity:
    """Who we are to the other side.

    Attributes:
        helo: Our host name; its A and PTR records should be those of our address.
        mail_from: A mailbox of a domain of ours, with SPF; empty for ``<>``.
    """

    helo: str
    mail_from: str


@dataclass(frozen=True)
class Limits:
    """How long anything may take, in seconds."""

    address_s: float = 25.0  # one address, probes included
    connect_s: float = 5.0
    reply_s: float = 10.0
    quit_s: float = 1.0


@dataclass(frozen=True)
class Exchange:
    """One address of a mail exchanger."""

    host: str
    address: str
    port: int


class SessionRefused(Exception):
    """The server will not have us, before any recipient was named."""

    def __init__(self, stage: Stage, reply: Reply, said: Meaning) -> None:
        super().__init__(f"{stage}: {reply.code} {reply.text}")
        self.stage, self.reply, self.said = stage, reply, said


class Session:
    """A session with MAIL FROM accepted; made by `open_session`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.recipients = 0

    async def rcpt(self, address: str) -> Reply:
        """Ask about *address*, whose syntax has been checked.

        Raises:
            Lost: No answer; the session is over.
        """
        self.recipients += 1
        return await self._wire.ask(f"RCPT TO:<{address}>")

    async def quit(self, within_s: float) -> None:
        """Say good-bye; whether the server answers does not matter."""
        try:
            with suppress(Lost, TimeoutError):
                async with asyncio.timeout(within_s):
                    await self._wire.ask("QUIT")
        finally:
            await self._wire.abort()

    async def abort(self) -> None:
        await self._wire.abort()


async def open_session(
    exchange: Exchange, identity: Identity, limits: Limits, note: Note, *, try_tls: bool
) -> Session:
    """Connect, greet, encrypt if the server offers or demands it, and give MAIL FROM.

    Args:
        exchange: Where; its address has been judged by the guard.
        identity: Who we say we are.
        limits: How long each step may take.
        note: Told every line.
        try_tls: Whether to take up an offer of STARTTLS; a demand always is.

    Raises:
        SessionRefused: The server answered, and will not have us.
        Lost: It did not answer, or made no sense; ``tls`` if it was encryption that failed.
    """
    note("C", f"[connect {exchange.host} {exchange.address}:{exchange.port}]")
    wire = await dial(
        exchange.address,
        exchange.port,
        connect_s=limits.connect_s,
        reply_s=limits.reply_s,
        note=note,
    )
    try:
        _accepted(await wire.read_reply(), "banner", identity, exchange)
        offers_tls = await _greet(wire, identity, exchange)
        if offers_tls and try_tls:
            await _encrypt(wire, identity, exchange)
        mail = f"MAIL FROM:<{identity.mail_from}>"
        reply = await wire.ask(mail)
        demanded = _said(reply, "mail", identity, exchange).kind is Kind.STARTTLS
        if demanded and not wire.encrypted and await _encrypt(wire, identity, exchange):
            reply = await wire.ask(mail)
        _accepted(reply, "mail", identity, exchange)
    except BaseException:
        await wire.abort()
        raise
    return Session(wire)


async def _greet(wire: Wire, identity: Identity, exchange: Exchange) -> bool:
    """Say EHLO, or else HELO; return whether STARTTLS is offered."""
    reply = await wire.ask(f"EHLO {identity.helo}")
    if reply.code // 100 == 5:  # RFC 5321, 3.2: a server without extensions
        reply = await wire.ask(f"HELO {identity.helo}")
    _accepted(reply, "helo", identity, exchange)
    return "STARTTLS" in reply.text.upper().split()


async def _encrypt(wire: Wire, identity: Identity, exchange: Exchange) -> bool:
    """Start TLS and greet again; return whether the server went along."""
    reply = await wire.ask("STARTTLS")
    if reply.code != 220:
        return False
    await wire.encrypt(exchange.host)
    await _greet(wire, identity, exchange)
    return True


def _said(reply: Reply, stage: Stage, identity: Identity, exchange: Exchange) -> Meaning:
    echoed = (exchange.host, exchange.address, identity.helo)
    return meaning(reply, stage=stage, echoed=echoed, sender=identity.mail_from)


def _accepted(reply: Reply, stage: Stage, identity: Identity, exchange: Exchange) -> None:
    if reply.code != (220 if stage == "banner" else 250):
        said = _said(reply, stage, identity, exchange)
        if said.kind is Kind.ACCEPTED:  # "221" to EHLO: out of order, not a welcome
            raise Lost("protocol")
        raise SessionRefused(stage, reply, said)
