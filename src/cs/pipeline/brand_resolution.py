"""First stage: which brand is meant, and where it is on the web."""

from dataclasses import dataclass, field

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
from cs.pipeline.brand_resolver import BrandResolver, recordable
from cs.pipeline.cost_meter import note_found
from cs.pipeline.misconfiguration import Misconfiguration
from cs.plugins.sources import causes_of
from cs.plugins.stages import Report


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
        # Where only a web site could be read and no domain was sent, nobody was asked.
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
