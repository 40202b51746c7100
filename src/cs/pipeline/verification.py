"""Fourth stage: whose mailbox exists, at one mail domain."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

from cs.domain.contact import Candidate, Checked
from cs.domain.mail.conclusion import concluded, decisive
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.mail.patterns import candidates
from cs.domain.rule_sets import VERIFICATION
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
    tried: dict[str, Sequence[Evidence]] = {}
    waits: list[float] = []
    for address, made_by in candidates(
        candidate.first_name,
        candidate.last_name,
        mail_domain,
        pattern=pattern,
        named=candidate.addresses,
    ):
        tried[address] = found = await ask(checks, address)
        answer = decisive(found)
        if answer.verdict is Verdict.DELIVERABLE:
            return PersonCheck(_checked(candidate, mail_domain, tried), made_by)
        wait = _wait(answer)
        if wait is not None:
            waits.append(wait)
        elif answer.verdict is not Verdict.UNDELIVERABLE:
            break  # full, catch-all or a server that will not say: more guesses show nothing
    checked = _checked(candidate, mail_domain, tried)
    return PersonCheck(checked, retry_in_s=max(waits, default=None))


def _checked(
    candidate: Candidate, mail_domain: str, tried: Mapping[str, Sequence[Evidence]]
) -> Checked:
    conclusion = concluded(tried)
    return Checked(
        person=candidate.person,
        mail_domain=mail_domain,
        verdict=conclusion.verdict,
        address=conclusion.address,
        verifier=conclusion.verifier,
        evidence=tuple(each for found in tried.values() for each in found),
        rules=VERIFICATION,
    )


async def ask(checks: Sequence[DomainCheck], address: str) -> list[Evidence]:
    """Ask one verifier after the other until one settles *address*."""
    evidence: list[Evidence] = []
    for check in checks:
        found = await check.check(address)
        evidence.append(found)
        if found.verdict in _SETTLED:
            break
    return evidence


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
