"""Third stage: who of them is shown, and in which order.  Asks nobody."""

from dataclasses import dataclass

from cs.domain.ranking import rank
from cs.domain.rule_sets import RANKING
from cs.domain.stages.work import AnyFinding, RankingDone, RankingInput, StageName, Work
from cs.plugins.stages import Report


@dataclass(frozen=True)
class Ranking:
    name: StageName = "ranking"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        del report
        assert isinstance(work.input, RankingInput)
        ranked, left_out = rank(work.input.brand, work.input.people, limit=work.input.contacts)
        return RankingDone(ranked=ranked, left_out=left_out, rules=RANKING)
