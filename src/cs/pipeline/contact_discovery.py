"""Second stage: who says they work for the brand."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from cs.domain.lookup.contacts import PEOPLE
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    Failed,
    PeopleSeen,
    StageName,
    Work,
)
from cs.pipeline.misconfiguration import Misconfiguration
from cs.plugins.sources import INCONCLUSIVE, PeopleAnswer, PeopleSource, causes_of
from cs.plugins.stages import Report


@dataclass(frozen=True)
class ContactDiscovery:
    sources: Sequence[PeopleSource]
    misconfiguration: Misconfiguration = field(default_factory=Misconfiguration)
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
        answers = [task.result() for task in tasks]
        return _finding(answers, self.misconfiguration.note_answers("people_sources", answers))


def _finding(answers: Sequence[PeopleAnswer], no_retry: str | None) -> AnyFinding:
    people = tuple(person for answer in answers for person in answer.people)
    ended = {answer.source: answer.ended.value for answer in answers}
    causes = causes_of(answers)
    away = [answer for answer in answers if answer.ended in INCONCLUSIVE]
    if people:
        return Discovered(people=people, sources=ended, conclusive=not away, causes=causes)
    if no_retry is not None:
        return Failed(why=no_retry, retryable=False, causes=causes)
    if away:
        waits = [answer.retry_in_s for answer in away if answer.retry_in_s is not None]
        wait_s = max(waits, default=None)
        return Failed(why="sources-away", retryable=True, retry_in_s=wait_s, causes=causes)
    return Discovered(people=(), sources=ended, causes=causes)
