"""Which verifiers to ask about one person's addresses, and when to stop: free before paid.

Guessed addresses go through the free verifiers first, our own among them.  A paid one is asked
only about what they left open and what waiting will not settle, one address after the other,
and never more often than the caps allow.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from cs.domain.mail.conclusion import decisive
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.pipeline.cost_meter import asking, note_found
from cs.plugins.verifiers import DomainCheck
from cs.runtime.lru import LruDict

#: Verdicts after which no other verifier is asked about an address.
SETTLED = frozenset(
    {Verdict.DELIVERABLE, Verdict.UNDELIVERABLE, Verdict.MAILBOX_FULL, Verdict.CATCH_ALL}
)
#: Searches whose paid calls are counted.
_SEARCHES = 1_000


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
