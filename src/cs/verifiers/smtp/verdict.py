"""The rules that lead from the replies of exchangers to a verdict, and the questions asked.

`Exchangers.ask` asks in this order: probes first, then people, one exchanger after the other.
"""

from collections.abc import Callable

import msgspec

from cs.domain.mail.reply import SmtpReply
from cs.domain.mail.reply_meaning import (
    REFUSED,
    STATEMENTS,
    ReplyKind,
    ReplyMeaning,
    same_words,
)
from cs.plugins.verifiers import DomainFacts, Verdict
from cs.verifiers.smtp.exchanger import RETRY_TIMEOUT_S, Exchanger, NoUsableReply
from cs.verifiers.smtp.probe import ProbeMemory, ProbeOutcome, ProbeResult
from cs.verifiers.smtp.session import MxAddress
from cs.verifiers.smtp.transcript import Transcript

#: Enhanced codes (and Exchange Online's words for 5.4.1) that can be about nothing but
#: the recipient: no control is asked.
_ABOUT_RECIPIENT = ("5.1.", "5.4.1")
#: Replies to probes after which the exchanger is not asked about people at all.
_NOT_FOR_US = frozenset(
    {ReplyKind.ABOUT_US, ReplyKind.SENDER, ReplyKind.NOT_HOSTED, ReplyKind.STARTTLS}
)
#: Why an exchanger gave no reply at all.
SILENT = frozenset({"connect", "proxy", "timeout", "closed", "protocol", "out-of-step", "tls"})


class RecipientFinding(msgspec.Struct, frozen=True):
    """The answer of one exchanger about one address.

    ``settles`` is true when no other exchanger need be asked.
    """

    verdict: Verdict
    reason: str
    settles: bool = False
    retry_in_s: float | None = None


CATCH_ALL = RecipientFinding(Verdict.CATCH_ALL, "catch-all", settles=True)


async def probe(exchanger: Exchanger, names: tuple[str, ...], mail_domain: str) -> ProbeResult:
    """Ask about *names*, which do not exist, in a session of their own.

    Refused only if every one is refused as a recipient.  A bare 550 counts as that if the
    same session accepts the postmaster.

    Raises:
        NoUsableReply: As `Exchanger.ask`.
    """
    await exchanger.hang_up()
    bare, doubt = False, None
    for name in names:
        _, meaning = await exchanger.ask(f"{name}@{mail_domain}")
        match meaning.kind:
            case ReplyKind.ACCEPTED:
                await exchanger.hang_up()
                return ProbeResult(ProbeOutcome.ACCEPTED)
            case ReplyKind.BARE:
                bare = True
            case kind:
                doubt = doubt or (None if kind in REFUSED else meaning)
    if bare and doubt is None:
        control = await exchanger.ask_in_same_session(f"postmaster@{mail_domain}")
        if not _is_accepted(control):
            doubt = ReplyMeaning(ReplyKind.BARE)
    await exchanger.hang_up()
    if doubt is not None:
        return ProbeResult(ProbeOutcome.INCONCLUSIVE, doubt.kind, doubt.retry_in_s)
    return ProbeResult(ProbeOutcome.REFUSED)


async def judge(
    exchanger: Exchanger, address: str, probe_result: ProbeResult, unlikely: str
) -> RecipientFinding:
    """Ask about *address* and return what is found.

    Args:
        exchanger: The server to ask.
        address: The mailbox in question.
        probe_result: The exchanger's answer about names that do not exist; not ``ACCEPTED``.
        unlikely: An address that does not exist, to make sure of an acceptance.

    Raises:
        NoUsableReply: As `Exchanger.ask`.
    """
    # Room for a control with it, so that both answers are of the same machine.
    reply, meaning = await exchanger.ask(
        address, room_for=1 if exchanger.refuses_unknown else 2
    )
    match meaning.kind:
        case ReplyKind.ACCEPTED:
            return await _accepted(exchanger, address, probe_result, unlikely)
        case ReplyKind.RECIPIENT_REFUSED | ReplyKind.DISABLED | ReplyKind.FULL | ReplyKind.BARE:
            return await _refused(exchanger, address, reply, meaning)
        case kind:
            return RecipientFinding(
                Verdict.UNKNOWN,
                kind.value,
                settles=kind in STATEMENTS,
                retry_in_s=_later(meaning, probe_result),
            )


async def _accepted(
    exchanger: Exchanger, address: str, probe_result: ProbeResult, unlikely: str
) -> RecipientFinding:
    exchanger.accepted = address
    if probe_result.outcome is not ProbeOutcome.REFUSED:
        return RecipientFinding(
            Verdict.UNKNOWN,
            "probe-inconclusive",
            settles=True,
            retry_in_s=probe_result.retry_in_s,
        )
    # Behind one address there may be machines that differ, and some servers accept
    # everything after a while: the same session must still refuse what does not exist.
    if not exchanger.refuses_unknown:
        control = await exchanger.ask_in_same_session(unlikely)
        if control is not None and control[1].kind is ReplyKind.ACCEPTED:
            return RecipientFinding(Verdict.CATCH_ALL, "accepts-anybody", settles=True)
        exchanger.refuses_unknown = control is not None and control[1].kind in REFUSED
    return RecipientFinding(Verdict.DELIVERABLE, "recipient-accepted", settles=True)


