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

from cs.sandbox.servers import Sleep
from cs.sandbox.shapes import Behaviour, MailboxState

#: How long a greylisting server remembers a client; Postgrey's --max-age is 35 days.
_REMEMBERED_S = 30 * 86_400.0
_IDLE_S = 300.0  # RFC 5321 section 4.5.3.2.7: at least five minutes

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
#: Replies that are the same at any time. DATA is always refused: no mail is ever taken.
_ALWAYS = {
    "DATA": "554 5.3.2 This server takes no mail",
    "BDAT": "554 5.3.2 This server takes no mail",
    "RSET": "250 2.0.0 Ok",
    "NOOP": "250 2.0.0 Ok",
    "VRFY": "252 2.5.2 Cannot say; try RCPT",
    "EXPN": "252 2.5.2 Cannot say; try RCPT",
    "QUIT": "221 2.0.0 Bye",
}
_UNKNOWN = "502 5.5.2 Command not recognized"
_PATH = re.compile(r"^(?:FROM|TO):\s*<([^<>\s]*)>(?:\s.*)?$", re.IGNORECASE)


class Mailboxes:
    """The mailboxes of one mail domain and what its servers remember of clients."""

    def __init__(
        self, domain: str, states: dict[str, MailboxState], clock: Callable[[], float]
    ) -> None:
        self.domain = domain
        self._states: dict[str, MailboxState] = {"postmaster": "open", **states}
        self._clock = clock
        self._first_seen: dict[tuple[str, ...], float] = {}

    def state(self, behaviour: Behaviour, address: str) -> MailboxState:
        """Return the state of *address* at a server of that behaviour."""
        local = address.rpartition("@")[0].casefold()
        state = self._states.get(local, "absent")
        if behaviour.kind == "catch_all" and state == "absent":
            return "open"
        if state == "open" and local != "postmaster":
            if behaviour.kind == "full":
                return "full" if behaviour.code == 452 else "over_quota"
            if behaviour.kind == "disabled":
                return "disabled"
        return state

    def wait(self, behaviour: Behaviour, address: str, client: str, mail_from: str) -> float:
        """Return how many seconds are left to wait, 0 once they have gone by."""
        key: tuple[str, ...] = (client,)
        if behaviour.remembers == "recipient":
            key = (client, mail_from, address.casefold())
        now = self._clock()
        if now - self._first_seen.setdefault(key, now) >= _REMEMBERED_S:
            self._first_seen[key] = now
        return max(0.0, self._first_seen[key] + behaviour.hint_s - now)

    def has_waited(self, behaviour: Behaviour, client: str) -> bool:
        """Say whether a wait of *client* is over and still remembered."""
        now = self._clock()
        seen = [at for key, at in self._first_seen.items() if key[0] == client]
        return any(behaviour.hint_s <= now - at < _REMEMBERED_S for at in seen)


class MailServer(msgspec.Struct, frozen=True):
    """One mail host of one mail domain, or the domain's own address if it has no MX."""

    host: str
    behaviour: Behaviour
    mailboxes: Mailboxes


class MailServers:
    """Every mail host that listens, by its address."""

    def __init__(
        self, by_address: Mapping[str, MailServer], tls: ssl.SSLContext, sleep: Sleep
    ) -> None:
        self._by_address = by_address
        self._tls = tls
        self._sleep = sleep

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = self._by_address[writer.get_extra_info("sockname")[0]]
        await _Session(server, self._tls, self._sleep, reader, writer).run()


