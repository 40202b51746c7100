"""From what an exchanger says to a verdict: the rules, and the questions they call for."""

import msgspec

from cs.domain.mail.reply import Reply
from cs.domain.mail.reply_meaning import REFUSED, STATEMENTS, Kind, Meaning, same_words
from cs.plugins.verifiers import Verdict
from cs.verifiers.smtp.exchanger import Exchanger, Useless
from cs.verifiers.smtp.probe import Outcome, Probe

#: Enhanced codes (and Exchange Online's words for 5.4.1) that can be about nothing but
#: the recipient: no control is asked.
_ABOUT_RECIPIENT = ("5.1.", "5.4.1")


class Finding(msgspec.Struct, frozen=True):
    """What one exchange had to say about one address.

    ``settles`` is true when no other exchanger need be asked.
    """

    verdict: Verdict
    reason: str
    settles: bool = False
    retry_in_s: float | None = None


async def probe(exchanger: Exchanger, names: tuple[str, ...], mail_domain: str) -> Probe:
    """Ask about *names*, which nobody has, in a session of their own.

    Refused only if every one is refused as a recipient.  A bare 550 counts as that if the
    same session accepts the postmaster.

    Raises:
        Useless: As `Exchanger.ask`.
    """
    await exchanger.hang_up()
    bare, doubt = False, None
    for name in names:
        _, said = await exchanger.ask(f"{name}@{mail_domain}")
        match said.kind:
            case Kind.ACCEPTED:
                await exchanger.hang_up()
                return Probe(Outcome.ACCEPTED)
            case Kind.BARE:
                bare = True
            case kind:
                doubt = doubt or (None if kind in REFUSED else said)
    if bare and doubt is None:
        control = await exchanger.ask_beside(f"postmaster@{mail_domain}")
        if control is None or control[1].kind is not Kind.ACCEPTED:
            doubt = Meaning(Kind.BARE)
    await exchanger.hang_up()
    if doubt is not None:
        return Probe(Outcome.INCONCLUSIVE, doubt.kind, doubt.retry_in_s)
    return Probe(Outcome.REFUSED)


async def judge(exchanger: Exchanger, address: str, probed: Probe, unlikely: str) -> Finding:
    """Ask about *address* and return what is found.

    Args:
        exchanger: Whom to ask.
        address: The mailbox in question.
        probed: What the exchanger did with names that nobody has; not ``ACCEPTED``.
        unlikely: An address that nobody has, to make sure of an acceptance.

    Raises:
        Useless: As `Exchanger.ask`.
    """
    # Room for a control beside it, so that both are said by the same machine.
    reply, said = await exchanger.ask(address, room_for=1 if exchanger.sifts else 2)
    match said.kind:
        case Kind.ACCEPTED:
            return await _accepted(exchanger, probed, unlikely)
        case Kind.RECIPIENT_REFUSED | Kind.DISABLED | Kind.FULL | Kind.BARE:
            return await _refused(exchanger, address, reply, said)
        case kind:
            return Finding(
                Verdict.UNKNOWN,
                kind.value,
                settles=kind in STATEMENTS,
                retry_in_s=_later(said, probed),
            )


async def _accepted(exchanger: Exchanger, probed: Probe, unlikely: str) -> Finding:
    exchanger.vouched = True
    if probed.outcome is not Outcome.REFUSED:
        return Finding(
            Verdict.UNKNOWN, "probe-inconclusive", settles=True, retry_in_s=probed.retry_in_s
        )
    # Behind one address there may be machines that differ, and some servers accept
    # everything after a while: the same session must still refuse what nobody has.
    if not exchanger.sifts:
        beside = await exchanger.ask_beside(unlikely)
        if beside is not None and beside[1].kind is Kind.ACCEPTED:
            return Finding(Verdict.CATCH_ALL, "accepts-anybody", settles=True)
        exchanger.sifts = beside is not None and beside[1].kind in REFUSED
    return Finding(Verdict.DELIVERABLE, "recipient-accepted", settles=True)


async def _refused(exchanger: Exchanger, address: str, reply: Reply, said: Meaning) -> Finding:
    verdict = Verdict.MAILBOX_FULL if said.kind is Kind.FULL else Verdict.UNDELIVERABLE
    finding = Finding(verdict, said.kind.value, settles=True, retry_in_s=said.retry_in_s)
    if reply.code // 100 == 4 or (reply.enhanced or "").startswith(_ABOUT_RECIPIENT):
        return finding
    bare = said.kind is Kind.BARE
    if exchanger.vouched and not bare:
        return finding
    return (
        finding
        if await _control_allows(exchanger, address, reply, bare=bare)
        else (
            Finding(
                Verdict.UNKNOWN,
                Kind.BARE.value if bare else "refused-like-postmaster",
            )
        )
    )


async def _control_allows(
    exchanger: Exchanger, address: str, reply: Reply, *, bare: bool
) -> bool:
    """Ask about the postmaster: is it this recipient that is refused, or are we?"""
    domain = address.rpartition("@")[2]
    postmaster = f"postmaster@{domain}"
    control = await exchanger.ask_beside(postmaster)
    if bare:
        return control is not None and control[1].kind is Kind.ACCEPTED
    if control is None or control[1].kind is Kind.TOO_MANY:
        try:
            control = await exchanger.ask(postmaster)
        except Useless:
            return True  # the words stand for themselves
    if control[1].kind is Kind.ACCEPTED:
        exchanger.vouched = True
        return True
    echoed = (address, postmaster, domain, exchanger.exchange.host)
    return not same_words(reply, control[0], echoed)


def _later(said: Meaning, probed: Probe) -> float | None:
    waits = [wait for wait in (said.retry_in_s, probed.retry_in_s) if wait is not None]
    return max(waits, default=None)
