"""One exchanger of one mail domain: sessions opened, shared and renewed as it demands."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from cs.domain.mail.reply import Reply
from cs.domain.mail.reply_meaning import Kind, Meaning, meaning
from cs.verifiers.smtp.session import (
    Exchange,
    Identity,
    Limits,
    Session,
    SessionRefused,
    open_session,
)
from cs.verifiers.smtp.session_limit import Places
from cs.verifiers.smtp.wire import Lost, Note

#: More recipients than this in one session look like harvesting (docs/verifiers.md).
_RECIPIENTS = 3
#: After so many broken sessions the exchanger is left alone for the rest of the check.
_STRIKES = 2
#: Seconds after which a server that could not be reached is worth another try.
_RETRY_LOST_S = 60.0


#: Entered while a place at the exchanger is waited for: that is not its time.
Waiting = Callable[[], AbstractAsyncContextManager[None]]


class Useless(Exception):
    """The exchanger says nothing about anybody.

    Attributes:
        kind: Why, if it said so.
        why: The same as a reason: "connect", "timeout", "closed", "about-us", ...
        retry_in_s: When it may be different.
    """

    def __init__(self, why: str, said: Meaning | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_in_s = said.retry_in_s if said else _RETRY_LOST_S
        self.kind = said.kind if said else None


class Exchanger:
    """Asks one exchange about recipients; holds at most one session, in a place of *places*.

    Attributes:
        one_recipient: Learned: it takes one recipient a session.
        vouched: It has accepted somebody at this domain, so it does not refuse us.
        sifts: The session at hand has refused a name that nobody has.
    """

    def __init__(
        self,
        exchange: Exchange,
        mail_domain: str,
        identity: Identity,
        limits: Limits,
        note: Note,
        *,
        one_recipient: bool = False,
        places: Places | None = None,
        waiting: Waiting = nullcontext,
    ) -> None:
        self._places = Places(1) if places is None else places
        self._waiting = waiting
        self.exchange = exchange
        self.one_recipient = one_recipient
        self.vouched = False
        self.sifts = False
        self._mail_domain = mail_domain
        self._identity = identity
        self._limits = limits
        self._note = note
        self._session: Session | None = None
        self._room = 1 if one_recipient else _RECIPIENTS
        self._try_tls = True
        self._strikes = 0
        self._useless: Useless | None = None

    async def ask(self, address: str, *, room_for: int = 1) -> tuple[Reply, Meaning]:
        """Ask about *address*, in a session with room for *room_for* recipients.

        Raises:
            Useless: No answer to be had, now or for the rest of this check.
        """
        while True:
            session = await self._session_with(room_for)
            earlier = session.recipients
            try:
                reply = await session.rcpt(address)
            except Lost as lost:
                await self.abort()
                if earlier > 0:
                    continue  # many servers hang up after a refusal: that was not about us
                self._strikes += 1
                useless = Useless(lost.why)
                if self._strikes >= _STRIKES:
                    self._useless = useless
                raise useless from lost
            said = self._meaning(reply, address)
            if said.kind in {Kind.TOO_MANY, Kind.CLOSING}:
                await self.hang_up()
                if said.kind is Kind.TOO_MANY and earlier > 0:
                    self._room = earlier
                    self.one_recipient = earlier == 1
                if earlier > 0:
                    continue  # a session of its own, once: there *earlier* is 0
            return reply, said

    async def ask_beside(self, address: str) -> tuple[Reply, Meaning] | None:
        """Ask about *address* in the session at hand; ``None`` if that cannot be done."""
        if self._session is None or self._session.recipients >= self._room:
            return None
        try:
            reply = await self._session.rcpt(address)
        except Lost:
            await self.abort()
            return None
        said = self._meaning(reply, address)
        if said.kind in {Kind.TOO_MANY, Kind.CLOSING}:
            await self.hang_up()
        return reply, said

    async def hang_up(self) -> None:
        """End the session at hand, politely."""
        session, self._session = self._session, None
        if session is not None:
            try:
                await session.quit(self._limits.quit_s)
            finally:
                self._places.give_back(self.exchange.address)

    async def abort(self) -> None:
        """End the session at hand, at once."""
        session, self._session = self._session, None
        if session is not None:
            try:
                await session.abort()
            finally:
                self._places.give_back(self.exchange.address)

    async def _session_with(self, room_for: int) -> Session:
        if self._useless is not None:
            raise self._useless
        room_for = min(room_for, self._room)
        if self._session is not None and self._session.recipients + room_for > self._room:
            await self.hang_up()
        if self._session is None:
            self._session = await self._open()
            self.sifts = False
        return self._session

    async def _open(self) -> Session:
        try:
            return await self._dial()
        except SessionRefused as refused:
            # It has answered; knocking again in this check would not be polite.
            self._useless = Useless(refused.said.kind.value, refused.said)
            raise self._useless from refused
        except Lost as lost:
            self._useless = Useless(lost.why)
            raise self._useless from lost

    async def _dial(self) -> Session:
        try:
            return await self._open_session()
        except Lost as lost:
            if lost.why != "tls":
                raise
        self._try_tls = False  # RFC 7435: what cannot be had encrypted is had in plain
        return await self._open_session()

    async def _open_session(self) -> Session:
        address = self.exchange.address
        if self._places.free(address):
            await self._places.take(address)
        else:
            async with self._waiting():
                await self._places.take(address)
        try:
            return await open_session(
                self.exchange, self._identity, self._limits, self._note, try_tls=self._try_tls
            )
        except BaseException:
            self._places.give_back(address)
            raise

    def _meaning(self, reply: Reply, address: str) -> Meaning:
        echoed = (address, self._mail_domain, self.exchange.host, self._identity.helo)
        return meaning(reply, stage="rcpt", echoed=echoed, sender=self._identity.mail_from)
