"""Fourth stage: whose mailbox exists, at one mail domain."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from cs.domain.address_patterns import candidates
from cs.domain.contact import Candidate, Checked
from cs.domain.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.stage_work import (
    AnyFinding,
    DomainVerified,
    Failed,
    MailboxChecked,
    StageName,
    VerificationInput,
    Work,
)
from cs.pipeline.stage import Report
from cs.verifiers.port import DomainCheck, Verifier

#: Verdicts after which no other verifier is asked about an address.
_SETTLED = frozenset({Verdict.DELIVERABLE, Verdict.UNDELIVERABLE, Verdict.MAILBOX_FULL})
#: What a person's addresses add up to, if none is deliverable: the least certain counts.
_WEIGHT = (Verdict.UNKNOWN, Verdict.CATCH_ALL, Verdict.MAILBOX_FULL, Verdict.UNDELIVERABLE)


@dataclass(frozen=True)
class Verification:
    """Args: *verifiers*: cheapest first."""

    verifiers: Sequence[Verifier]
    name: StageName = "verification"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Check everybody, best ranked first; whoever is settled is reported at once."""
        asked = work.input
        assert isinstance(asked, VerificationInput)
        if not self.verifiers:
            return Failed(why="no-verifier-configured", retryable=False)
        settled: list[Checked] = []
        later: list[Checked] = []
        waits: list[float] = []
        async with AsyncExitStack() as stack:
            checks = [
                await stack.enter_async_context(v.open(asked.mail_domain, asked.known))
                for v in self.verifiers
            ]
            pattern = asked.known.pattern
            for candidate in asked.candidates:
                checked, found = await _check(checks, candidate, asked.mail_domain, pattern)
                pattern = found or pattern
                wait_s = _retry_in_s(checked)
                if wait_s is None:
                    settled.append(checked)
                    await report(MailboxChecked(checked))
                else:
                    later.append(checked)
                    waits.append(wait_s)
            learned = _learned(checks, pattern)
        if later:
            return Failed(
                why="greylisted",
                retryable=True,
                # The soonest: who is asked to wait longer is put off again then.
                retry_in_s=min(waits),
                checked=tuple(later),
                learned=learned,
            )
        return DomainVerified(tuple(settled), learned)


async def _check(
    checks: Sequence[DomainCheck],
    candidate: Candidate,
    mail_domain: str,
    pattern: str | None,
) -> tuple[Checked, str | None]:
    """Return what was found for *candidate*, and the pattern of their address if verified.

    Addresses are tried until one is deliverable or says something about the whole domain.
    """
    evidence: list[Evidence] = []
    for address, made_by in candidates(
        candidate.first_name,
        candidate.last_name,
        mail_domain,
        pattern=pattern,
        named=candidate.addresses,
    ):
        found = await ask(checks, address)
        evidence += found
        best = found[-1]
        if best.verdict is Verdict.DELIVERABLE:
            checked = Checked(
                person=candidate.person,
                mail_domain=mail_domain,
                verdict=best.verdict,
                address=address,
                verifier=best.verifier,
                evidence=tuple(evidence),
            )
            return checked, made_by
        if best.verdict is not Verdict.UNDELIVERABLE and best.retry_in_s is None:
            break  # full, catch-all or a server that will not say: more guesses tell nothing
    return _unverified(candidate, mail_domain, evidence), None


async def ask(checks: Sequence[DomainCheck], address: str) -> list[Evidence]:
    """Ask one verifier after the other until one settles *address*."""
    evidence: list[Evidence] = []
    for check in checks:
        found = await check.check(address)
        evidence.append(found)
        if found.verdict in _SETTLED:
            break
    return evidence


def _unverified(
    candidate: Candidate, mail_domain: str, evidence: Sequence[Evidence]
) -> Checked:
    verdicts = {each.verdict for each in evidence} or {Verdict.UNKNOWN}
    return Checked(
        person=candidate.person,
        mail_domain=mail_domain,
        verdict=next(verdict for verdict in _WEIGHT if verdict in verdicts),
        evidence=tuple(evidence),
    )


def _retry_in_s(checked: Checked) -> float | None:
    """Return how long to wait before asking again is worth it; ``None`` if it is not."""
    if checked.verdict is Verdict.DELIVERABLE:
        return None
    waits = [e.retry_in_s for e in checked.evidence if e.retry_in_s is not None]
    return max(waits, default=None)


def _learned(checks: Sequence[DomainCheck], pattern: str | None) -> DomainFacts:
    """Return what all verifiers together learned, the cheapest one's word first."""
    facts = [check.learned for check in checks]

    def first(name: str) -> bool | None:
        return next((v for f in facts if (v := getattr(f, name)) is not None), None)

    return DomainFacts(
        catch_all=first("catch_all"),
        greylists=first("greylists"),
        one_recipient=first("one_recipient"),
        pattern=pattern,
    )
