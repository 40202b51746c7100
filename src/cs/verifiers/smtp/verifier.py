"""Asks a domain's own mail servers whether a mailbox exists, and sends nothing.

The only verifier that costs nothing.  docs/verifiers.md has its plan and the reason for
each step; the rule above all: never a false ``deliverable``.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cs.domain.rule_sets import MAIL_REPLIES
from cs.plugins.verifiers import (
    SECRET,
    AddressGuard,
    DomainCheck,
    DomainFacts,
    Evidence,
    Resolver,
    Unreachable,
    Verdict,
    VerifierContext,
    is_mailbox,
    takes,
)
from cs.verifiers.smtp.exchanger import RETRY_TIMEOUT_S, Exchanger, SessionLimiter
from cs.verifiers.smtp.identity import (
    Identity,
    SenderHealth,
    TellOperator,
    check_proxy,
    parse_identity,
)
from cs.verifiers.smtp.mail_route import MailRoute, find_route
from cs.verifiers.smtp.probe import ProbeMemory, probe_names
from cs.verifiers.smtp.session import MxAddress, SmtpTimeouts
from cs.verifiers.smtp.transcript import Transcript
from cs.verifiers.smtp.verdict import (
    CATCH_ALL,
    Exchangers,
    RecipientFinding,
)

__all__ = ["NAME", "SESSIONS", "SmtpVerifier", "from_context"]

NAME = "smtp"
#: After so many addresses that timed out no further one of the domain is asked.
_TIMEOUTS = 2
#: Seconds after which the stage may ask again where DNS did not answer.
_RETRY_DNS_S = 15.0
#: Not asked: servers of this operator refuse all that we may be.
REFUSES_US = "refuses-us"
_BAD_ADDRESS = RecipientFinding(Verdict.UNDELIVERABLE, "bad-address")
_TIMED_OUT = RecipientFinding(Verdict.UNKNOWN, "timeout", retry_in_s=RETRY_TIMEOUT_S)
_NO_DNS = RecipientFinding(Verdict.UNKNOWN, "dns-no-answer", retry_in_s=_RETRY_DNS_S)
#: Sessions to one address at once: one that asks and one that ends or begins.
#: Postfix lets one client have 50 (smtpd_client_connection_count_limit), small hosts far less.
SESSIONS = 2
Wait = Annotated[float, Meta(gt=0, le=600)]


class SmtpVerifier:
    """Verifies by SMTP up to RCPT TO.

    Args:
        resolver: Finds exchangers and their addresses.
        guard: Judges every address before it is contacted.
        identities: The identities that we may use, one or more.
        port: Of the exchangers; 25 everywhere but in a sandbox.
        timeouts: How long things may take.
        salt: Makes the probes of this installation its own.
        now: The time, for evidence.
        monotonic: Seconds, for durations.
        sessions: At most to one address of an exchanger at once, whatever the mail domains.
        tell: Called for mail servers that refuse all of us, and when they do again.
    """

    def __init__(
        self,
        resolver: Resolver,
        guard: AddressGuard,
        *,
        identities: Sequence[Identity],
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        port: int = 25,
        timeouts: SmtpTimeouts | None = None,
        salt: str = "",
        sessions: int = SESSIONS,
        tell: TellOperator = lambda _name, _why: None,
    ) -> None:
        self.resolver = resolver
        self.guard = guard
        self.port = port
        self.timeouts = timeouts or SmtpTimeouts()
        self.salt = salt
        self.now = now
        self.monotonic = monotonic
        self.health = SenderHealth(identities, monotonic, tell)
        self.limiter = SessionLimiter(sessions)
        self.memory = ProbeMemory(monotonic)

    @property
    def name(self) -> str:
        return NAME

    @property
    def cost(self) -> int:
        return 0

    @property
    def timeout_s(self) -> float:
        """As long as the stage allows: an address has its own limit, which waits for others."""
        return math.inf

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        check = _SmtpCheck(mail_domain.lower(), known, self)
        try:
            yield check
            await check.close()
        finally:
            await check.abort()


class _SmtpCheck:
    """Addresses of one domain, one at a time; what is learned serves the next."""

    def __init__(self, mail_domain: str, known: DomainFacts, verifier: SmtpVerifier) -> None:
        self._domain = mail_domain
        self._known = known
        self._verifier = verifier
        self._transcript = Transcript(verifier.monotonic)
        self._exchangers = Exchangers(
            mail_domain,
            known,
            self._transcript,
            connect=self._exchanger,
            memory=verifier.memory,
            names=probe_names(mail_domain, verifier.salt),
        )
        self._one_at_a_time = asyncio.Lock()
        self._plan: RecipientFinding | MailRoute | None = None
        self._identity: Identity | None = None
        self._answered = False
        self._timeouts = 0
        self._limit: asyncio.Timeout | None = None

    @property
    def learned(self) -> DomainFacts:
        return self._exchangers.learned

    async def check(self, address: str) -> Evidence:
        """Find out about *address*, within the limit for one address."""
        async with self._one_at_a_time:
            self._transcript.begin()
            try:
                async with asyncio.timeout(self._verifier.timeouts.address_s) as self._limit:
                    finding, mx = await self._find(address)
            except TimeoutError:
                await self.abort()
                self._timeouts += 1
                finding, mx = _TIMED_OUT, None
            return Evidence(
                address=address,
                verdict=finding.verdict,
                reason=finding.reason,
                verifier=NAME,
                at=self._verifier.now(),
                mx=mx.host if mx else None,
                conversation=self._transcript.lines(),
                retry_in_s=finding.retry_in_s,
                answered=self._answered or finding is _BAD_ADDRESS,
                rules=MAIL_REPLIES,
            )

    async def close(self) -> None:
        """End all sessions, politely."""
        await self._exchangers.hang_up()

    async def abort(self) -> None:
        """End all sessions, at once."""
        await self._exchangers.abort()

    @asynccontextmanager
    async def _pause_timeout(self) -> AsyncIterator[None]:
        """Stop the address's time while we wait for our own session at an exchanger.

        Sessions at other exchangers are ended first, or two checks could wait for each other.
        """
        limit, loop = self._limit, asyncio.get_running_loop()
        when = None if limit is None else limit.when()
        if limit is None or when is None:
            yield
            return
        began = loop.time()
        limit.reschedule(None)
        await self.close()
        yield
        limit.reschedule(when + loop.time() - began)

    def _exchanger(self, mx: MxAddress) -> Exchanger:
        identity, health = self._identity, self._verifier.health
        assert identity is not None, "a plan comes first"
        return Exchanger(
            mx,
            self._domain,
            identity,
            self._verifier.timeouts,
            self._transcript.note,
            one_recipient=bool(self._known.one_recipient),
            limiter=self._verifier.limiter,
            pause_timeout=self._pause_timeout,
            heard=lambda kind: health.note(identity, self._domain, mx.host, kind),
        )

    async def _find(self, address: str) -> tuple[RecipientFinding, MxAddress | None]:
        if not is_mailbox(address) or address.rpartition("@")[2].lower() != self._domain:
            return _BAD_ADDRESS, None
        if self.learned.catch_all:
            self._answered = True  # when it was learned
            return CATCH_ALL, None
        if self._timeouts >= _TIMEOUTS:
            return _TIMED_OUT, None
        if self._plan is None:
            self._plan = await self._make_plan()
        if isinstance(self._plan, RecipientFinding):
            return self._plan, None
        return await self._exchangers.ask(address, self._plan.mx_addresses)

    async def _make_plan(self) -> RecipientFinding | MailRoute:
        verifier = self._verifier
        try:
            mail = await verifier.resolver.mail_hosts(self._domain)
        except Unreachable:
            return _NO_DNS
        self._answered = True
        if not mail.exists:
            return RecipientFinding(Verdict.UNDELIVERABLE, "no-such-domain")
        if not mail.hosts:
            why = "null-mx" if mail.null_mx else "no-mail-host"
            return RecipientFinding(Verdict.UNDELIVERABLE, why)
        route = await find_route(mail, verifier.resolver, verifier.guard, verifier.port)
        if route.mx_addresses:
            chosen = verifier.health.choose(self._domain, route.mx_addresses[0].host)
            if not isinstance(chosen, Identity):
                return RecipientFinding(Verdict.UNKNOWN, REFUSES_US, retry_in_s=chosen)
            self._identity = chosen
            return route
        if route.unanswered:
            return _NO_DNS
        why = "forbidden-address" if route.forbidden else "mail-host-without-address"
        return RecipientFinding(Verdict.UNKNOWN, why)


class SmtpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of ``[verifiers.smtp]``; seconds end in ``_s``."""

    helo: Annotated[str, Meta(description="our host name; empty: off")] = ""
    mail_from: Annotated[
        str,
        Meta(pattern=r"^([^@\s]+@[^@\s]+)?$", description="a mailbox of ours; empty: <>"),
    ] = ""
    proxy: Annotated[
        str, SECRET, Meta(description="a SOCKS5 server, socks5://user:password@host:1080")
    ] = ""
    identities: Annotated[
        tuple[str, ...],
        SECRET,
        Meta(max_length=20, description="more that we may be: HELO [MAIL_FROM] [PROXY]"),
    ] = ()
    port: Annotated[int, Meta(ge=1, le=65535)] = 25
    salt: Annotated[str, SECRET, Meta(description="makes the probes our own")] = ""
    sessions: Annotated[
        int, Meta(ge=1, le=20, description="to one address of an exchanger at once")
    ] = SESSIONS
    address_s: Wait = SmtpTimeouts.address_s
    connect_s: Wait = SmtpTimeouts.connect_s
    reply_s: Wait = SmtpTimeouts.reply_s


@takes(SmtpSettings)
def from_context(context: VerifierContext) -> SmtpVerifier | None:
    """Return the verifier, or ``None`` if no ``helo`` is set: it has to be ours."""
    settings = msgspec.convert(context.settings, SmtpSettings)
    if not settings.helo:
        return None
    proxy = check_proxy(settings.proxy) if settings.proxy else None
    own = Identity(settings.helo, settings.mail_from, proxy)
    return SmtpVerifier(
        context.resolver,
        context.guard,
        identities=[own, *map(parse_identity, settings.identities)],
        port=settings.port,
        timeouts=SmtpTimeouts(
            address_s=settings.address_s,
            connect_s=settings.connect_s,
            reply_s=settings.reply_s,
        ),
        salt=settings.salt,
        sessions=settings.sessions,
        tell=context.tell_operator,
        now=context.now,
        monotonic=context.monotonic,
    )
