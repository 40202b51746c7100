"""One exchanger of one mail domain: sessions opened, shared, limited and renewed as needed."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from cs.domain.mail.reply import SmtpReply
from cs.domain.mail.reply_meaning import ReplyKind, ReplyMeaning, meaning
from cs.verifiers.smtp.connection import ConnectionFailed, Note
from cs.verifiers.smtp.identity import Identity
from cs.verifiers.smtp.session import (
    MxAddress,
    Session,
    SessionRefused,
    SmtpTimeouts,
    open_session,
)

#: Three people and a control: more in one session look like harvesting (docs/verifiers.md).
#: A question leaves room for the control, until the session has had it.
_RECIPIENTS = 4
#: After so many broken sessions the exchanger is left alone for the rest of the check.
_MAX_BROKEN_SESSIONS = 2

#: Seconds after which it is worth asking again, where no server named a wait.
RETRY_TIMEOUT_S = 60.0

#: Entered while other sessions of ours at the exchanger are waited for: that is not its time.
PauseTimeout = Callable[[], AbstractAsyncContextManager[None]]


class NoUsableReply(Exception):
    """The exchanger gives no reply about any recipient.

    Attributes:
        why: A reason: one of `cs.verifiers.smtp.verdict.SILENT`, or the kind of its refusal.
        retry_in_s: When it may be different.
    """

    def __init__(self, why: str, meaning: ReplyMeaning | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_in_s = meaning.retry_in_s if meaning else RETRY_TIMEOUT_S


class SessionLimiter:
    """Sessions at most to each address at once; who wants one more waits.

    A hundred mail domains may lie behind one host, and each is asked by itself.  Holds
    nothing of an address that is not asked.

    Args:
        most: Sessions at once to one address, from this process.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._users: dict[str, int] = {}

    def has_room(self, address: str) -> bool:
        """Return whether a session to *address* may begin at once."""
        semaphore = self._semaphores.get(address)
        return semaphore is None or not semaphore.locked()

    async def acquire(self, address: str) -> None:
        """Wait until a session to *address* may begin; `release` it when it has ended."""
        semaphore = self._semaphores.setdefault(address, asyncio.Semaphore(self._most))
        self._users[address] = self._users.get(address, 0) + 1
        try:
            await semaphore.acquire()
        except BaseException:
            self._forget_if_unused(address)
            raise

    def release(self, address: str) -> None:
        self._semaphores[address].release()
        self._forget_if_unused(address)

    def __len__(self) -> int:
        return len(self._semaphores)

    def _forget_if_unused(self, address: str) -> None:
        self._users[address] -= 1
        if not self._users[address]:
            del self._users[address], self._semaphores[address]


class Exchanger:
    """Asks one address about recipients; holds at most one session, which *limiter* grants.

    Args:
        heard: Called with what each reply was about.

    Attributes:
        one_recipient: Learned: it takes one recipient a session.
        accepted: The address of this domain that it accepted: then it does not refuse us.
        refuses_unknown: The session at hand has refused a name that does not exist.
    """

    def __init__(
        self,
        mx: MxAddress,
        mail_domain: str,
        identity: Identity,
        timeouts: SmtpTimeouts,
        note: Note,
        *,
        one_recipient: bool = False,
        limiter: SessionLimiter | None = None,
        pause_timeout: PauseTimeout = nullcontext,
        heard: Callable[[ReplyKind], None] = lambda _: None,
    ) -> None:
        self._heard = heard
        self._limiter = SessionLimiter(1) if limiter is None else limiter
        self._pause_timeout = pause_timeout
        self.mx = mx
        self.one_recipient = one_recipient
        self.accepted: str | None = None
        self.refuses_unknown = False
        self._mail_domain = mail_domain
        self._identity = identity
        self._timeouts = timeouts
        self._note = note
        self._session: Session | None = None
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
            session = await self._session_with(room_for)
            earlier = session.recipients
            try:
                reply = await session.rcpt(address)
            except ConnectionFailed as failed:
                await self.abort()
                if earlier > 0:
                    continue  # many servers hang up after a refusal: that was not about us
                self._broken_sessions += 1
                no_reply = NoUsableReply(failed.why)
                if self._broken_sessions >= _MAX_BROKEN_SESSIONS:
                    self._no_reply = no_reply
                raise no_reply from failed
            meaning = self._meaning(reply, address)
            if meaning.kind in {ReplyKind.TOO_MANY, ReplyKind.CLOSING}:
                await self.hang_up()
                if meaning.kind is ReplyKind.TOO_MANY and earlier > 0:
                    self._max_recipients = earlier
                    self.one_recipient = earlier == 1
                if earlier > 0:
                    continue  # a session of its own, once: there *earlier* is 0
            return reply, meaning

    async def ask_in_same_session(self, address: str) -> tuple[SmtpReply, ReplyMeaning] | None:
        """Ask about *address* in the session at hand; ``None`` if that cannot be done."""
        if self._session is None or self._session.recipients >= self._max_recipients:
            return None
        try:
            reply = await self._session.rcpt(address)
        except ConnectionFailed:
            await self.abort()
            return None
        meaning = self._meaning(reply, address)
        if meaning.kind in {ReplyKind.TOO_MANY, ReplyKind.CLOSING}:
            await self.hang_up()
        return reply, meaning

    async def hang_up(self) -> None:
        """End the session at hand, politely."""
        session, self._session = self._session, None
        if session is not None:
            try:
                await session.quit(self._timeouts.quit_s)
            finally:
                self._limiter.release(self.mx.address)

    async def abort(self) -> None:
        """End the session at hand, at once."""
        session, self._session = self._session, None
        if session is not None:
            try:
                await session.abort()
            finally:
                self._limiter.release(self.mx.address)

    async def _session_with(self, room_for: int) -> Session:
        if self._no_reply is not None:
            raise self._no_reply
        room_for = min(room_for, self._max_recipients)
        if (
            self._session is not None
            and self._session.recipients + room_for > self._max_recipients
        ):
            await self.hang_up()
        if self._session is None:
            self._session = await self._open()
            self.refuses_unknown = False
        return self._session

    async def _open(self) -> Session:
        try:
            return await self._dial()
        except SessionRefused as refused:
            # It has answered; it is not asked again in this check.
            self._heard(refused.meaning.kind)
            self._no_reply = NoUsableReply(refused.meaning.kind.value, refused.meaning)
            raise self._no_reply from refused
        except ConnectionFailed as failed:
            self._no_reply = NoUsableReply(failed.why)
            raise self._no_reply from failed

    async def _dial(self) -> Session:
        try:
            return await self._open_session()
        except ConnectionFailed as failed:
            if failed.why != "tls":
                raise
        self._try_tls = False  # RFC 7435: what cannot be had encrypted is had in plain
        return await self._open_session()

    async def _open_session(self) -> Session:
        address = self.mx.address
        if self._limiter.has_room(address):
            await self._limiter.acquire(address)
        else:
            async with self._pause_timeout():
                await self._limiter.acquire(address)
        try:
            return await open_session(
                self.mx, self._identity, self._timeouts, self._note, try_tls=self._try_tls
            )
        except BaseException:
            self._limiter.release(address)
            raise

    def _meaning(self, reply: SmtpReply, address: str) -> ReplyMeaning:
        echoed = (address, self._mail_domain, self.mx.host, self._identity.helo)
        found = meaning(reply, stage="rcpt", echoed=echoed, sender=self._identity.mail_from)
        self._heard(found.kind)
        return found
