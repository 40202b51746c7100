"""The exchangers of one mail domain, asked in order of preference: probe first, then people."""

from collections.abc import Callable

import msgspec

from cs.domain.mail.reply_meaning import ReplyKind
from cs.plugins.verifiers import DomainFacts, Verdict
from cs.verifiers.smtp.errors import NoUsableReply
from cs.verifiers.smtp.probe import ProbeMemory, ProbeOutcome, ProbeResult, probe_names
from cs.verifiers.smtp.session import MxAddress
from cs.verifiers.smtp.transcript import Transcript
from cs.verifiers.smtp.verdict import RecipientFinding, Recipients, judge, probe

#: Seconds after which the stage may ask again, where no server named a wait.
RETRY_TIMEOUT_S = 60.0
#: Replies to probes after which the exchanger is not asked about people at all.
_NOT_FOR_US = frozenset(
    {ReplyKind.ABOUT_US, ReplyKind.SENDER, ReplyKind.NOT_HOSTED, ReplyKind.STARTTLS}
)
CATCH_ALL = RecipientFinding(Verdict.CATCH_ALL, "catch-all", settles=True)
#: Why an exchanger gave no reply at all.
SILENT = frozenset({"connect", "proxy", "timeout", "closed", "protocol", "out-of-step", "tls"})


class Exchangers:
    """Those of *mail_domain*; what one question teaches serves the next.

    Args:
        known: What was known of the mail domain before.
        connect: Makes an exchanger, which opens no session before it is asked.
        memory: Outcomes of earlier probes.
        salt: Makes the probes of this installation its own.

    Attributes:
        learned: What is known of the mail domain by now.
    """

    def __init__(
        self,
        mail_domain: str,
        known: DomainFacts,
        transcript: Transcript,
        *,
        connect: Callable[[MxAddress], Recipients],
        memory: ProbeMemory,
        salt: str,
    ) -> None:
        self.learned = known
        self._domain = mail_domain
        self._transcript = transcript
        self._connect = connect
        self._memory = memory
        self._names = probe_names(mail_domain, salt)
        self._exchangers: dict[MxAddress, Recipients] = {}
        self._probes: dict[MxAddress, ProbeResult] = {}

    async def close(self) -> None:
        """End all sessions, politely."""
        for exchanger in self._exchangers.values():
            await exchanger.close()

    async def abort(self) -> None:
        """End all sessions, at once."""
        for exchanger in self._exchangers.values():
            await exchanger.abort()

    async def ask(
        self, address: str, mx_addresses: tuple[MxAddress, ...]
    ) -> tuple[RecipientFinding, MxAddress]:
        """Ask *mx_addresses* in order until one settles it; else return what was best."""
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
        return min(undecided, key=lambda found: found[0].reason in SILENT)

    async def _ask_one(
        self, exchanger: Recipients, address: str, *, is_backup: bool
    ) -> RecipientFinding:
        probe_result = await self._probe(exchanger)
        if probe_result.outcome is ProbeOutcome.ACCEPTED:
            if is_backup:
                # It says nothing of the exchangers before it, which were not to be had.
                return RecipientFinding(
                    Verdict.UNKNOWN, "backup-accepts-anybody", retry_in_s=RETRY_TIMEOUT_S
                )
            self._learn(catch_all=True)
            return CATCH_ALL
        if probe_result.kind in _NOT_FOR_US:
            return RecipientFinding(
                Verdict.UNKNOWN, str(probe_result.kind), retry_in_s=probe_result.retry_in_s
            )
        if probe_result.outcome is ProbeOutcome.REFUSED and self.learned.catch_all is None:
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
            probe_result = self._memory.get(self._domain, mx.address)
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
            self._memory.put(self._domain, mx.address, probe_result)

    def _exchanger(self, mx: MxAddress) -> Recipients:
        if mx not in self._exchangers:
            self._exchangers[mx] = self._connect(mx)
        return self._exchangers[mx]

    def _learn(self, **facts: bool) -> None:
        self.learned = msgspec.structs.replace(self.learned, **facts)
