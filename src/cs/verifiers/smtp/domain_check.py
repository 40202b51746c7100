"""One mail domain being checked over SMTP: its mail's route, and each address in its time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from cs.domain.rule_sets import MAIL_REPLIES
from cs.plugins.verifiers import (
    DomainFacts,
    Evidence,
    MailHosts,
    Unreachable,
    Verdict,
    is_mailbox,
)
from cs.verifiers.smtp.exchanger import PauseTimeout
from cs.verifiers.smtp.exchangers import CATCH_ALL, RETRY_TIMEOUT_S, Exchangers
from cs.verifiers.smtp.identity import Identity
from cs.verifiers.smtp.mail_route import MailRoute
from cs.verifiers.smtp.probe import ProbeMemory
from cs.verifiers.smtp.session import MxAddress
from cs.verifiers.smtp.transcript import Transcript
from cs.verifiers.smtp.verdict import RecipientFinding, Recipients

#: After so many addresses that timed out no further one of the domain is asked.
_TIMEOUTS = 2
#: Seconds after which the stage may ask again where DNS did not answer.
_RETRY_DNS_S = 15.0


class CheckDependencies(msgspec.Struct, frozen=True):
    """What a check needs of its verifier.

    Attributes:
        address_s: Seconds that one address may take, waits for our own sessions aside.
        choose: Says who we are to a mail domain, by its first exchanger; or in how many
            seconds somebody may ask there again.
        salt: Makes the probes of this installation its own.
    """

    name: str
    address_s: float
    now: Callable[[], datetime]
    mail_hosts: Callable[[str], Awaitable[MailHosts]]
    route: Callable[[MailHosts], Awaitable[MailRoute]]
    choose: Callable[[str, str], Identity | float]
    exchanger: Callable[[MxAddress, Identity, Transcript, PauseTimeout], Recipients]
    memory: ProbeMemory
    salt: str


class SmtpCheck:
    """Addresses of one domain, one at a time; what is learned serves the next."""

    def __init__(
        self,
        mail_domain: str,
        known: DomainFacts,
        transcript: Transcript,
        dependencies: CheckDependencies,
    ) -> None:
        self._domain = mail_domain
        self._dependencies = dependencies
        self._transcript = transcript
        self._exchangers = Exchangers(
            mail_domain,
            known,
            transcript,
            connect=self._exchanger,
            memory=dependencies.memory,
            salt=dependencies.salt,
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
                async with asyncio.timeout(self._dependencies.address_s) as self._limit:
                    finding, mx = await self._find(address)
            except TimeoutError:
                await self.abort()
                self._timeouts += 1
                finding, mx = _TIMED_OUT, None
            return Evidence(
                address=address,
                verdict=finding.verdict,
                reason=finding.reason,
                verifier=self._dependencies.name,
                at=self._dependencies.now(),
                mx=mx.host if mx else None,
                conversation=self._transcript.lines(),
                retry_in_s=finding.retry_in_s,
                answered=self._answered or finding is _BAD_ADDRESS,
                rules=MAIL_REPLIES,
            )

    async def close(self) -> None:
        """End all sessions, politely."""
        await self._exchangers.close()

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
        assert self._identity is not None, "a plan comes first"
        return self._dependencies.exchanger(
            mx, self._identity, self._transcript, self._pause_timeout
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
        try:
            mail = await self._dependencies.mail_hosts(self._domain)
        except Unreachable:
            return RecipientFinding(Verdict.UNKNOWN, "dns-no-answer", retry_in_s=_RETRY_DNS_S)
        self._answered = True
        if not mail.exists:
            return RecipientFinding(Verdict.UNDELIVERABLE, "no-such-domain")
        if not mail.hosts:
            why = "null-mx" if mail.null_mx else "no-mail-host"
            return RecipientFinding(Verdict.UNDELIVERABLE, why)
        route = await self._dependencies.route(mail)
        if route.mx_addresses:
            chosen = self._dependencies.choose(self._domain, route.mx_addresses[0].host)
            if not isinstance(chosen, Identity):
                return RecipientFinding(Verdict.UNKNOWN, REFUSES_US, retry_in_s=chosen)
            self._identity = chosen
            return route
        if route.unanswered:
            return RecipientFinding(Verdict.UNKNOWN, "dns-no-answer", retry_in_s=_RETRY_DNS_S)
        why = "forbidden-address" if route.forbidden else "mail-host-without-address"
        return RecipientFinding(Verdict.UNKNOWN, why)


#: Nobody is asked: servers of this operator refuse all that we may be.
REFUSES_US = "refuses-us"
_BAD_ADDRESS = RecipientFinding(Verdict.UNDELIVERABLE, "bad-address")
_TIMED_OUT = RecipientFinding(Verdict.UNKNOWN, "timeout", retry_in_s=RETRY_TIMEOUT_S)
