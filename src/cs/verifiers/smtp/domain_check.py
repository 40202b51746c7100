"""One mail domain being checked over SMTP: exchangers in order, probe first, then people."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from cs.domain.mail.reply_meaning import ReplyKind
from cs.domain.rule_sets import MAIL_REPLIES
from cs.plugins.verifiers import (
    DomainFacts,
    Evidence,
    MailHosts,
    Unreachable,
    Verdict,
    is_mailbox,
)
from cs.verifiers.smtp.errors import NoUsableReply
from cs.verifiers.smtp.exchanger import PauseTimeout
from cs.verifiers.smtp.mail_route import MailRoute
from cs.verifiers.smtp.probe import ProbeMemory, ProbeOutcome, ProbeResult, probe_names
from cs.verifiers.smtp.session import MxAddress
from cs.verifiers.smtp.transcript import Transcript
from cs.verifiers.smtp.verdict import RecipientFinding, Recipients, judge, probe

#: After so many addresses that timed out no further one of the domain is asked.
_TIMEOUTS = 2
#: Seconds after which the stage may ask again, where no server named a wait.
_RETRY_TIMEOUT_S = 60.0
_RETRY_DNS_S = 15.0
#: Replies to probes after which the exchanger is not asked about people at all.
_NOT_FOR_US = frozenset(
    {ReplyKind.ABOUT_US, ReplyKind.SENDER, ReplyKind.NOT_HOSTED, ReplyKind.STARTTLS}
)


class CheckDependencies(msgspec.Struct, frozen=True):
    """What a check needs of its verifier.

    Attributes:
        address_s: Seconds that one address may take, waits for our own sessions aside.
        salt: Makes the probes of this installation its own.
    """

    name: str
    address_s: float
    now: Callable[[], datetime]
    mail_hosts: Callable[[str], Awaitable[MailHosts]]
    route: Callable[[MailHosts], Awaitable[MailRoute]]
    exchanger: Callable[[MxAddress, Transcript, PauseTimeout], Recipients]
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
        self._learned = known
        self._names = probe_names(mail_domain, dependencies.salt)
        self._one_at_a_time = asyncio.Lock()
        self._plan: RecipientFinding | MailRoute | None = None
        self._answered = False
        self._exchangers: dict[MxAddress, Recipients] = {}
        self._probes: dict[MxAddress, ProbeResult] = {}
        self._timeouts = 0
        self._limit: asyncio.Timeout | None = None

    @property
    def learned(self) -> DomainFacts:
        return self._learned

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
        for exchanger in self._exchangers.values():
            await exchanger.hang_up()

    async def abort(self) -> None:
        """End all sessions, at once."""
        for exchanger in self._exchangers.values():
            await exchanger.abort()

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

    async def _find(self, address: str) -> tuple[RecipientFinding, MxAddress | None]:
        if not is_mailbox(address) or address.rpartition("@")[2].lower() != self._domain:
            return _BAD_ADDRESS, None
        if self._learned.catch_all:
            self._answered = True  # when it was learned
            return _CATCH_ALL, None
        if self._timeouts >= _TIMEOUTS:
            return _TIMED_OUT, None
        if self._plan is None:
            self._plan = await self._make_plan()
        if isinstance(self._plan, RecipientFinding):
            return self._plan, None
        return await self.ask_in_turn(address, self._plan.mx_addresses)

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
            return route
        if route.unanswered:
            return RecipientFinding(Verdict.UNKNOWN, "dns-no-answer", retry_in_s=_RETRY_DNS_S)
        why = "forbidden-address" if route.forbidden else "mail-host-without-address"
        return RecipientFinding(Verdict.UNKNOWN, why)

    async def ask_in_turn(
        self, address: str, mx_addresses: tuple[MxAddress, ...]
    ) -> tuple[RecipientFinding, MxAddress]:
        """Ask *mx_addresses* in order until one settles it; else say what was best."""
        undecided: list[tuple[RecipientFinding, MxAddress]] = []
        for mx in mx_addresses:
            exchanger = self._exchanger(mx)
            is_backup = any(other.host != mx.host for _, other in undecided)
            try:
                finding = await self._ask(exchanger, address, is_backup=is_backup)
            except NoUsableReply as no_reply:
                finding = RecipientFinding(
                    Verdict.UNKNOWN, no_reply.why, retry_in_s=no_reply.retry_in_s
                )
            if exchanger.one_recipient:
                self._learn(one_recipient=True)
            if finding.reason == ReplyKind.GREYLISTED.value:
                self._learn(greylists=True)
            if finding.settles:
                return finding, mx
            undecided.append((finding, mx))
        # What a server said weighs more than that another one was silent.
        return min(undecided, key=lambda found: found[0].reason in SILENT)

    async def _ask(
        self, exchanger: Recipients, address: str, *, is_backup: bool
    ) -> RecipientFinding:
        probe_result = await self._probe(exchanger)
        if probe_result.outcome is ProbeOutcome.ACCEPTED:
            if is_backup:
                # It says nothing of the exchangers before it, which were not to be had.
                return RecipientFinding(
                    Verdict.UNKNOWN, "backup-accepts-anybody", retry_in_s=_RETRY_TIMEOUT_S
                )
            self._learn(catch_all=True)
            return _CATCH_ALL
        if probe_result.kind in _NOT_FOR_US:
            return RecipientFinding(
                Verdict.UNKNOWN, str(probe_result.kind), retry_in_s=probe_result.retry_in_s
            )
        if probe_result.outcome is ProbeOutcome.REFUSED and self._learned.catch_all is None:
            self._learn(catch_all=False)
        if probe_result.kind is ReplyKind.GREYLISTED:
            self._learn(greylists=True)
        finding = await judge(
            exchanger, address, probe_result, f"{self._names[1]}@{self._domain}"
        )
        if finding.verdict is Verdict.CATCH_ALL:
            self._remember(exchanger.mx, ProbeResult(ProbeOutcome.ACCEPTED))
        return finding

    async def _probe(self, exchanger: Recipients) -> ProbeResult:
        mx = exchanger.mx
        if mx not in self._probes:
            probe_result = self._dependencies.memory.get(self._domain, mx.address)
            with self._transcript.shared():
                if probe_result is None:
                    probe_result = await probe(exchanger, self._names, self._domain)
                else:
                    self._transcript.note("C", f"[probed earlier: {probe_result.outcome}]")
            self._remember(mx, probe_result)
        return self._probes[mx]

    def _remember(self, mx: MxAddress, probe_result: ProbeResult) -> None:
        if self._probes.get(mx) != probe_result:
            self._probes[mx] = probe_result
            self._dependencies.memory.put(self._domain, mx.address, probe_result)

    def _exchanger(self, mx: MxAddress) -> Recipients:
        if mx not in self._exchangers:
            self._exchangers[mx] = self._dependencies.exchanger(
                mx, self._transcript, self._pause_timeout
            )
        return self._exchangers[mx]

    def _learn(self, **facts: bool) -> None:
        self._learned = msgspec.structs.replace(self._learned, **facts)


_BAD_ADDRESS = RecipientFinding(Verdict.UNDELIVERABLE, "bad-address")
_CATCH_ALL = RecipientFinding(Verdict.CATCH_ALL, "catch-all", settles=True)
_TIMED_OUT = RecipientFinding(Verdict.UNKNOWN, "timeout", retry_in_s=_RETRY_TIMEOUT_S)
SILENT = frozenset({"connect", "timeout", "closed", "protocol", "out-of-step", "tls"})
