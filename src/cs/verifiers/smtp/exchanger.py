"""One exchanger of one mail domain: sessions opened, shared and renewed as it demands."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from cs.domain.mail.reply import SmtpReply
from cs.domain.mail.reply_meaning import ReplyKind, ReplyMeaning, meaning
from cs.verifiers.smtp.connection import Note
from cs.verifiers.smtp.errors import ConnectionFailed, NoUsableReply, SessionRefused
from cs.verifiers.smtp.identity import Identity
from cs.verifiers.smtp.session import MxAddress, Session, SmtpTimeouts, open_session
from cs.verifiers.smtp.session_limit import SessionLimiter

#: Three people and a control: more in one session look like harvesting (docs/verifiers.md).
#: Who asks leaves room for the control, until the session has had it.
_RECIPIENTS = 4
#: After so many broken sessions the exchanger is left alone for the rest of the check.
_MAX_BROKEN_SESSIONS = 2


#: Entered while other sessions of ours at the exchanger are waited for: that is not its time.
PauseTimeout = Callable[[], AbstractAsyncContextManager[None]]


class Exchanger:
    """Asks one address about recipients; holds at most one session, which *limiter* grants.

    The reply to QUIT is heard while the next session is opened, as the place in *limiter*
    allows (Postfix does not wait for it at all: ``smtp_skip_quit_response``); RFC 5321,
    4.1.1.10.

    Args:
        heard: Called with what each reply was about.

    Attributes:
        one_recipient: Learned: it takes one recipient a session.
        accepted: Who of this domain it has accepted: then it does not refuse us.
        refuses_unknown: The session at hand has refused a name that nobody has.
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
        self._goodbye: asyncio.Task[None] | None = None
        self._one_session = False  # it takes no second one while it says good-bye
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
        """End the session at hand, politely; its good-bye is not waited for."""
        if self._session is None:
            return
        await self._hear_goodbye()  # first: who is cancelled here leaves the session to `abort`
        session, self._session = self._session, None
        session.say_goodbye()
        self._goodbye = asyncio.create_task(session.close(self._timeouts.quit_s))
        self._goodbye.add_done_callback(self._release)
        if self._one_session:
            await self._hear_goodbye()

    async def close(self) -> None:
        """End the session at hand, politely, and wait until it is over."""
        await self.hang_up()
        await self._hear_goodbye()

    async def abort(self) -> None:
        """End the session at hand, at once."""
        session, self._session = self._session, None
        try:
            if session is not None:
                await session.abort()
        finally:
            if session is not None:
                self._release()
        await self._hear_goodbye()

    def _release(self, _goodbye: object = None) -> None:
        self._limiter.release(self.mx.address)

    async def _hear_goodbye(self) -> None:
        """Wait until the session that was ended before is over: a second at most."""
        if self._goodbye is not None:
            await asyncio.wait([self._goodbye])
            self._goodbye = None

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
            return await self._dial_after_goodbye()
        except SessionRefused as refused:
            # It has answered; knocking again in this check would not be polite.
            self._heard(refused.meaning.kind)
            self._no_reply = NoUsableReply(refused.meaning.kind.value, refused.meaning)
            raise self._no_reply from refused
        except ConnectionFailed as failed:
            self._no_reply = NoUsableReply(failed.why)
            raise self._no_reply from failed

    async def _dial_after_goodbye(self) -> Session:
        """Dial while the good-bye is heard; who takes one session at once is dialled again."""
        if self._goodbye is None or self._goodbye.done():
            return await self._dial()
        try:
            return await self._dial()
        except SessionRefused as refused:
            if refused.stage != "banner":
                raise
        except ConnectionFailed as failed:
            if failed.why not in {"connect", "closed"}:
                raise
        self._one_session = True
        await self._hear_goodbye()
        return await self._dial()

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
