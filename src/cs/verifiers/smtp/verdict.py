"""The questions to an exchanger, and the rules from its replies to a verdict."""

import msgspec

from cs.domain.mail.reply_meaning import (
    REFUSED,
    STATEMENTS,
    ReplyKind,
    ReplyMeaning,
    SmtpReply,
    same_words,
)
from cs.plugins.verifiers import Verdict
from cs.verifiers.smtp.connection import NoUsableReply
from cs.verifiers.smtp.exchanger import Exchanger
from cs.verifiers.smtp.probe import ProbeOutcome, ProbeResult

#: Enhanced codes (and Exchange Online's words for 5.4.1) that can be about nothing but
#: the recipient: no control is asked.
_ABOUT_RECIPIENT = ("5.1.", "5.4.1")


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
