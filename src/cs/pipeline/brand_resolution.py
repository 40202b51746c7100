"""First stage: which brand is meant, and where it is on the web.

First the sources that identify a brand are asked, all at once; then those that complete it,
once it is known which domain to look at.  Where none knows the name, sources with a key may
hint at a site, one after the other, and the site itself has to say that it is the brand's.
What "the same brand" means is in `brand_choice`.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from cs.domain.contact import BrandFacts, Query, SourceMatches
from cs.domain.rule_sets import RESOLUTION
from cs.domain.stages.work import (
    NO_BRAND_SOURCE,
    AnyFinding,
    Failed,
    ResolutionInput,
    Resolved,
    StageName,
    Work,
)
from cs.pipeline.brand_choice import (
    COMPLETING,
    SURE,
    BrandChoice,
    Status,
    choose,
    confirmed_hint,
    hinted_domains,
    is_hinting,
    merge,
    on_owners_site,
)
from cs.pipeline.cost_meter import asking, note_found, note_unasked
from cs.pipeline.misconfiguration import Misconfiguration
from cs.plugins.sources import INCONCLUSIVE, BrandAnswer, BrandSource, SourceStatus, causes_of
from cs.plugins.stages import Report

#: What is recorded of a resolution at most: some sources with a handful of brands each.
RECORDED_MATCHES = 20
RECORDED_BYTES = 32_000


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """What resolution came to.

    Attributes:
        facts: Set exactly when the status is "matched".
        score: How likely it is that this brand is meant, as `BrandChoice` has it.
        conclusive: Asking again at once would give the same: matched, or every source
            that could have known did answer.
        retry_in_s: When it is not conclusive: how long the sources want to be left alone.
        answers: Of all that were asked.
    """

    status: Status
    facts: BrandFacts | None = None
    score: float = 0.0
    sources: dict[str, SourceStatus] = {}
    conclusive: bool = True
    retry_in_s: float | None = None
    answers: tuple[BrandAnswer, ...] = ()


class BrandResolver:
    """Finds the brand of a query in *sources*, which are in falling order of trust."""

    def __init__(
        self, sources: Sequence[BrandSource], *, completing: Collection[str] = COMPLETING
    ) -> None:
        self.sources = sources
        self._hinting = [source for source in sources if is_hinting(source)]
        self._identifying = [
            source
            for source in sources
            if source.name not in completing and not is_hinting(source)
        ]
        self._completing = [source for source in sources if source.name in completing]

    async def resolve(self, query: Query) -> Resolution:
        """Find the brand of *query*.  A source that fails is an answer, never an error."""
        answers = await _ask(self._identifying, query, None)
        choice = choose(query, answers)
        domain = _domain_of(query, choice)
        if domain is None:
            return await self._resolve_by_hint(query, choice, answers)
        site = [
            _only_at(domain, answer)
            for answer in await _ask(self._completing, query, choice.facts)
        ]
        return _resolution(_with_site(query, choice, answers, site), [*answers, *site])

    async def _resolve_by_hint(
        self, query: Query, choice: BrandChoice, answers: Sequence[BrandAnswer]
    ) -> Resolution:
        """Ask who hints at a site, until a site says that it is the brand's."""
        told, site = list(answers), list[BrandAnswer]()
        for source in self._hinting if choice.status == "no_match" else ():
            told += (hints := await _ask([source], query, None))
            for domain in hinted_domains(hints):
                # Without the brand's name: a page that says nothing is not to be called so.
                read = await _ask(self._completing, Query(domain=domain), None)
                site += [_only_at(domain, answer) for answer in read]
                if (confirmed := confirmed_hint(query, told, site)) is not None:
                    return _resolution(confirmed, [*told, *site])
        return _resolution(choose(query, told), [*told, *site])


