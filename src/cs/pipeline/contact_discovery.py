"""Second stage: who says they work for the brand."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from cs.domain.lookup_people import PEOPLE
from cs.domain.stage_work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    Failed,
    PeopleSeen,
    StageName,
    Work,
)
from cs.pipeline.stage import Report
from cs.sources.port import INCONCLUSIVE, Ended, PeopleAnswer, PeopleSource


@dataclass(frozen=True)
class ContactDiscovery:
    sources: Sequence[PeopleSource]
    name: StageName = "contact-discovery"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Ask every source at once; whoever is found first is reported first."""
        assert isinstance(work.input, DiscoveryInput)
        brand = work.input.brand

        async def ask(source: PeopleSource) -> PeopleAnswer:
            answer = await source.find(brand, limit=PEOPLE)
            if answer.people:
                await report(PeopleSeen(answer.people))
            return answer

        async with asyncio.TaskGroup() as asking:
            tasks = [asking.create_task(ask(source)) for source in self.sources]
        return _finding([task.result() for task in tasks])


def _finding(answers: Sequence[PeopleAnswer]) -> AnyFinding:
    people = tuple(person for answer in answers for person in answer.people)
    ended = {answer.source: answer.ended.value for answer in answers}
    away = [answer for answer in answers if answer.ended in INCONCLUSIVE]
    if people:
        return Discovered(people=people, sources=ended, conclusive=not away)
    if away:
        waits = [answer.retry_in_s for answer in away if answer.retry_in_s is not None]
        return Failed(why="sources-away", retryable=True, retry_in_s=max(waits, default=None))
    if all(answer.ended is Ended.NOT_CONFIGURED for answer in answers):
        return Failed(why="no-people-source-configured", retryable=False)
    return Discovered(people=(), sources=ended)
