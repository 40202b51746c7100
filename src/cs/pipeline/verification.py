"""Fourth stage: whose mailbox exists, at one mail domain."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from cs.domain.contact import Candidate, CheckedPerson
from cs.domain.mail.conclusion import concluded, decisive
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.mail.patterns import candidates, named_pattern
from cs.domain.rule_sets import VERIFICATION
from cs.domain.source_cost import micros_of
from cs.domain.source_order import PricedSource, in_order
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
from cs.pipeline.cost_meter import note_found, note_order
from cs.pipeline.misconfiguration import NONE, Misconfiguration
from cs.pipeline.waterfall import OpenedVerifier, PaidCaps, PaidQuestions, Waterfall
from cs.plugins.stages import Report
from cs.plugins.verifiers import DomainCheck, Verifier
from cs.runtime.lru import LruDict

EvidenceByAddress = Mapping[str, Sequence[Evidence]]

#: Attempts that are remembered: by one worker, those whose retry is not there yet.
_ATTEMPTS = 200
#: How long, by the deadlines of work: a lookup takes two minutes.
_REMEMBERED = timedelta(minutes=5)

_Refused = dict[str, EvidenceByAddress]  # by person


class Refusals:
    """Addresses found to be no mailbox, of people who are to be asked about again.

    By one worker: another one that gets the retry asks again.
    """

    def __init__(self) -> None:
        self._by_work = LruDict[tuple[str, str], tuple[datetime, _Refused]](_ATTEMPTS)

    def note(self, work: Work, undecided: Iterable[CheckedPerson]) -> None:
        """Remember what was refused of those who are *undecided* after *work*."""
        refused = {each.person: _refused(each) for each in undecided}
        if any(refused.values()):
            self._by_work[work.lookup, work.item] = (work.deadline_at, refused)

    def pop(self, work: Work) -> _Refused:
        """Return, by person, what an earlier attempt at *work* found; it is forgotten here."""
        oldest = work.deadline_at - _REMEMBERED
        self._by_work.evict_while(lambda noted: noted[0] < oldest)
        _, refused = self._by_work.pop((work.lookup, work.item), (None, {}))
        return refused


class PersonCheck(NamedTuple):
    """What came of one person at one mail domain.

    Attributes:
        made_by: The pattern of their address if they were verified.
        retry_in_s: How long to wait before asking again is worth it; ``None`` if it is not.
    """

    checked: CheckedPerson
    made_by: str | None = None
    retry_in_s: float | None = None


@dataclass(frozen=True)
class Verification:
    """Asks verifiers whose mailbox exists.

    Args:
        verifiers: Those that are free in the order of asking; the others come after them, by
            what a verified e-mail from each is expected to cost (`cs.domain.source_order`).
        misconfiguration: Where it is noted that there are none.
        questions: Counts what paid verifiers are asked.
        first: Names of verifiers in the operator's order.
    """

    verifiers: Sequence[Verifier]
    misconfiguration: Misconfiguration = field(default_factory=Misconfiguration)
    questions: PaidQuestions = field(default_factory=lambda: PaidQuestions(PaidCaps()))
    first: Sequence[str] = ()
    refusals: Refusals = field(default_factory=Refusals)
    name: StageName = "verification"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Check all candidates, best ranked first; report each that is settled at once."""
        asked = work.input
        assert isinstance(asked, VerificationInput)
        if not self.verifiers:
            self.misconfiguration.note("verifiers", NONE)
            return Failed(why=NO_VERIFIER, retryable=False)
        priced = [PricedSource(v.name, micros_of(v.cost), v) for v in self.verifiers]
        order = in_order(self.name, priced, work.figures, first=self.first)
        note_order((place.name, place.expected_micros) for place in order)
        settled: list[CheckedPerson] = []
        later: list[CheckedPerson] = []
        waits: list[float] = []
        async with AsyncExitStack() as stack:
            opened = [
                OpenedVerifier(
                    place.name,
                    place.expected_micros is not None,
                    await stack.enter_async_context(
                        place.who.open(asked.mail_domain, asked.known)
                    ),
                )
                for place in order
            ]
            pattern = asked.known.pattern
            # Until a person is verified, guessing begins with what sources say.
            refused = self.refusals.pop(work)
            guess = named_pattern(
                ((c.first_name, c.last_name, c.addresses) for c in asked.candidates),
                asked.mail_domain,
            )
            for candidate in asked.candidates:
                waterfall = Waterfall(
                    opened, self.questions, work.lookup, candidate.person, work.deadline_at
                )
                checkup = await _check(
                    waterfall,
                    candidate,
                    asked.mail_domain,
                    pattern or guess,
                    refused.get(candidate.person, {}),
                )
                pattern = checkup.made_by or pattern
                if checkup.checked.verifier is not None:
                    note_found(checkup.checked.verifier, used=1)
                if checkup.retry_in_s is None:
                    settled.append(checkup.checked)
                    await report(MailboxChecked(checkup.checked))
                else:
                    later.append(checkup.checked)
                    waits.append(checkup.retry_in_s)
            learned = _learned([each.domain for each in opened], pattern)
        if later:
            self.refusals.note(work, later)
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
    waterfall: Waterfall,
    candidate: Candidate,
    mail_domain: str,
    pattern: str | None,
    refused: EvidenceByAddress,
) -> PersonCheck:
    """Ask about the addresses that *candidate* may have, likeliest first.

    Not about those that are known to be no mailbox, nor those *refused* at an earlier attempt.
    """
    settled = {**refused, **{each.address: (each,) for each in candidate.settled}}
    made_by = dict(
        candidates(
            candidate.first_name,
            candidate.last_name,
            mail_domain,
            pattern=pattern,
            named=candidate.addresses,
        )
    )
    tried = await waterfall.ask(tuple(made_by), settled)
    checked = _checked(candidate, mail_domain, tried)
    if checked.address is not None:
        return PersonCheck(checked, made_by[checked.address])
    waits = [_wait(decisive(found)) for found in tried.values()]
    return PersonCheck(checked, retry_in_s=max(filter(None, waits), default=None))


def _checked(
    candidate: Candidate, mail_domain: str, tried: Mapping[str, Sequence[Evidence]]
) -> CheckedPerson:
    conclusion = concluded(tried)
    return CheckedPerson(
        person=candidate.person,
        mail_domain=mail_domain,
        verdict=conclusion.verdict,
        address=conclusion.address,
        verifier=conclusion.verifier,
        evidence=tuple(each for found in tried.values() for each in found),
        rules=VERIFICATION,
    )


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


def _refused(checked: CheckedPerson) -> EvidenceByAddress:
    found: dict[str, list[Evidence]] = {}
    for each in checked.evidence:
        found.setdefault(each.address, []).append(each)
    return {
        address: evidence
        for address, evidence in found.items()
        if decisive(evidence).verdict is Verdict.UNDELIVERABLE
    }
