"""Asks a domain's own mail servers whether a mailbox exists, and sends nothing.

The only verifier that costs nothing.  docs/verifiers.md has its plan and the reason for
each step; the rule above all: never a false ``deliverable``.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from cs.domain.mail.reply_meaning import ReplyKind
from cs.domain.rule_sets import MAIL_REPLIES
from cs.plugins.verifiers import (
    DomainCheck,
    DomainFacts,
    Evidence,
    Unreachable,
    Verdict,
    VerifierContext,
    is_mailbox,
    takes,
)
from cs.verifiers.smtp.connection import RETRY_TIMEOUT_S, NoUsableReply
from cs.verifiers.smtp.exchanger import Exchanger, SessionLimiter
from cs.verifiers.smtp.identity import Identity, SenderHealth, SmtpSettings
from cs.verifiers.smtp.mail_route import MailRoute, MxAddress, find_route
from cs.verifiers.smtp.probe import ProbeMemory, ProbeOutcome, ProbeResult, probe_names
from cs.verifiers.smtp.transcript import Transcript
from cs.verifiers.smtp.verdict import CATCH_ALL, RecipientFinding, judge, probe

__all__ = ["NAME", "SmtpVerifier", "from_context"]

NAME = "smtp"
#: After so many addresses that timed out no further one of the domain is asked.
_TIMEOUTS = 2
#: Seconds after which the stage may ask again where DNS did not answer.
_RETRY_DNS_S = 15.0
#: Not asked: servers of this operator refuse all that we may be.
REFUSES_US = "refuses-us"
#: Why an exchanger gave no reply at all.
_SILENT = frozenset({"connect", "proxy", "timeout", "closed", "protocol", "out-of-step", "tls"})
#: Replies to probes after which the exchanger is not asked about people at all.
_NOT_FOR_US = frozenset(
    {ReplyKind.ABOUT_US, ReplyKind.SENDER, ReplyKind.NOT_HOSTED, ReplyKind.STARTTLS}
)
_BAD_ADDRESS = RecipientFinding(Verdict.UNDELIVERABLE, "bad-address")
_TIMED_OUT = RecipientFinding(Verdict.UNKNOWN, "timeout", retry_in_s=RETRY_TIMEOUT_S)
_NO_DNS = RecipientFinding(Verdict.UNKNOWN, "dns-no-answer", retry_in_s=_RETRY_DNS_S)


class SmtpVerifier:
    """Verifies by SMTP up to RCPT TO."""

    name = NAME
    cost = 0
    #: As long as the stage allows: an address has its own limit, which waits for others.
    timeout_s = math.inf

    def __init__(self, context: VerifierContext, settings: SmtpSettings) -> None:
        self.context = context
        self.settings = settings
        self.health = SenderHealth(
            settings.all_identities(), context.monotonic, context.tell_operator
        )
        self.limiter = SessionLimiter(settings.sessions)
        self.memory = ProbeMemory(context.monotonic)

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
        self.learned = known
        self._domain = mail_domain
        self._one_recipient = bool(known.one_recipient)
        self._verifier = verifier
        self._transcript = Transcript(verifier.context.monotonic)
        self._names = probe_names(mail_domain, verifier.settings.salt)
        self._exchangers: dict[MxAddress, Exchanger] = {}
        self._probes: dict[MxAddress, ProbeResult] = {}
        self._one_at_a_time = asyncio.Lock()
        self._plan: RecipientFinding | MailRoute | None = None
        self._identity: Identity | None = None
        self._answered = False
        self._timeouts = 0
        self._limit: asyncio.Timeout | None = None

    async def check(self, address: str) -> Evidence:
        """Find out about *address*, within the limit for one address."""
        async with self._one_at_a_time:
            self._transcript.begin()
            try:
                async with asyncio.timeout(self._verifier.settings.address_s) as self._limit:
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
                at=self._verifier.context.now(),
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
        if self.learned.catch_all:
            self._answered = True  # when it was learned
            return CATCH_ALL, None
        if self._timeouts >= _TIMEOUTS:
            return _TIMED_OUT, None
        if self._plan is None:
            self._plan = await self._make_plan()
        if isinstance(self._plan, RecipientFinding):
            return self._plan, None
        return await self._ask(address, self._plan.mx_addresses)

    async def _make_plan(self) -> RecipientFinding | MailRoute:
        context, settings = self._verifier.context, self._verifier.settings
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
        route = await find_route(mail, context.resolver, context.guard, settings.port)
        if route.mx_addresses:
            chosen = self._verifier.health.choose(self._domain, route.mx_addresses[0].host)
            if not isinstance(chosen, Identity):
                return RecipientFinding(Verdict.UNKNOWN, REFUSES_US, retry_in_s=chosen)
            self._identity = chosen
            return route
        if route.unanswered:
            return _NO_DNS
        why = "forbidden-address" if route.forbidden else "mail-host-without-address"
        return RecipientFinding(Verdict.UNKNOWN, why)

    async def _ask(
        self, address: str, mx_addresses: tuple[MxAddress, ...]
    ) -> tuple[RecipientFinding, MxAddress]:
        """Ask *mx_addresses* in order until one settles it; else return what was best.

        Each is asked about probes first, then about people.
        """
        undecided: list[tuple[RecipientFinding, MxAddress]] = []
        for mx in mx_addresses:
            exchanger = self._exchanger(mx)
            is_backup = any(other.host != mx.host for _, other in undecided)
            try:
                finding = await self._ask_one(exchanger, address, is_backup=is_backup)
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
        return min(undecided, key=lambda found: found[0].reason in _SILENT)

    async def _ask_one(
        self, exchanger: Exchanger, address: str, *, is_backup: bool
    ) -> RecipientFinding:
        probed = await self._probe(exchanger)
        if probed.outcome is ProbeOutcome.ACCEPTED:
            if is_backup:
                # It says nothing of the exchangers before it, which were not to be had.
                return RecipientFinding(
                    Verdict.UNKNOWN, "backup-accepts-anybody", retry_in_s=RETRY_TIMEOUT_S
                )
            self._learn(catch_all=True)
            return CATCH_ALL
        if probed.kind in _NOT_FOR_US:
            return RecipientFinding(
                Verdict.UNKNOWN, str(probed.kind), retry_in_s=probed.retry_in_s
            )
        if probed.outcome is ProbeOutcome.REFUSED and self.learned.catch_all is None:
            self._learn(catch_all=False)
        if probed.kind is ReplyKind.GREYLISTED:
            self._learn(greylists=True)
        finding = await judge(exchanger, address, probed, f"{self._names[1]}@{self._domain}")
        if finding.verdict is Verdict.CATCH_ALL:
            self._remember(exchanger.mx, ProbeResult(ProbeOutcome.ACCEPTED))
        return finding

    async def _probe(self, exchanger: Exchanger) -> ProbeResult:
        mx = exchanger.mx
        if mx not in self._probes:
            probed = self._verifier.memory.get(self._domain, mx.address)
            with self._transcript.shared():
                if probed is None:
                    probed = await probe(exchanger, self._names, self._domain)
                else:
                    self._transcript.note("C", f"[probed earlier: {probed.outcome}]")
            self._remember(mx, probed)
        return self._probes[mx]

    def _remember(self, mx: MxAddress, probed: ProbeResult) -> None:
        if self._probes.get(mx) != probed:
            self._probes[mx] = probed
            self._verifier.memory.put(self._domain, mx.address, probed)

    def _exchanger(self, mx: MxAddress) -> Exchanger:
        if mx not in self._exchangers:
            identity, health = self._identity, self._verifier.health
            assert identity is not None, "a plan comes first"
            self._exchangers[mx] = Exchanger(
                mx,
                self._domain,
                identity,
                self._verifier.settings,
                self._transcript.note,
                slots=self._verifier.limiter.of(mx.address),
                pause_timeout=self._pause_timeout,
                heard=lambda kind: health.note(identity, self._domain, mx.host, kind),
                one_recipient=self._one_recipient,
            )
        return self._exchangers[mx]

    def _learn(self, **facts: bool) -> None:
        self.learned = msgspec.structs.replace(self.learned, **facts)


@takes(SmtpSettings)
def from_context(context: VerifierContext) -> SmtpVerifier | None:
    """Return the verifier, or ``None`` if no ``helo`` is set: it has to be ours."""
    settings = msgspec.convert(context.settings, SmtpSettings)
    return SmtpVerifier(context, settings) if settings.helo else None
