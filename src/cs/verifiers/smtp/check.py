"""One mail domain being checked over SMTP: its mail's route, and each address in its time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from cs.domain.rule_sets import MAIL_REPLIES
from cs.plugins.verifiers import (
    AddressGuard,
    DomainFacts,
    Evidence,
    Resolver,
    Unreachable,
    Verdict,
    is_mailbox,
)
from cs.verifiers.smtp.exchanger import Exchanger, SessionLimiter
from cs.verifiers.smtp.identity import Identity, SenderHealth
from cs.verifiers.smtp.mail_route import MailRoute, find_route
from cs.verifiers.smtp.probe import ProbeMemory, probe_names
from cs.verifiers.smtp.session import MxAddress, SmtpTimeouts
from cs.verifiers.smtp.transcript import Transcript
from cs.verifiers.smtp.verdict import (
    CATCH_ALL,
    RETRY_TIMEOUT_S,
    Exchangers,
    RecipientFinding,
    Recipients,
)

NAME = "smtp"
#: After so many addresses that timed out no further one of the domain is asked.
_TIMEOUTS = 2
#: Seconds after which the stage may ask again where DNS did not answer.
_RETRY_DNS_S = 15.0
#: Nobody is asked: servers of this operator refuse all that we may be.
REFUSES_US = "refuses-us"
_BAD_ADDRESS = RecipientFinding(Verdict.UNDELIVERABLE, "bad-address")
_TIMED_OUT = RecipientFinding(Verdict.UNKNOWN, "timeout", retry_in_s=RETRY_TIMEOUT_S)
_NO_DNS = RecipientFinding(Verdict.UNKNOWN, "dns-no-answer", retry_in_s=_RETRY_DNS_S)


@dataclass(frozen=True)
class CheckContext:
    """What the checks of all mail domains share (`cs.verifiers.smtp.verifier`)."""

    resolver: Resolver
    guard: AddressGuard
    port: int
    timeouts: SmtpTimeouts
    salt: str
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    health: SenderHealth
    limiter: SessionLimiter
    memory: ProbeMemory


class SmtpCheck:
    """Addresses of one domain, one at a time; what is learned serves the next."""

    def __init__(self, mail_domain: str, known: DomainFacts, context: CheckContext) -> None:
        self._domain = mail_domain
        self._known = known
        self._context = context
        self._transcript = Transcript(context.monotonic)
        self._exchangers = Exchangers(
            mail_domain,
            known,
            self._transcript,
            connect=self._exchanger,
            memory=context.memory,
            names=probe_names(mail_domain, context.salt),
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
                async with asyncio.timeout(self._context.timeouts.address_s) as self._limit:
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
                at=self._context.now(),
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

    def _exchanger(self, mx: MxAddress) -> Recipients:
        identity, health = self._identity, self._context.health
        assert identity is not None, "a plan comes first"
        return Exchanger(
            mx,
            self._domain,
            identity,
            self._context.timeouts,
            self._transcript.note,
            one_recipient=bool(self._known.one_recipient),
            limiter=self._context.limiter,
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
        context = self._context
        try:
            mail = await context.resolver.mail_hosts(self._domain)
        except Unreachable:
            return _NO_DNS
        self._answered = True
        if not mail.exists:
            return RecipientFinding(Verdict.UNDELIVERABLE, "no-such-domain")
        if not mail.hosts:
            why = "null-mx" if mail.null_mx else "no-mail-host"
            return RecipientFinding(Verdict.UNDELIVERABLE, why)
        route = await find_route(mail, context.resolver, context.guard, context.port)
        if route.mx_addresses:
            chosen = context.health.choose(self._domain, route.mx_addresses[0].host)
            if not isinstance(chosen, Identity):
                return RecipientFinding(Verdict.UNKNOWN, REFUSES_US, retry_in_s=chosen)
            self._identity = chosen
            return route
        if route.unanswered:
            return _NO_DNS
        why = "forbidden-address" if route.forbidden else "mail-host-without-address"
        return RecipientFinding(Verdict.UNKNOWN, why)
