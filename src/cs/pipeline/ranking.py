"""Third stage: who of them is shown, and in which order.  Asks nobody."""

import asyncio
from dataclasses import dataclass

from cs.domain.ranking import rank
from cs.domain.rule_sets import RANKING
from cs.domain.stages.work import AnyFinding, RankingDone, RankingInput, StageName, Work
from cs.plugins.stages import Report

#: People ranked on the event loop: some 0.35 ms each, so that nobody waits 20 ms for them.
RANKED_ON_THE_LOOP = 40


@dataclass(frozen=True)
class Ranking:
    name: StageName = "ranking"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        del report
        assert isinstance(work.input, RankingInput)
        given = work.input
        if len(given.people) <= RANKED_ON_THE_LOOP:
            ranked, left_out = rank(given.brand, given.people, limit=given.contacts)
        else:
            ranked, left_out = await asyncio.to_thread(
                rank, given.brand, given.people, limit=given.contacts
            )
        return RankingDone(ranked=ranked, left_out=left_out, rules=RANKING)
