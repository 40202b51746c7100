"""One SMTP session up to the point where recipients may be asked about.

Nothing here ever sends DATA, and nothing is decided here about a mailbox.
"""

from dataclasses import dataclass

import msgspec

from cs.domain.mail.reply import SmtpReply
from cs.domain.mail.reply_meaning import ReplyKind, ReplyMeaning, Stage, meaning
from cs.verifiers.smtp.connection import ConnectionFailed, Note, SmtpConnection, connect
from cs.verifiers.smtp.identity import Identity


class SessionRefused(Exception):
    """The server will not have us, before any recipient was named."""

    def __init__(self, stage: Stage, reply: SmtpReply, meaning: ReplyMeaning) -> None:
        super().__init__(f"{stage}: {reply.code} {reply.text}")
        self.stage, self.reply, self.meaning = stage, reply, meaning


@dataclass(frozen=True)
class SmtpTimeouts:
    """How long anything may take, in seconds.

    Some servers think for 12 s before each answer to RCPT, and are waited for: two probes, the
    person and a control are four answers.
    """

    address_s: float = 60.0  # one address, probes included
    connect_s: float = 5.0
    reply_s: float = 10.0  # half as long again after RCPT, where servers look things up
    quit_s: float = 1.0

    @property
    def rcpt_reply_s(self) -> float:
        return 1.5 * self.reply_s


class MxAddress(msgspec.Struct, frozen=True):
    """One address of a mail exchanger."""

    host: str
    address: str
    port: int


class Session:
    """A session with MAIL FROM accepted; made by `open_session`."""

    def __init__(self, connection: SmtpConnection, rcpt_reply_s: float) -> None:
        self._connection = connection
        self._rcpt_reply_s = rcpt_reply_s
        self.recipients = 0

    async def rcpt(self, address: str) -> SmtpReply:
        """Ask about *address*, whose syntax has been checked.

        Raises:
            ConnectionFailed: No answer; the session is over.
        """
        self.recipients += 1
        return await self._connection.send(f"RCPT TO:<{address}>", self._rcpt_reply_s)

    async def quit(self, within_s: float) -> None:
        """Say good-bye, and close whether or not the server answers."""
        try:
            await self._connection.quit(within_s)
        finally:
            await self._connection.abort()

    async def abort(self) -> None:
        await self._connection.abort()


async def open_session(
    mx: MxAddress, identity: Identity, timeouts: SmtpTimeouts, note: Note, *, try_tls: bool
) -> Session:
    """Connect, greet, encrypt if the server offers or demands it, and give MAIL FROM.

    Args:
        mx: Where; its address has been judged by the guard.
        identity: The name and sender that we give.
        timeouts: How long each step may take.
        note: Called with every line.
        try_tls: Whether to take up an offer of STARTTLS; a demand always is.

    Raises:
        SessionRefused: The server answered, and will not have us.
        ConnectionFailed: It did not answer, or made no sense; ``tls``: encryption failed.
    """
    note("C", f"[connect {mx.host} {mx.address}:{mx.port}]")
    connection = await connect(
        mx.address,
        mx.port,
        connect_s=timeouts.connect_s,
        reply_s=timeouts.reply_s,
        note=note,
        proxy=identity.proxy,
    )
    try:
        _accepted(await connection.read_reply(), "banner", identity, mx)
        offers_tls = await _greet(connection, identity, mx)
        if offers_tls and try_tls:
            await _encrypt(connection, identity, mx)
        mail = f"MAIL FROM:<{identity.mail_from}>"
        reply = await connection.send(mail)
        demanded = _meaning_of(reply, "mail", identity, mx).kind is ReplyKind.STARTTLS
        if demanded and not connection.encrypted and await _encrypt(connection, identity, mx):
            reply = await connection.send(mail)
        _accepted(reply, "mail", identity, mx)
    except BaseException:
        await connection.abort()
        raise
    return Session(connection, timeouts.rcpt_reply_s)


async def _greet(connection: SmtpConnection, identity: Identity, mx: MxAddress) -> bool:
    """Say EHLO, or else HELO; return whether STARTTLS is offered."""
    reply = await connection.send(f"EHLO {identity.helo}")
    if reply.code // 100 == 5:  # RFC 5321, 3.2: a server without extensions
        reply = await connection.send(f"HELO {identity.helo}")
    _accepted(reply, "helo", identity, mx)
    return "STARTTLS" in reply.text.upper().split()


async def _encrypt(connection: SmtpConnection, identity: Identity, mx: MxAddress) -> bool:
    """Start TLS and greet again; return whether the server went along."""
    reply = await connection.send("STARTTLS")
    if reply.code != 220:
        return False
    await connection.encrypt(mx.host)
    await _greet(connection, identity, mx)
    return True


def _meaning_of(
    reply: SmtpReply, stage: Stage, identity: Identity, mx: MxAddress
) -> ReplyMeaning:
    echoed = (mx.host, mx.address, identity.helo)
    return meaning(reply, stage=stage, echoed=echoed, sender=identity.mail_from)


def _accepted(reply: SmtpReply, stage: Stage, identity: Identity, mx: MxAddress) -> None:
    if reply.code != (220 if stage == "banner" else 250):
        meaning = _meaning_of(reply, stage, identity, mx)
        if meaning.kind is ReplyKind.ACCEPTED:  # "221" to EHLO: out of order, not a welcome
            raise ConnectionFailed("protocol")
        raise SessionRefused(stage, reply, meaning)
