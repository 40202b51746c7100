"""One exchanger of one mail domain: sessions opened, shared, limited and renewed as needed.

A session goes up to the point where recipients may be asked about.  Nothing here ever sends
DATA, and nothing is decided here about a mailbox.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from weakref import WeakValueDictionary

from cs.domain.mail.reply_meaning import ReplyKind, ReplyMeaning, SmtpReply, Stage, meaning
from cs.verifiers.smtp.connection import Note, NoUsableReply, SmtpConnection, connect
from cs.verifiers.smtp.identity import Identity, SmtpSettings
from cs.verifiers.smtp.mail_route import MxAddress

#: Three people and a control: more in one session look like harvesting (docs/verifiers.md).
#: A question leaves room for the control, until the session has had it.
_RECIPIENTS = 4
#: After so many broken sessions the exchanger is left alone for the rest of the check.
_MAX_BROKEN_SESSIONS = 2
#: How long the answer to QUIT may take.
_QUIT_S = 1.0
#: Some servers look things up before each answer to RCPT.
_RCPT_TAKES = 1.5
#: Replies after which a server takes no more recipients in this session.
_ENDING = frozenset({ReplyKind.TOO_MANY, ReplyKind.CLOSING})

#: Entered while other sessions of ours at the exchanger are waited for: that is not its time.
PauseTimeout = Callable[[], AbstractAsyncContextManager[None]]


class SessionLimiter:
    """Limits the sessions to each address at the same time.

    A hundred mail domains may lie behind one host, and each is asked by itself.  It holds
    nothing of an address that is not asked.

    Args:
        most: Sessions to one address, from this process.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._slots = WeakValueDictionary[str, asyncio.Semaphore]()

    def of(self, address: str) -> asyncio.Semaphore:
        """Return the semaphore of *address*, which every session there holds."""
        return self._slots.setdefault(address, asyncio.Semaphore(self._most))


