"""Second stage: who says they work for the brand."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from cs.domain.lookup.contacts import PEOPLE, people_among
from cs.domain.ranking import rank
from cs.domain.source_cost import SourceFigures, micros_of
from cs.domain.source_order import PricedSource, in_order
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    Failed,
    PeopleSeen,
    StageName,
    Work,
)
from cs.pipeline.cost_meter import asking, note_found, note_order
from cs.pipeline.misconfiguration import Misconfiguration
from cs.plugins.sources import (
    INCONCLUSIVE,
    BrandFacts,
    PeopleAnswer,
    PeopleSource,
    SourceStatus,
    causes_of,
    cost_of,
    find_new,
    is_local,
)
from cs.plugins.stages import Report

#: After so many people in a role that is looked for no source that charges is asked.
ENOUGH = 10


@dataclass(frozen=True)
class ContactDiscovery:
    """Asks people sources: what is here, then who is free, then who charges for too few.

    Attributes:
        enough: People in a role that is looked for; with so many no source is paid.
        first: Names of sources in the operator's order; the others come after them.
    """

    sources: Sequence[PeopleSource]
    misconfiguration: Misconfiguration = field(default_factory=Misconfiguration)
    enough: int = ENOUGH
    first: Sequence[str] = ()
    name: StageName = "contact-discovery"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Ask the local sources, then the free ones at once, then those that charge in turn.

        People are reported in the order in which they are found.  A source that is not asked,
        since enough people were found before, ends ``not_needed``.
        """
        assert isinstance(work.input, DiscoveryInput)
        brand = work.input.brand

        async def ask(source: PeopleSource, known: Sequence[PeopleAnswer] = ()) -> PeopleAnswer:
            people = [person for answer in known for person in answer.people]
            with asking(source.name):
                answer = await find_new(source, brand, limit=PEOPLE, known=people)
            if answer.ended is SourceStatus.NOT_CONFIGURED:
                note_found(source.name, asked=-1)
            await tell(answer)
            return answer

        async def tell(answer: PeopleAnswer) -> None:
            if answer.people:
                await report(PeopleSeen(answer.people))

        order = self._order(work.figures)
        local = [await _ask_local(each.who, brand) for each in order if is_local(each.who)]
        empty = {each.source for each in local if each.ended is SourceStatus.NOT_CONFIGURED}
        note_order(
            (each.name, each.expected_micros) for each in order if each.name not in empty
        )
        for answer in local:
            await tell(answer)
        others = [place for place in order if not is_local(place.who)]
        free = [place.who for place in others if place.expected_micros is None]
        charging = [place.who for place in others if place.expected_micros is not None]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(source)) for source in free]
        answers = [*local, *(task.result() for task in tasks)]
        for source in charging:
            if await asyncio.to_thread(_in_role, answers, brand) >= self.enough:
                skipped = SourceStatus.NOT_NEEDED
                answers.append(PeopleAnswer(source=source.name, ended=skipped))
            else:
                # People that only the operator's own list names are not named outside.
                answers.append(await ask(source, answers[len(local) :]))
        counted = [each for each in answers if each.source not in empty] or answers
        _note_people(counted)
        return _finding(counted, self.misconfiguration.note_answers("people_sources", counted))

    def _order(self, figures: Sequence[SourceFigures]) -> Sequence[PricedSource[PeopleSource]]:
        priced = [
            PricedSource(source.name, micros_of(cost_of(source)), source)
            for source in self.sources
        ]
        return in_order(self.name, priced, figures, first=self.first)


async def _ask_local(source: PeopleSource, brand: BrandFacts) -> PeopleAnswer:
    """Ask *source*, and count it as asked unless it is still empty."""
    answer = await source.find(brand, limit=PEOPLE)
    if answer.ended is not SourceStatus.NOT_CONFIGURED:
        with asking(source.name):
            pass
    return answer


def _note_people(answers: Sequence[PeopleAnswer]) -> None:
    """Note how many people each source named, and how many of them no source before it."""
    first = people_among([person for answer in answers for person in answer.people])
    new = Counter(person.sources[0] for person in first)
    for answer in answers:
        note_found(answer.source, found=len(answer.people), used=new[answer.source])


def _in_role(answers: Sequence[PeopleAnswer], brand: BrandFacts) -> int:
    """Return how many people of *answers* would be shown as people of *brand*."""
    seen = [person for answer in answers for person in answer.people]
    shown, _ = rank(brand, people_among(seen))
    return len(shown)


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
