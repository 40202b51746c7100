"""First stage: which brand is meant, and where it is on the web."""

from dataclasses import dataclass

from cs.domain.stage_work import AnyFinding, Failed, ResolutionInput, Resolved, StageName, Work
from cs.pipeline.resolving import Resolving
from cs.pipeline.stage import Report


@dataclass(frozen=True)
class BrandResolution:
    resolving: Resolving
    name: StageName = "brand-resolution"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Resolve; a brand not pinned down while a source was away is a failure, no answer."""
        del report
        assert isinstance(work.input, ResolutionInput)
        resolution = await self.resolving.resolve(work.input.query)
        if resolution.status != "matched" and not resolution.conclusive:
            return Failed(why="sources-away", retryable=True, retry_in_s=resolution.retry_in_s)
        return Resolved(
            status=resolution.status,
            brand=resolution.facts,
            sources={name: ended.value for name, ended in resolution.sources.items()},
        )
