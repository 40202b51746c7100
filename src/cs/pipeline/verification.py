"""Fourth stage: whose mailbox exists, at one mail domain.

Which verifiers are asked about one person's addresses, and when to stop: free before paid.
Guessed addresses go through the free verifiers first, our own among them.  A paid one is asked
only about what they left open and what waiting will not settle, one address after the other,
and never more often than the caps allow.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

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
from cs.pipeline.cost_meter import asking, note_found, note_order
from cs.pipeline.misconfiguration import NONE, Misconfiguration
from cs.plugins.stages import Report
from cs.plugins.verifiers import DomainCheck, Verifier
from cs.runtime.lru import LruDict

EvidenceByAddress = Mapping[str, Sequence[Evidence]]

#: Verdicts after which no other verifier is asked about an address.
SETTLED = frozenset(
    {Verdict.DELIVERABLE, Verdict.UNDELIVERABLE, Verdict.MAILBOX_FULL, Verdict.CATCH_ALL}
)
#: Searches whose paid calls are counted.
_SEARCHES = 1_000
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


class PaidCaps(msgspec.Struct, frozen=True, kw_only=True):
    """How many questions to paid verifiers are made at most.

    Attributes:
        per_person: About one person in one search, whatever the mail domains.
        per_search: For one search, by one worker.
    """

    per_person: int = 4
    per_search: int = 30


class PaidQuestions:
    """Counts the questions to paid verifiers, each address and verifier once a search."""

    def __init__(self, caps: PaidCaps) -> None:
        self._caps = caps
        self._asked = LruDict[str, set[tuple[str, str]]](_SEARCHES)

    def allowed(self, search: str, person: str, verifier: str, address: str) -> bool:
        """Say whether *verifier* may be asked about *address*, and count it if it may.

        What was asked before is answered from memory, and costs nothing.
        """
        asked = self._asked.get(search)
        if asked is None:
            asked = self._asked[search] = set()
        question = (f"{person}:{verifier}", address)
        if question in asked:
            return True
        of_person = sum(who.startswith(f"{person}:") for who, _ in asked)
        if len(asked) >= self._caps.per_search or of_person >= self._caps.per_person:
            return False
        asked.add(question)
        return True


class OpenedVerifier(NamedTuple):
    """A verifier that is open for one mail domain."""

    name: str
    is_paid: bool
    domain: DomainCheck

    async def check(self, address: str) -> Evidence:
        """Ask about *address*, and count what that cost and gave."""
        with asking(self.name):
            evidence = await self.domain.check(address)
        note_found(self.name, found=int(evidence.verdict is Verdict.DELIVERABLE))
        return evidence


class Waterfall(NamedTuple):
    """Asks about one person.

    Attributes:
        verifiers: In the order of asking.
        questions: Counts the paid ones.
        search: The lookup.
        person: Who it is, for the caps.
        deadline_at: When the work has to be done.
    """

    verifiers: Sequence[OpenedVerifier]
    questions: PaidQuestions
    search: str
    person: str
    deadline_at: datetime

    async def ask(
        self, addresses: Sequence[str], settled: Mapping[str, Sequence[Evidence]]
    ) -> dict[str, list[Evidence]]:
        """Return what was found out about *addresses*, by address, in the order of asking.

        It ends with a deliverable one, or an answer that is about all of the domain.  No one is
        asked about those that are *settled*: what is known of them is returned as it is.
        """
        tried = {each: list(settled[each]) for each in addresses if each in settled}
        if not await self._ask_free(addresses, tried) and not self._is_worth_waiting(tried):
            await self._ask_paid(addresses, tried)
        return tried

    async def _ask_free(
        self, addresses: Sequence[str], tried: dict[str, list[Evidence]]
    ) -> bool:
        """Ask those that cost nothing; return whether there is nothing left to ask."""
        free = [each for each in self.verifiers if not each.is_paid]
        if not free:
            return False
        for address in addresses:
            if address in tried:
                continue
            tried[address] = found = await ask(free, address)
            answer = decisive(found)
            if ends_guessing(answer):
                return answer.verdict is not Verdict.UNKNOWN
        return all(decisive(found).verdict in SETTLED for found in tried.values())

    async def _ask_paid(
        self, addresses: Sequence[str], tried: dict[str, list[Evidence]]
    ) -> None:
        paid = [each for each in self.verifiers if each.is_paid]
        for address in addresses if paid else ():
            before = tried.get(address, [])
            if before and decisive(before).verdict in SETTLED:
                continue
            found: list[Evidence] = []
            for verifier in paid:
                if not self.questions.allowed(self.search, self.person, verifier.name, address):
                    break
                found.append(await verifier.check(address))
                if found[-1].verdict in SETTLED:
                    break
            if not found:
                return
            tried[address] = [*before, *found]
            if decisive(tried[address]).verdict is not Verdict.UNDELIVERABLE:
                return  # found, about all of the domain, or no use in asking on

    def _is_worth_waiting(self, tried: Mapping[str, Sequence[Evidence]]) -> bool:
        """Say whether a free answer will be there in time."""
        answers = [decisive(found) for found in tried.values()]
        waits = [
            answer.at + timedelta(seconds=answer.retry_in_s)
            for answer in answers
            if answer.verdict is Verdict.UNKNOWN and answer.retry_in_s is not None
        ]
        return bool(waits) and max(waits) < self.deadline_at


async def ask(
    verifiers: Sequence[DomainCheck] | Sequence[OpenedVerifier], address: str
) -> list[Evidence]:
    """Ask one verifier after the other until one settles *address*."""
    evidence: list[Evidence] = []
    for verifier in verifiers:
        found = await verifier.check(address)
        evidence.append(found)
        if found.verdict in SETTLED:
            break
    return evidence


def ends_guessing(answer: Evidence) -> bool:
    """Say whether other guesses at this domain would show nothing more.

    Not if this one is refused, or to be asked about again.
    """
    waits = answer.verdict is Verdict.UNKNOWN and answer.retry_in_s is not None
    return answer.verdict is not Verdict.UNDELIVERABLE and not waits


class PersonCheck(NamedTuple):
    """The result for one person at one mail domain.

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
