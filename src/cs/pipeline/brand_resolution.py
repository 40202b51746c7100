"""First stage: which brand is meant, and where it is on the web.

First the sources that identify a brand are asked, all at once; then those that complete it,
once it is known which domain to look at.  Where none knows the name, sources with a key may
hint at a site, one after the other, and the site itself has to say that it is the brand's.
What "the same brand" means is in `brand_choice`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
    choose,
    confirmed_hint,
    hinted_domains,
    is_hinting,
    merge,
    on_owners_site,
)
from cs.pipeline.cost_meter import asking, note_found
from cs.pipeline.misconfiguration import Misconfiguration
from cs.plugins.sources import (
    ANSWERED,
    INCONCLUSIVE,
    BrandAnswer,
    BrandSource,
    SourceStatus,
    causes_of,
)
from cs.plugins.stages import Report

#: What is recorded of a resolution at most: some sources with a handful of brands each.
RECORDED_MATCHES = 20
RECORDED_BYTES = 32_000


class Resolution(NamedTuple):
    """The brand that is meant, and the answers of all that were asked."""

    choice: BrandChoice
    answers: Sequence[BrandAnswer]

    @property
    def sources(self) -> dict[str, SourceStatus]:
        """How each source ended, by its name."""
        return {answer.source: answer.ended for answer in self.answers}

    @property
    def silent(self) -> list[BrandAnswer]:
        return [answer for answer in self.answers if answer.ended in INCONCLUSIVE]

    @property
    def conclusive(self) -> bool:
        """Whether asking again at once would give the same.

        So it is if a brand matched, or every source that could have known did answer.
        """
        answered = any(answer.ended in ANSWERED for answer in self.answers)
        return self.choice.status == "matched" or (answered and not self.silent)

    @property
    def retry_in_s(self) -> float | None:
        """How long the sources that did not answer want to be left alone."""
        waits = [each.retry_in_s for each in self.silent if each.retry_in_s is not None]
        return max(waits, default=None)


async def resolve(sources: Sequence[BrandSource], query: Query) -> Resolution:
    """Find the brand of *query* in *sources*, which are in falling order of trust.

    A source that fails is an answer, never an error.
    """
    hinting = [source for source in sources if is_hinting(source)]
    completing = [source for source in sources if source.name in COMPLETING]
    identifying = [
        each for each in sources if each.name not in COMPLETING and not is_hinting(each)
    ]
    answers = await _ask(identifying, query, None)
    choice = choose(query, answers)
    domain = query.domain if choice.facts is None else choice.facts.domain
    if domain is not None:  # whose site is read
        site = [_only_at(domain, each) for each in await _ask(completing, query, choice.facts)]
        return Resolution(_with_site(query, choice, answers, site), [*answers, *site])
    # Who hints at a site is asked, until a site says that it is the brand's.
    site = []
    for source in hinting if choice.status == "no_match" else ():
        answers += (hints := await _ask([source], query, None))
        for hinted in hinted_domains(hints):
            # Without the brand's name: a page that says nothing is not to be called so.
            read = await _ask(completing, Query(domain=hinted), None)
            site += [_only_at(hinted, answer) for answer in read]
            if (confirmed := confirmed_hint(query, answers, site)) is not None:
                return Resolution(confirmed, [*answers, *site])
    return Resolution(choose(query, answers), [*answers, *site])


@dataclass(frozen=True)
class BrandResolution:
    sources: Sequence[BrandSource]
    misconfiguration: Misconfiguration = field(default_factory=Misconfiguration)
    name: StageName = "brand-resolution"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Resolve; a brand not pinned down while a source was away is a failure, no answer."""
        del report
        assert isinstance(work.input, ResolutionInput)
        found = await resolve(self.sources, work.input.query)
        status, facts = found.choice.status, found.choice.facts
        if facts is not None:
            named = set(facts.found_by.values())
            for source in sorted(named & found.sources.keys()):
                note_found(source, used=1)
        causes = causes_of(found.answers)
        no_retry: str | None = NO_BRAND_SOURCE
        # Where only a web site could be read and no domain was sent, no source was asked.
        if found.answers or not self.sources:
            no_retry = self.misconfiguration.note_answers("brand_sources", found.answers)
        if status != "matched" and no_retry is not None:
            return Failed(why=no_retry, retryable=False, causes=causes)
        if not found.conclusive:
            wait_s = found.retry_in_s
            return Failed(why="sources-away", retryable=True, retry_in_s=wait_s, causes=causes)
        return Resolved(
            status=status,
            brand=facts,
            sources={name: ended.value for name, ended in found.sources.items()},
            causes=causes,
            matches=recordable(found.answers),
            rules=RESOLUTION,
        )


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
            note_found(source.name, asked=-1)
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
