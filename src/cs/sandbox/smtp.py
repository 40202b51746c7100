"""Mail servers of the world: one SMTP conversation a connection, never any mail.

All mail hosts share one port; which one is meant follows from the address that was
connected to.  Wordings are those of real servers (Postfix, Exim, Exchange), addresses echoed
as they do; the codes are RFC 5321 section 4.2 and RFC 3463.
"""

import asyncio
import math
import re
import ssl
from collections.abc import Callable, Mapping

import msgspec

from cs.sandbox.listening import Sleep
from cs.sandbox.mail_behaviour import (
    Behaviour,
    Busy,
    CatchAll,
    Disabled,
    Full,
    Greylisting,
    MailboxState,
    OneRecipient,
    RefusesUs,
    Silent,
    Slow,
    StarttlsOnly,
)

_MAX_WAITING = 10_000
#: How long a greylisting server remembers a client; Postgrey's --max-age is 35 days.
_REMEMBERED_S = 30 * 86_400.0


#: By state of a mailbox, its reply to RCPT; it names address and client.
_RCPT: Mapping[MailboxState, str] = {
    "open": "250 2.1.5 Ok",
    "absent": (
        "550 5.1.1 <{address}>: Recipient address rejected: "
        "User unknown in virtual mailbox table"
    ),
    "full": "452 4.2.2 <{address}>: Mailbox is full, please try again later",
    "over_quota": "552 5.2.2 <{address}>: Mailbox is over its quota",
    "disabled": "550 5.2.1 <{address}>: The e-mail account is disabled",
    "refuses_us": (
        "550 5.7.1 <{address}>: Recipient address rejected: "
        "client host [{client}] is blocked by our policy"
    ),
    "too_fast": (
        "450 4.2.1 <{address}>: The user is receiving mail at a rate that prevents "
        "additional messages from being delivered"
    ),
}


class Mailboxes:
    """The mailboxes of one mail domain and what its servers remember of clients."""

    def __init__(
        self, domain: str, states: dict[str, MailboxState], clock: Callable[[], float]
    ) -> None:
        self.domain = domain
        self._states: dict[str, MailboxState] = {"postmaster": "open", **states}
        self._clock = clock
        self._first_seen: dict[tuple[str, ...], float] = {}

    def recipient(
        self, behaviour: Behaviour, address: str, client: str, mail_from: str, nth: int
    ) -> str:
        """Answer RCPT for *address*, the *nth* of its session, counted from 1.

        Args:
            behaviour: Of the server.
            address: The recipient.
            client: The address of who asks.
            mail_from: Their MAIL FROM.
            nth: Its place.
        """
        state = self.state(behaviour, address)
        match behaviour:
            case RefusesUs(at="rcpt"):
                state = "refuses_us"
            case OneRecipient() if nth > 1:
                return "452 4.5.3 Error: too many recipients in this session"
            case Greylisting() if left := self._wait(behaviour, address, client, mail_from):
                return (
                    f"451 4.7.1 <{address}>: Recipient address rejected: Greylisted, "
                    f"please try again in {math.ceil(left)} seconds"
                )
            case _:
                pass
        return _RCPT[state].format(address=address, client=client)

    def is_mute(self, behaviour: Behaviour, client: str) -> bool:
        """Say whether a server would say nothing at all to *client*."""
        match behaviour:
            case Silent():
                return True
            case Greylisting(then="silent", hint_s=hint_s):
                now = self._clock()
                seen = [at for key, at in self._first_seen.items() if key[0] == client]
                return any(hint_s <= now - at < _REMEMBERED_S for at in seen)
            case _:
                return False

    def state(self, behaviour: Behaviour, address: str) -> MailboxState:
        """Return the state of *address* at a server of that behaviour."""
        local = address.rpartition("@")[0].casefold()
        state = self._states.get(local, "absent")
        match behaviour:
            case CatchAll() if state == "absent":
                return "open"
            case Full(code=code) if state == "open" and local != "postmaster":
                return "full" if code == 452 else "over_quota"
            case Disabled() if state == "open" and local != "postmaster":
                return "disabled"
            case _:
                return state

    def _wait(self, behaviour: Greylisting, address: str, client: str, mail_from: str) -> float:
        """Return how many seconds are left to wait, 0 once they have gone by."""
        key: tuple[str, ...] = (client,)
        if behaviour.remembers == "recipient":
            key = (client, mail_from, address.casefold())
        now = self._clock()
        if key not in self._first_seen and len(self._first_seen) >= _MAX_WAITING:
            self._first_seen.pop(next(iter(self._first_seen)))
        if now - self._first_seen.setdefault(key, now) >= _REMEMBERED_S:
            self._first_seen[key] = now
        return max(0.0, self._first_seen[key] + behaviour.hint_s - now)


_IDLE_S = 300.0  # RFC 5321 section 4.5.3.2.7: at least five minutes
_MAX_LINE = 1_000
_MAX_COMMANDS = 200
#: Replies that are the same at any time. DATA is always refused: no mail is ever taken.
_ALWAYS = {
    "DATA": "554 5.3.2 This server takes no mail",
    "BDAT": "554 5.3.2 This server takes no mail",
    "RSET": "250 2.0.0 Ok",
    "NOOP": "250 2.0.0 Ok",
    "VRFY": "252 2.5.2 Cannot say; try RCPT",
    "EXPN": "252 2.5.2 Cannot say; try RCPT",
    "QUIT": "221 2.0.0 Bye",
    "TOO-LONG": "500 5.5.2 Line too long",
    "IDLE": "421 4.4.2 Time-out",
}
_UNKNOWN = "502 5.5.2 Command not recognized"
_PATH = re.compile(r"^(?:FROM|TO):\s*<([^<>\s]*)>(?:\s.*)?$", re.IGNORECASE)