class Exchanger:
    """Asks one address about recipients; holds at most one session.

    Args:
        mx: Where; its address has been judged by the guard.
        mail_domain: The domain of the recipients.
        identity: The name and sender that we give.
        settings: How long each step may take.
        note: Called with every line.
        slots: Held by each session with this address.
        pause_timeout: Entered while *slots* are waited for.
        heard: Called with what each reply was about.
        one_recipient: It takes one recipient a session, as was learned before.

    Attributes:
        one_recipient: The same, as learned by now.
        accepted: The address of this domain that it accepted: then it does not refuse us.
        refuses_unknown: The session at hand has refused a name that does not exist.
    """

    def __init__(
        self,
        mx: MxAddress,
        mail_domain: str,
        identity: Identity,
        settings: SmtpSettings,
        note: Note,
        *,
        slots: asyncio.Semaphore,
        pause_timeout: PauseTimeout,
        heard: Callable[[ReplyKind], None],
        one_recipient: bool = False,
    ) -> None:
        self.mx = mx
        self.one_recipient = one_recipient
        self.accepted: str | None = None
        self.refuses_unknown = False
        self._mail_domain = mail_domain
        self._identity = identity
        self._settings = settings
        self._note = note
        self._slots = slots
        self._pause_timeout = pause_timeout
        self._heard = heard
        self._connection: SmtpConnection | None = None
        self._recipients = 0  # of the session at hand
        self._max_recipients = 1 if one_recipient else _RECIPIENTS
        self._try_tls = True
        self._broken_sessions = 0
        self._no_reply: NoUsableReply | None = None

    async def ask(self, address: str, *, room_for: int = 1) -> tuple[SmtpReply, ReplyMeaning]:
        """Ask about *address*, in a session with room for *room_for* recipients.

        Raises:
            NoUsableReply: No answer to be had, now or for the rest of this check.
        """
        while True:
            connection = await self._session_with(room_for)
            earlier = self._recipients
            try:
                reply, found = await self._ask_in(connection, address)
            except NoUsableReply as lost:
                if earlier > 0:
                    continue  # many servers hang up after a refusal: that was not about us
                self._broken_sessions += 1
                if self._broken_sessions >= _MAX_BROKEN_SESSIONS:
                    self._no_reply = lost
                raise
            if found.kind not in _ENDING or earlier == 0:
                return reply, found
            if found.kind is ReplyKind.TOO_MANY:
                self._max_recipients = earlier
                self.one_recipient = earlier == 1
            # Again in a session of its own, once: there *earlier* is 0.

    async def ask_in_same_session(self, address: str) -> tuple[SmtpReply, ReplyMeaning] | None:
        """Ask about *address* in the session at hand; ``None`` if that cannot be done."""
        if self._connection is None or self._recipients >= self._max_recipients:
            return None
        try:
            return await self._ask_in(self._connection, address)
        except NoUsableReply:
            return None

    async def _ask_in(
        self, connection: SmtpConnection, address: str
    ) -> tuple[SmtpReply, ReplyMeaning]:
        """Ask about *address*, whose syntax has been checked."""
        self._recipients += 1
        within_s = _RCPT_TAKES * self._settings.reply_s
        try:
            reply = await connection.send(f"RCPT TO:<{address}>", within_s)
        except NoUsableReply:
            await self.abort()
            raise
        echoed = (address, self._mail_domain, self.mx.host, self._identity.helo)
        found = meaning(reply, stage="rcpt", echoed=echoed, sender=self._identity.mail_from)
        self._heard(found.kind)
        if found.kind in _ENDING:
            await self.hang_up()
        return reply, found

    async def hang_up(self) -> None:
        """End the session at hand, politely."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.quit(_QUIT_S)
            finally:
                self._slots.release()

    async def abort(self) -> None:
        """End the session at hand, at once."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.abort()
            finally:
                self._slots.release()

    async def _session_with(self, room_for: int) -> SmtpConnection:
        if self._no_reply is not None:
            raise self._no_reply
        if self._recipients + min(room_for, self._max_recipients) > self._max_recipients:
            await self.hang_up()
        if self._connection is None:
            try:
                self._connection = await self._open()
            except NoUsableReply as no_reply:
                self._no_reply = no_reply  # it is not asked again in this check
                raise
            self._recipients, self.refuses_unknown = 0, False
        return self._connection

    async def _open(self) -> SmtpConnection:
        try:
            return await self._open_session()
        except NoUsableReply as no_reply:
            if no_reply.why != "tls":
                raise
        self._try_tls = False  # RFC 7435: what cannot be had encrypted is had in plain
        return await self._open_session()

    async def _open_session(self) -> SmtpConnection:
        if self._slots.locked():
            async with self._pause_timeout():
                await self._slots.acquire()
        else:
            await self._slots.acquire()
        try:
            self._note("C", f"[connect {self.mx.host} {self.mx.address}:{self.mx.port}]")
            connection = await connect(
                self.mx.address,
                self.mx.port,
                connect_s=self._settings.connect_s,
                reply_s=self._settings.reply_s,
                note=self._note,
                proxy=self._identity.proxy,
            )
            try:
                await self._introduce(connection)
            except BaseException:
                await connection.abort()
                raise
        except BaseException:
            self._slots.release()
            raise
        return connection

    async def _introduce(self, connection: SmtpConnection) -> None:
        """Greet, encrypt if the server offers or demands it, and give MAIL FROM.

        Raises:
            NoUsableReply: The server will not have us, or made no sense; ``tls``: encryption
                failed.
        """
        self._require(await connection.read_reply(), "banner")
        offers_tls = await self._greet(connection)
        if offers_tls and self._try_tls:
            await self._encrypt(connection)
        mail = f"MAIL FROM:<{self._identity.mail_from}>"
        reply = await connection.send(mail)
        demanded = self._meaning_of(reply, "mail").kind is ReplyKind.STARTTLS
        if demanded and not connection.encrypted and await self._encrypt(connection):
            reply = await connection.send(mail)
        self._require(reply, "mail")

    async def _greet(self, connection: SmtpConnection) -> bool:
        """Say EHLO, or else HELO; return whether STARTTLS is offered."""
        reply = await connection.send(f"EHLO {self._identity.helo}")
        if reply.code // 100 == 5:  # RFC 5321, 3.2: a server without extensions
            reply = await connection.send(f"HELO {self._identity.helo}")
        self._require(reply, "helo")
        return "STARTTLS" in reply.text.upper().split()

    async def _encrypt(self, connection: SmtpConnection) -> bool:
        """Start TLS and greet again; return whether the server went along."""
        reply = await connection.send("STARTTLS")
        if reply.code != 220:
            return False
        await connection.encrypt(self.mx.host)
        await self._greet(connection)
        return True

    def _require(self, reply: SmtpReply, stage: Stage) -> None:
        if reply.code == (220 if stage == "banner" else 250):
            return
        found = self._meaning_of(reply, stage)
        if found.kind is ReplyKind.ACCEPTED:  # "221" to EHLO: out of order, not a welcome
            raise NoUsableReply("protocol")
        self._heard(found.kind)
        raise NoUsableReply(found.kind.value, found.retry_in_s)

    def _meaning_of(self, reply: SmtpReply, stage: Stage) -> ReplyMeaning:
        echoed = (self.mx.host, self.mx.address, self._identity.helo)
        return meaning(reply, stage=stage, echoed=echoed, sender=self._identity.mail_from)
