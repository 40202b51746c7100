"""Third stage: who of them is shown, and in which order.

It asks no service, unless the operator has a language model of their own for headlines that the
rules are unsure of (`cs.opinions`).  Without its answer the rules decide alone.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from structlog import get_logger

from cs.domain.contact import Opinion
from cs.domain.opinions import nameless
from cs.domain.ranking import doubts_of, rank
from cs.domain.roles.role import classify
from cs.domain.rule_sets import RANKING
from cs.domain.stages.work import AnyFinding, RankingDone, RankingInput, StageName, Work
from cs.opinions.language_model import AT_ONCE, LanguageModel, UnsureHeadline
from cs.pipeline.cost_meter import asking, note_found
from cs.plugins.stages import Report

log = get_logger()

#: People ranked on the event loop: some 0.35 ms each, so that no call waits 20 ms for them.
RANKED_ON_THE_LOOP = 40
#: Of the 20 s of an attempt: then they are ranked without an opinion.
OPINION_S = 14.0


@dataclass(frozen=True)
class Ranking:
    """See the module; *second_opinion* is asked where the rules are unsure of a headline."""

    name: StageName = "ranking"
    second_opinion: LanguageModel | None = None

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        del report
        assert isinstance(work.input, RankingInput)
        given = work.input
        opinions, causes = await self._opinions(work.lookup, given)
        ranking = partial(
            rank, given.brand, given.people, limit=given.contacts, opinions=opinions
        )
        if len(given.people) <= RANKED_ON_THE_LOOP:
            ranked, left_out = ranking()
        else:
            ranked, left_out = await asyncio.to_thread(ranking)
        return RankingDone(
            ranked=ranked,
            left_out=left_out,
            rules=RANKING,
            opinions=tuple(opinions),
            causes=causes,
        )

    async def _opinions(
        self, lookup: str, given: RankingInput
    ) -> tuple[Sequence[Opinion], dict[str, str]]:
        """Return the opinions on headlines of *given*, and why there is none on others."""
        model = self.second_opinion
        if model is None:
            return (), {}
        unsure = await asyncio.to_thread(unsure_headlines, given)
        if not unsure:
            return (), {}
        with asking(model.name):
            opinions = await model.of(unsure, timeout_s=OPINION_S)
        found = [
            opinions.found[each.person] for each in unsure if each.person in opinions.found
        ]
        note_found(model.name, found=len(found))
        if not opinions.problems:
            return found, {}
        problem = next(iter(opinions.problems.values()))
        log.warning(
            "no_second_opinion",
            lookup=lookup,
            why=problem.why,
            headlines=len(opinions.problems),
        )
        return found, {model.name: problem.kind.value}


def unsure_headlines(given: RankingInput) -> list[UnsureHeadline]:
    """Return the headlines of *given* that the rules are unsure of, the first `AT_ONCE`."""
    found: list[UnsureHeadline] = []
    for person in given.people:
        headline = person.headline or ""
        doubts = doubts_of(given.brand, person, classify(headline))
        if doubts and len(found) < AT_ONCE:
            said = UnsureHeadline(
                person=person.person,
                text=nameless(headline, person),
                doubts=tuple(sorted(doubts)),
            )
            found.append(said)
    return found