class MailServer(msgspec.Struct, frozen=True):
    """One mail host of one mail domain, or the domain's own address if it has no MX."""

    host: str
    behaviour: Behaviour
    mailboxes: Mailboxes


class MailServers:
    """Every mail host that listens, by its address."""

    def __init__(
        self,
        by_address: Mapping[str, MailServer],
        tls: ssl.SSLContext,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._by_address = by_address
        self._tls = tls
        self._sleep = sleep

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = self._by_address[writer.get_extra_info("sockname")[0]]
        await SmtpSession(server, self._tls, self._sleep, reader, writer).run()


class SmtpSession:
    """One connection, from the banner to QUIT."""

    def __init__(
        self,
        server: MailServer,
        tls: ssl.SSLContext,
        sleep: Sleep,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._server = server
        self._tls = tls
        self._sleep = sleep
        self._reader = reader
        self._writer = writer
        self._client = str(writer.get_extra_info("peername")[0])
        self._secure = False
        self._greeted = False
        self._mail_from: str | None = None
        self._recipients = 0  # of the session: RSET does not make more room

    async def run(self) -> None:
        server = self._server
        if server.mailboxes.is_mute(server.behaviour, self._client):
            await self._until_gone()
            return
        if isinstance(server.behaviour, Busy):
            await self._say(f"421 4.3.2 {server.host} Service busy, try again later")
            return
        if server.behaviour == RefusesUs(at="banner"):
            await self._say(
                f"554 5.7.1 {server.host} Your access to this mail system "
                f"from [{self._client}] was rejected"
            )
            return
        await self._say(f"220 {server.host} ESMTP ready")
        for _ in range(_MAX_COMMANDS):
            verb, rest = await self._command()
            if verb == "STARTTLS":
                await self._start_tls()
                continue
            replies = self._answer(verb, rest)
            await self._say(*replies)
            if replies[-1].startswith(("221", "421")):
                return
        await self._say(f"421 4.7.0 {server.host} Too many commands")

    def _answer(self, verb: str, rest: str) -> list[str]:
        match verb:
            case "EHLO":
                return self._hello()
            case "HELO":
                self._greeted, self._mail_from = True, None
                return [(f"250 {self._server.host}")]
            case "MAIL":
                return [self._mail(rest)]
            case "RCPT":
                return [self._rcpt(rest)]
            case "RSET":
                self._mail_from = None
            case _:
                pass
        return [_ALWAYS.get(verb, _UNKNOWN)]

    def _hello(self) -> list[str]:
        self._greeted, self._mail_from = True, None
        offers = ["PIPELINING", "SIZE 10485760", "ENHANCEDSTATUSCODES", "8BITMIME"]
        if self._must_secure():
            offers.insert(0, "STARTTLS")
        return [f"250 {text}" for text in (self._server.host, *offers)]

    def _mail(self, rest: str) -> str:
        if not self._greeted:
            return "503 5.5.1 Error: send HELO/EHLO first"
        if self._must_secure():
            return "530 5.7.0 Must issue a STARTTLS command first"
        if self._mail_from is not None:
            return "503 5.5.1 Error: nested MAIL command"
        if (path := _PATH.match(rest)) is None:
            return "501 5.1.7 Bad sender address syntax"
        if self._server.behaviour == RefusesUs(at="mail"):
            return f"550 5.7.1 <{path[1]}>: Sender address rejected: Access denied"
        self._mail_from = path[1]
        return "250 2.1.0 Ok"

    def _rcpt(self, rest: str) -> str:
        if self._must_secure():
            return "530 5.7.0 Must issue a STARTTLS command first"
        if self._mail_from is None:
            return "503 5.5.1 Error: need MAIL command"
        path = _PATH.match(rest)
        if path is None or not path[1] or path[1].startswith("@"):
            return "501 5.1.3 Bad recipient address syntax"
        local, _, domain = path[1].rpartition("@")
        own = self._server.mailboxes.domain
        address = path[1] if local else f"{domain}@{own}"  # <postmaster>, RFC 5321 4.5.1
        if local and domain.casefold() != own:
            return f"554 5.7.1 <{address}>: Relay access denied"
        self._recipients += 1
        return self._server.mailboxes.recipient(
            self._server.behaviour, address, self._client, self._mail_from, self._recipients
        )

    def _must_secure(self) -> bool:
        return isinstance(self._server.behaviour, StarttlsOnly) and not self._secure

    async def _start_tls(self) -> None:
        if not self._must_secure():
            await self._say("502 5.5.1 STARTTLS is not offered")
            return
        await self._say("220 2.0.0 Ready to start TLS")
        await self._writer.start_tls(self._tls)
        # What was said in clear is forgotten (RFC 3207 section 4.2).
        self._secure, self._greeted, self._mail_from = True, False, None

    async def _command(self) -> tuple[str, str]:
        try:
            async with asyncio.timeout(_IDLE_S):
                line = await self._reader.readuntil(b"\n")
        except TimeoutError:
            return "IDLE", ""
        if len(line) > _MAX_LINE:
            return "TOO-LONG", ""
        verb, _, rest = line.decode("utf-8", "replace").strip().partition(" ")
        return verb.upper(), rest.strip()

    async def _say(self, *replies: str) -> None:
        if isinstance(self._server.behaviour, Slow):
            await self._sleep(self._server.behaviour.delay_s)
        *more, last = replies
        lines = [f"{reply[:3]}-{reply[4:]}" for reply in more] + [last]
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self._writer.drain()

    async def _until_gone(self) -> None:
        """Read what is said and answer nothing, until the client goes away."""
        async with asyncio.timeout(_IDLE_S):
            while await self._reader.read(_MAX_LINE):
                pass