async def _refused(
    exchanger: Exchanger, address: str, reply: SmtpReply, meaning: ReplyMeaning
) -> RecipientFinding:
    verdict = Verdict.MAILBOX_FULL if meaning.kind is ReplyKind.FULL else Verdict.UNDELIVERABLE
    finding = RecipientFinding(
        verdict, meaning.kind.value, settles=True, retry_in_s=meaning.retry_in_s
    )
    if needs_no_control(reply):
        return finding
    postmaster = f"postmaster@{address.rpartition('@')[2]}"
    if meaning.kind is ReplyKind.BARE:
        if await _accepts_another(exchanger, address, postmaster):
            return finding
        return RecipientFinding(Verdict.UNKNOWN, ReplyKind.BARE.value)
    if exchanger.accepted or await _control_allows(exchanger, address, postmaster, reply):
        return finding
    return RecipientFinding(Verdict.UNKNOWN, "refused-like-postmaster")


def needs_no_control(reply: SmtpReply) -> bool:
    """Say whether the refusal *reply* counts without a control that the server accepts."""
    return reply.code // 100 == 4 or (reply.enhanced or "").startswith(_ABOUT_RECIPIENT)


async def _accepts_another(exchanger: Exchanger, address: str, postmaster: str) -> bool:
    """Say whether a session that refuses *address* without a word accepts another address.

    Asked are who was accepted before, and the postmaster.  Where the server hung up after the
    refusal, the control is asked first and *address* after it.
    """
    controls = [c for c in dict.fromkeys((exchanger.accepted, postmaster)) if c != address]
    for control in filter(None, controls):
        answer = await exchanger.ask_in_same_session(control)
        if _is_accepted(answer):
            return True
        if answer is None:
            return await _accepts_before(exchanger, address, control)
    return False


async def _accepts_before(exchanger: Exchanger, address: str, control: str) -> bool:
    """Say whether a new session accepts *control* and then refuses *address*, wordless."""
    try:
        answer = await exchanger.ask(control, room_for=2)
    except NoUsableReply:
        return False
    if not _is_accepted(answer):
        return False
    again = await exchanger.ask_in_same_session(address)
    return again is not None and again[1].kind is ReplyKind.BARE


def _is_accepted(answer: tuple[SmtpReply, ReplyMeaning] | None) -> bool:
    return answer is not None and answer[1].kind is ReplyKind.ACCEPTED


async def _control_allows(
    exchanger: Exchanger, address: str, postmaster: str, reply: SmtpReply
) -> bool:
    """Ask about the postmaster: is it this recipient that is refused, or are we?"""
    control = await exchanger.ask_in_same_session(postmaster)
    if control is None or control[1].kind is ReplyKind.TOO_MANY:
        try:
            control = await exchanger.ask(postmaster)
        except NoUsableReply:
            return True  # the words stand for themselves
    if _is_accepted(control):
        exchanger.accepted = postmaster
        return True
    echoed = (address, postmaster, address.rpartition("@")[2], exchanger.mx.host)
    return not same_words(reply, control[0], echoed)


def _later(meaning: ReplyMeaning, probe_result: ProbeResult) -> float | None:
    waits = [wait for wait in (meaning.retry_in_s, probe_result.retry_in_s) if wait is not None]
    return max(waits, default=None)


class Exchangers:
    """Those of *mail_domain*; what one question teaches serves the next.

    Args:
        known: The facts about the mail domain known before.
        connect: Makes an exchanger, which opens no session before it is asked.
        memory: Outcomes of earlier probes.
        names: Two local parts that do not exist (`cs.verifiers.smtp.probe.probe_names`).

    Attributes:
        learned: The facts about the mail domain known by now.
    """

    def __init__(
        self,
        mail_domain: str,
        known: DomainFacts,
        transcript: Transcript,
        *,
        connect: Callable[[MxAddress], Exchanger],
        memory: ProbeMemory,
        names: tuple[str, str],
    ) -> None:
        self.learned = known
        self._domain = mail_domain
        self._transcript = transcript
        self._connect = connect
        self._memory = memory
        self._names = names
        self._exchangers: dict[MxAddress, Exchanger] = {}
        self._probes: dict[MxAddress, ProbeResult] = {}

    async def hang_up(self) -> None:
        """End all sessions, politely."""
        for exchanger in self._exchangers.values():
            await exchanger.hang_up()

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
        self, exchanger: Exchanger, address: str, *, is_backup: bool
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

    async def _probe(self, exchanger: Exchanger) -> ProbeResult:
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

    def _exchanger(self, mx: MxAddress) -> Exchanger:
        if mx not in self._exchangers:
            self._exchangers[mx] = self._connect(mx)
        return self._exchangers[mx]

    def _learn(self, **facts: bool) -> None:
        self.learned = msgspec.structs.replace(self.learned, **facts)
