"""One mail domain being checked over SMTP: exchangers in order, probe first, then people."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from cs.domain.mail.reply_meaning import Kind
from cs.plugins.verifiers import (
    DomainFacts,
    Evidence,
    MailHosts,
    Unreachable,
    Verdict,
    is_mailbox,
)
from cs.verifiers.smtp.exchanger import Exchanger, Useless, Waiting
from cs.verifiers.smtp.mail_route import Route
from cs.verifiers.smtp.probe import Outcome, Probe, ProbeMemory, probe_names
from cs.verifiers.smtp.session import Exchange
from cs.verifiers.smtp.transcript import Transcript
from cs.verifiers.smtp.verdict import Finding, judge, probe

#: After so many addresses that took all their time the domain is left alone.
_TIMEOUTS = 2
_RETRY_TIMEOUT_S = 60.0
_RETRY_DNS_S = 15.0
#: Replies to probes after which the exchanger is not asked about people at all.
_NOT_FOR_US = frozenset({Kind.ABOUT_US, Kind.SENDER, Kind.NOT_HOSTED, Kind.STARTTLS})


class Tools(msgspec.Struct, frozen=True):
    """What a check is given by its verifier."""

    name: str
    address_s: float
    now: Callable[[], datetime]
    mail_hosts: Callable[[str], Awaitable[MailHosts]]
    route: Callable[[MailHosts], Awaitable[Route]]
    exchanger: Callable[[Exchange, Transcript, Waiting], Exchanger]
    memory: ProbeMemory
    salt: str


class SmtpCheck:
    """Addresses of one domain, one at a time; what is learned serves the next."""

    def __init__(
        self, mail_domain: str, known: DomainFacts, transcript: Transcript, tools: Tools
    ) -> None:
        self._domain = mail_domain
        self._tools = tools
        self._transcript = transcript
        self._learned = known
        self._names = probe_names(mail_domain, tools.salt)
        self._turn = asyncio.Lock()
        self._plan: Finding | Route | None = None
        self._answered = False
        self._exchangers: dict[Exchange, Exchanger] = {}
        self._probes: dict[Exchange, Probe] = {}
        self._timeouts = 0
        self._limit: asyncio.Timeout | None = None

    @property
    def learned(self) -> DomainFacts:
        return self._learned

    async def check(self, address: str) -> Evidence:
        """Find out about *address*, within the limit for one address."""
        async with self._turn:
            self._transcript.begin()
            try:
                async with asyncio.timeout(self._tools.address_s) as self._limit:
                    finding, exchange = await self._find(address)
            except TimeoutError:
                await self.abort()
                self._timeouts += 1
                finding, exchange = _TIMED_OUT, None
            return Evidence(
                address=address,
                verdict=finding.verdict,
                reason=finding.reason,
                verifier=self._tools.name,
                at=self._tools.now(),
                mx=exchange.host if exchange else None,
                conversation=self._transcript.lines(),
                retry_in_s=finding.retry_in_s,
                answered=self._answered or finding is _BAD_ADDRESS,
            )

    async def close(self) -> None:
        """End all sessions, politely."""
        for exchanger in self._exchangers.values():
            await exchanger.hang_up()

    async def abort(self) -> None:
        """End all sessions, at once."""
        for exchanger in self._exchangers.values():
            await exchanger.abort()

    @asynccontextmanager
    async def _waiting(self) -> AsyncIterator[None]:
        """Stop the address's time while we wait for our own place at an exchanger.

        Places at others are given back first, or two checks could wait for each other.
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

    async def _find(self, address: str) -> tuple[Finding, Exchange | None]:
        if not is_mailbox(address) or address.rpartition("@")[2].lower() != self._domain:
            return _BAD_ADDRESS, None
        if self._learned.catch_all:
            self._answered = True  # when it was learned
            return _CATCH_ALL, None
        if self._timeouts >= _TIMEOUTS:
            return _TIMED_OUT, None
        if self._plan is None:
            self._plan = await self._make_plan()
        if isinstance(self._plan, Finding):
            return self._plan, None
        return await self._ask_in_turn(address, self._plan.exchanges)

    async def _make_plan(self) -> Finding | Route:
        try:
            mail = await self._tools.mail_hosts(self._domain)
        except Unreachable:
            return Finding(Verdict.UNKNOWN, "dns-no-answer", retry_in_s=_RETRY_DNS_S)
        self._answered = True
        if not mail.exists:
            return Finding(Verdict.UNDELIVERABLE, "no-such-domain")
        if not mail.hosts:
            why = "null-mx" if mail.null_mx else "no-mail-host"
            return Finding(Verdict.UNDELIVERABLE, why)
        route = await self._tools.route(mail)
        if route.exchanges:
            return route
        if route.unanswered:
            return Finding(Verdict.UNKNOWN, "dns-no-answer", retry_in_s=_RETRY_DNS_S)
        why = "forbidden-address" if route.forbidden else "mail-host-without-address"
        return Finding(Verdict.UNKNOWN, why)

    async def _ask_in_turn(
        self, address: str, exchanges: tuple[Exchange, ...]
    ) -> tuple[Finding, Exchange]:
        """Ask exchanges in order until one settles it; else say what was best."""
        undecided: list[tuple[Finding, Exchange]] = []
        for exchange in exchanges:
            exchanger = self._exchanger(exchange)
            is_backup = any(other.host != exchange.host for _, other in undecided)
            try:
                finding = await self._ask(exchanger, address, is_backup=is_backup)
            except Useless as useless:
                finding = Finding(Verdict.UNKNOWN, useless.why, retry_in_s=useless.retry_in_s)
            if exchanger.one_recipient:
                self._learn(one_recipient=True)
            if finding.reason == Kind.GREYLISTED.value:
                self._learn(greylists=True)
            if finding.settles:
                return finding, exchange
            undecided.append((finding, exchange))
        # What a server said weighs more than that another one was silent.
        return min(undecided, key=lambda found: found[0].reason in _SILENT)

    async def _ask(self, exchanger: Exchanger, address: str, *, is_backup: bool) -> Finding:
        probed = await self._probe(exchanger)
        if probed.outcome is Outcome.ACCEPTED:
            if is_backup:
                # It says nothing of the exchangers before it, which were not to be had.
                return Finding(
                    Verdict.UNKNOWN, "backup-accepts-anybody", retry_in_s=_RETRY_TIMEOUT_S
                )
            self._learn(catch_all=True)
            return _CATCH_ALL
        if probed.kind in _NOT_FOR_US:
            return Finding(Verdict.UNKNOWN, str(probed.kind), retry_in_s=probed.retry_in_s)
        if probed.outcome is Outcome.REFUSED and self._learned.catch_all is None:
            self._learn(catch_all=False)
        if probed.kind is Kind.GREYLISTED:
            self._learn(greylists=True)
        finding = await judge(exchanger, address, probed, f"{self._names[1]}@{self._domain}")
        if finding.verdict is Verdict.CATCH_ALL:
            self._remember(exchanger.exchange, Probe(Outcome.ACCEPTED))
        return finding

    async def _probe(self, exchanger: Exchanger) -> Probe:
        exchange = exchanger.exchange
        if exchange not in self._probes:
            probed = self._tools.memory.get(self._domain, exchange.address)
            with self._transcript.kept():
                if probed is None:
                    probed = await probe(exchanger, self._names, self._domain)
                else:
                    self._transcript.note("C", f"[probed earlier: {probed.outcome}]")
            self._remember(exchange, probed)
        return self._probes[exchange]

    def _remember(self, exchange: Exchange, probed: Probe) -> None:
        if self._probes.get(exchange) != probed:
            self._probes[exchange] = probed
            self._tools.memory.put(self._domain, exchange.address, probed)

    def _exchanger(self, exchange: Exchange) -> Exchanger:
        if exchange not in self._exchangers:
            self._exchangers[exchange] = self._tools.exchanger(
                exchange, self._transcript, self._waiting
            )
        return self._exchangers[exchange]

    def _learn(self, **facts: bool) -> None:
        self._learned = msgspec.structs.replace(self._learned, **facts)


_BAD_ADDRESS = Finding(Verdict.UNDELIVERABLE, "bad-address")
_CATCH_ALL = Finding(Verdict.CATCH_ALL, "catch-all", settles=True)
_TIMED_OUT = Finding(Verdict.UNKNOWN, "timeout", retry_in_s=_RETRY_TIMEOUT_S)
_SILENT = frozenset({"connect", "timeout", "closed", "protocol", "out-of-step", "tls"})
