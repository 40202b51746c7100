"""What brand sources with a key have in common: they are asked last, and their word is a hint.

A search engine's panel or a company file may have another company of the name.  So what they
name counts only once the brand's own site says the same (`cs.pipeline.brand_resolver`), and
nobody pays for a brand that free sources know.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from cs.plugins.sources import (
    BrandAnswer,
    BrandFacts,
    BrandMatch,
    PaidService,
    ProblemKind,
    Query,
    Question,
    Response,
    ServiceCheck,
    ServiceProblem,
    ServiceSettings,
    SourceStatus,
    failed_brand,
)

SettingsT = TypeVar("SettingsT", bound=ServiceSettings)

#: The score of a hint: it is not counted among the brands that may be meant
#: (`cs.pipeline.brand_choice.PLAUSIBLE`).
HINT = 0.05


class HintingBrandSource(ABC, Generic[SettingsT]):
    """Base of the brand sources with a key.

    Args:
        service: What it asks.
        settings: Of the source; without a ``key`` nobody is asked.

    Attributes:
        hints: Tells the resolver what it is.
    """

    name: str
    hints = True

    def __init__(self, service: PaidService, settings: SettingsT) -> None:
        self.service = service
        self.settings: SettingsT = settings
        self.missing = None if settings.key else f"set sources.{self.name}.key"

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Name the site of the brand that is asked for; nothing where a domain is asked."""
        if self.missing is not None:
            ended = SourceStatus.NOT_CONFIGURED
            return BrandAnswer(source=self.name, ended=ended, why=self.missing)
        brand = query.brand if known is None else known.name
        if brand is None or query.domain is not None:
            return BrandAnswer(source=self.name, ended=SourceStatus.NO_RESULTS)
        try:
            named = await self._ask(brand)
        except ServiceProblem as problem:
            if problem.kind is ProblemKind.NOTHING:
                return BrandAnswer(source=self.name, ended=SourceStatus.NO_RESULTS)
            return failed_brand(self.name, problem)
        matches = tuple(
            BrandMatch(facts=facts, score=HINT, key=facts.domain or "") for facts in named
        )
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=matches)

    @abstractmethod
    async def _ask(self, brand: str) -> list[BrandFacts]:
        """Return brands with a domain, likeliest first; may raise `ServiceProblem`."""

    async def check(self) -> ServiceCheck:
        """Make one call that costs as little as can be, and say whether the service works."""
        if self.missing is not None:
            return ServiceCheck(ended=SourceStatus.NOT_CONFIGURED.value, why=self.missing)
        return await self.service.check(self.check_question(), self.left)

    @abstractmethod
    def check_question(self) -> Question:
        """Return a question that costs little, or nothing."""

    def left(self, answer: Response) -> str | None:
        """Return what *answer* to the check says is left; ``None`` if it does not say."""
        del answer
        return None