class _Session:
    """One connection, from the banner to QUIT."""

    def __init__(
        self,
        server: MailServer,
        tls: ssl.SSLContext,
        sleep: Sleep,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._host, self._behaviour = server.host, server.behaviour
        self._kind, self._mailboxes = server.behaviour.kind, server.mailboxes
        self._tls, self._sleep = tls, sleep
        self._reader, self._writer = reader, writer
        self._client = str(writer.get_extra_info("peername")[0])
        self._secure = self._kind != "starttls_only"
        self._greeted = False
        self._mail_from: str | None = None
        self._recipients = 0  # of the session: RSET does not make more room

    async def run(self) -> None:
        """Speak until the client goes away or is sent away."""
        if self._is_mute():
            await self._reader.read()
            return
        if self._kind == "busy":
            await self._say(f"421 4.3.2 {self._host} Service busy, try again later")
            return
        if self._kind == "refuses_us" and self._behaviour.at == "banner":
            await self._say(
                f"554 5.7.1 {self._host} Your access to this mail system "
                f"from [{self._client}] was rejected"
            )
            return
        await self._say(f"220 {self._host} ESMTP ready")
        verb = ""
        while verb != "QUIT":
            async with asyncio.timeout(_IDLE_S):
                line = await self._reader.readline()
            if not line:
                return
            verb, _, rest = line.decode("utf-8", "replace").strip().partition(" ")
            verb = verb.upper()
            if verb == "STARTTLS" and not self._secure:
                await self._say("220 2.0.0 Ready to start TLS")
                await self._writer.start_tls(self._tls)
                # What was said in clear is forgotten (RFC 3207 section 4.2).
                self._secure, self._greeted, self._mail_from = True, False, None
            else:
                await self._say(*self._answer(verb, rest.strip()))

    def _is_mute(self) -> bool:
        later = self._kind == "greylisting" and self._behaviour.then == "silent"
        return self._kind == "silent" or (
            later and self._mailboxes.has_waited(self._behaviour, self._client)
        )

    def _answer(self, verb: str, rest: str) -> list[str]:
        match verb:
            case "EHLO" | "HELO":
                self._greeted, self._mail_from = True, None
                offers = ["PIPELINING", "SIZE 10485760", "ENHANCEDSTATUSCODES", "8BITMIME"]
                if not self._secure:
                    offers.insert(0, "STARTTLS")
                shown = offers if verb == "EHLO" else []
                return [f"250 {text}" for text in (self._host, *shown)]
            case "MAIL":
                return [self._mail(rest)]
            case "RCPT":
                return [self._rcpt(rest)]
            case "RSET":
                self._mail_from = None
            case _:
                pass
        return [_ALWAYS.get(verb, _UNKNOWN)]

    def _mail(self, rest: str) -> str:
        if not self._greeted:
            return "503 5.5.1 Error: send HELO/EHLO first"
        if not self._secure:
            return "530 5.7.0 Must issue a STARTTLS command first"
        if self._mail_from is not None:
            return "503 5.5.1 Error: nested MAIL command"
        if (path := _PATH.match(rest)) is None:
            return "501 5.1.7 Bad sender address syntax"
        if self._kind == "refuses_us" and self._behaviour.at == "mail":
            return f"550 5.7.1 <{path[1]}>: Sender address rejected: Access denied"
        self._mail_from = path[1]
        return "250 2.1.0 Ok"

    def _rcpt(self, rest: str) -> str:
        if not self._secure:
            return "530 5.7.0 Must issue a STARTTLS command first"
        if self._mail_from is None:
            return "503 5.5.1 Error: need MAIL command"
        path = _PATH.match(rest)
        if path is None or not path[1] or path[1].startswith("@"):
            return "501 5.1.3 Bad recipient address syntax"
        local, _, domain = path[1].rpartition("@")
        own = self._mailboxes.domain
        address = path[1] if local else f"{domain}@{own}"  # <postmaster>, RFC 5321 4.5.1
        if local and domain.casefold() != own:
            return f"554 5.7.1 <{address}>: Relay access denied"
        self._recipients += 1
        state = self._mailboxes.state(self._behaviour, address)
        match self._kind:
            case "refuses_us":
                state = "refuses_us"
            case "one_recipient" if self._recipients > 1:
                return "452 4.5.3 Error: too many recipients in this session"
            case "greylisting" if left := self._mailboxes.wait(
                self._behaviour, address, self._client, self._mail_from
            ):
                return (
                    f"451 4.7.1 <{address}>: Recipient address rejected: Greylisted, "
                    f"please try again in {math.ceil(left)} seconds"
                )
            case _:
                pass
        return _RCPT[state].format(address=address, client=self._client)

    async def _say(self, *replies: str) -> None:
        if self._kind == "slow":
            await self._sleep(self._behaviour.delay_s)
        *more, last = replies
        lines = [f"{reply[:3]}-{reply[4:]}" for reply in more] + [last]
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self._writer.drain()
