"""Fourth stage: whose mailbox exists, at one mail domain."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

from cs.domain.contact import Candidate, Checked
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.mail.patterns import candidates
from cs.domain.stages.work import (
    NO_VERIFIER,
    AnyFinding,
    DomainVerified,
    Failed,
    MailboxChecked,
    StageName,
    VerificationInput,
    Work,
)
from cs.pipeline.misconfiguration import NONE, Misconfiguration
from cs.plugins.stages import Report
from cs.plugins.verifiers import DomainCheck, Verifier

#: Verdicts after which no other verifier is asked about an address.
_SETTLED = frozenset({Verdict.DELIVERABLE, Verdict.UNDELIVERABLE, Verdict.MAILBOX_FULL})
#: From knowing least to knowing most.  Of what several verifiers say of one address the
#: last in this order counts, of a person's several addresses the first.
_CERTAINTY = (
    Verdict.UNKNOWN,
    Verdict.CATCH_ALL,
    Verdict.MAILBOX_FULL,
    Verdict.UNDELIVERABLE,
    Verdict.DELIVERABLE,
)


class PersonCheck(NamedTuple):
    """What came of one person at one mail domain.

    Attributes:
        made_by: The pattern of their address if they were verified.
        retry_in_s: How long to wait before asking again is worth it; ``None`` if it is not.
    """

    checked: Checked
    made_by: str | None = None
    retry_in_s: float | None = None


@dataclass(frozen=True)
class Verification:
    """Args: *verifiers*: cheapest first."""

    verifiers: Sequence[Verifier]
    misconfiguration: Misconfiguration = field(default_factory=Misconfiguration)
    name: StageName = "verification"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Check everybody, best ranked first; whoever is settled is reported at once."""
        asked = work.input
        assert isinstance(asked, VerificationInput)
        if not self.verifiers:
            self.misconfiguration.note_broken("verifiers", NONE)
            return Failed(why=NO_VERIFIER, retryable=False)
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
                checkup = await _check(checks, candidate, asked.mail_domain, pattern)
                pattern = checkup.made_by or pattern
                if checkup.retry_in_s is None:
                    settled.append(checkup.checked)
                    await report(MailboxChecked(checkup.checked))
                else:
                    later.append(checkup.checked)
                    waits.append(checkup.retry_in_s)
            learned = _learned(checks, pattern)
        if later:
            return Failed(
                why="try-later",
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
) -> PersonCheck:
    """Try addresses until one is deliverable or its answer is about all of the domain."""
    evidence: list[Evidence] = []
    answers: list[Evidence] = []
    for address, made_by in candidates(
        candidate.first_name,
        candidate.last_name,
        mail_domain,
        pattern=pattern,
        named=candidate.addresses,
    ):
        found = await ask(checks, address)
        evidence += found
        answer = _decisive(found)
        answers.append(answer)
        if answer.verdict is Verdict.DELIVERABLE:
            verified = Checked(
                person=candidate.person,
                mail_domain=mail_domain,
                verdict=answer.verdict,
                address=address,
                verifier=answer.verifier,
                evidence=tuple(evidence),
            )
            return PersonCheck(verified, made_by)
        if answer.verdict is not Verdict.UNDELIVERABLE and _wait(answer) is None:
            break  # full, catch-all or a server that will not say: more guesses show nothing
    unverified = Checked(
        person=candidate.person,
        mail_domain=mail_domain,
        verdict=min(
            (w.verdict for w in answers), key=_CERTAINTY.index, default=Verdict.UNKNOWN
        ),
        evidence=tuple(evidence),
    )
    waits = [wait for answer in answers if (wait := _wait(answer)) is not None]
    return PersonCheck(unverified, retry_in_s=max(waits, default=None))


async def ask(checks: Sequence[DomainCheck], address: str) -> list[Evidence]:
    """Ask one verifier after the other until one settles *address*."""
    evidence: list[Evidence] = []
    for check in checks:
        found = await check.check(address)
        evidence.append(found)
        if found.verdict in _SETTLED:
            break
    return evidence


def _decisive(found: Sequence[Evidence]) -> Evidence:
    """Return the evidence that counts, of what verifiers found about one address.

    Of those that know equally much, the one that would be asked again.
    """
    return max(found, key=lambda e: (_CERTAINTY.index(e.verdict), e.retry_in_s or 0.0))


def _wait(answer: Evidence) -> float | None:
    """Return how long to wait before asking again; ``None`` for what is known."""
    return answer.retry_in_s if answer.verdict is Verdict.UNKNOWN else None


def _learned(checks: Sequence[DomainCheck], pattern: str | None) -> DomainFacts:
    """Return what all verifiers together learned, the cheapest one's facts first."""
    facts = [check.learned for check in checks]

    def first(name: str) -> bool | None:
        return next((v for f in facts if (v := getattr(f, name)) is not None), None)

    return DomainFacts(
        catch_all=first("catch_all"),
        greylists=first("greylists"),
        one_recipient=first("one_recipient"),
        pattern=pattern,
    )