@dataclass(frozen=True)
class BrandResolution:
    resolver: BrandResolver
    misconfiguration: Misconfiguration = field(default_factory=Misconfiguration)
    name: StageName = "brand-resolution"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Resolve; a brand not pinned down while a source was away is a failure, no answer."""
        del report
        assert isinstance(work.input, ResolutionInput)
        resolution = await self.resolver.resolve(work.input.query)
        if resolution.facts is not None:
            named = set(resolution.facts.found_by.values())
            for source in sorted(named & resolution.sources.keys()):
                note_found(source, used=1)
        causes = causes_of(resolution.answers)
        no_retry: str | None = NO_BRAND_SOURCE
        # Where only a web site could be read and no domain was sent, no source was asked.
        if resolution.answers or not self.resolver.sources:
            no_retry = self.misconfiguration.note_answers("brand_sources", resolution.answers)
        if resolution.status != "matched" and no_retry is not None:
            return Failed(why=no_retry, retryable=False, causes=causes)
        if resolution.status != "matched" and not resolution.conclusive:
            wait_s = resolution.retry_in_s
            return Failed(why="sources-away", retryable=True, retry_in_s=wait_s, causes=causes)
        return Resolved(
            status=resolution.status,
            brand=resolution.facts,
            sources={name: ended.value for name, ended in resolution.sources.items()},
            causes=causes,
            matches=recordable(resolution.answers),
            rules=RESOLUTION,
        )


def _domain_of(query: Query, choice: BrandChoice) -> str | None:
    """Return the domain whose site is read, if there is one to be read."""
    return query.domain if choice.facts is None else choice.facts.domain


def _with_site(
    query: Query,
    choice: BrandChoice,
    answers: Sequence[BrandAnswer],
    site: Sequence[BrandAnswer],
) -> BrandChoice:
    """Return *choice*, made of *answers*, once the brand's *site* has answered too."""
    if choice.facts is None:
        return choose(query, [*answers, *site])
    return BrandChoice("matched", _completed(choice.facts, site), choice.score)


def recordable(answers: Sequence[BrandAnswer]) -> tuple[SourceMatches, ...] | None:
    """Return the matches in *answers* for the log; ``None`` if they are too many for it."""
    found = tuple(SourceMatches(each.source, each.matches) for each in answers if each.matches)
    if sum(len(each.matches) for each in found) > RECORDED_MATCHES:
        return None
    return None if len(msgspec.json.encode(found)) > RECORDED_BYTES else found


async def _ask(
    sources: Sequence[BrandSource], query: Query, known: BrandFacts | None
) -> list[BrandAnswer]:
    async def find(source: BrandSource) -> BrandAnswer:
        with asking(source.name):
            answer = await source.find(query, known)
        if answer.ended is SourceStatus.NOT_CONFIGURED:
            note_unasked(source.name)
        note_found(source.name, found=len(answer.matches))
        return answer

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(find(source)) for source in sources]
    return [task.result() for task in tasks]


def _only_at(domain: str, answer: BrandAnswer) -> BrandAnswer:
    """Return *answer* without brands of other domains: a site may lead anywhere by now."""
    matches = tuple(
        replace(match, facts=replace(match.facts, domain=domain))
        for match in answer.matches
        if match.facts.domain in {domain, None}
    )
    return replace(answer, matches=matches)


def _completed(known: BrandFacts, site: Sequence[BrandAnswer]) -> BrandFacts:
    """Return *known* with what was missing and its site has.

    An owner's site shows the owner's social pages: of those only the company page is
    taken, since the owner employs the brand's people.
    """
    more = [(a.source, m.facts) for a in site for m in a.matches[:1] if m.score >= SURE]
    if on_owners_site(known):
        more = [
            (source, replace(facts, instagram=None, tiktok=None, aliases=()))
            for source, facts in more
        ]
    return merge([("", known), *more])


def _resolution(choice: BrandChoice, answers: Sequence[BrandAnswer]) -> Resolution:
    ended = {answer.source: answer.ended for answer in answers}
    silent = [answer for answer in answers if answer.ended in INCONCLUSIVE]
    asked = any(e in {SourceStatus.USED, SourceStatus.NO_RESULTS} for e in ended.values())
    conclusive = choice.status == "matched" or (asked and not silent)
    waits = [answer.retry_in_s for answer in silent if answer.retry_in_s is not None]
    return Resolution(
        status=choice.status,
        facts=choice.facts,
        score=round(choice.score, 3),
        sources=ended,
        conclusive=conclusive,
        retry_in_s=None if conclusive else max(waits, default=None),
        answers=tuple(answers),
    )
