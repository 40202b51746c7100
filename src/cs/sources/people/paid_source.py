"""What people sources with a key have in common: when they are asked, how they are checked."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from cs.domain.names.brand_match import names_host
from cs.plugins.sources import (
    BrandFacts,
    PaidService,
    PeopleAnswer,
    ProblemKind,
    Question,
    Response,
    ServiceCheck,
    ServiceProblem,
    ServiceSettings,
    Sighting,
    SourceStatus,
    failed_people,
)

SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


class PaidPeopleSource(ABC, Generic[SettingsT]):
    """Base of the sources with a key.

    Args:
        service: What it asks.
        settings: Of the source; without a ``key`` nobody is asked.
    """

    name: str

    def __init__(self, service: PaidService, settings: SettingsT) -> None:
        self.service = service
        self.settings: SettingsT = settings
        self.missing = None if settings.key else f"set sources.{self.name}.key"

    @property
    def cost(self) -> float:
        """US dollars that a search can cost at most; free sources are asked first."""
        return self.settings.usd_per_call * self.units

    @property
    @abstractmethod
    def units(self) -> int:
        """How many prices a search can cost at most."""

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find people who work for *brand*; see `cs.plugins.sources.PeopleSource`."""
        return await self.asked(lambda: self._find(brand, limit))

    async def asked(self, find: Callable[[], Awaitable[PeopleAnswer]]) -> PeopleAnswer:
        """Return what *find* finds, or how the run ended instead."""
        if self.missing is not None:
            why, ended = self.missing, SourceStatus.NOT_CONFIGURED
            return PeopleAnswer(source=self.name, ended=ended, why=why)
        try:
            return await find()
        except ServiceProblem as problem:
            if problem.kind is ProblemKind.NOTHING:
                return self.answer(())
            return failed_people(self.name, problem)

    def answer(self, people: tuple[Sighting, ...]) -> PeopleAnswer:
        """Return the answer of a run that went well."""
        ended = SourceStatus.USED if people else SourceStatus.NO_RESULTS
        return PeopleAnswer(source=self.name, ended=ended, people=people)

    @abstractmethod
    async def _find(self, brand: BrandFacts, limit: int) -> PeopleAnswer:
        """Ask the service; may raise `ServiceProblem`."""

    async def check(self) -> ServiceCheck:
        """Make one call that costs as little as can be, and say whether the service works."""
        found = await self.service.check(self.check_question(), self.left)
        return found if self.missing is None else replace(found, why=self.missing)

    @abstractmethod
    def check_question(self) -> Question:
        """Return a question that costs little, or nothing."""

    def left(self, answer: Response) -> str | None:
        """Return what *answer* to the check says is left; ``None`` if it does not say."""
        del answer
        return None


def brand_domain(brand: BrandFacts) -> str | None:
    """Return the domain that a service knows *brand*'s company by."""
    return brand.domain or next(iter(brand.mail_domains), None)


def parent_domain(brand: BrandFacts) -> str | None:
    """Return the domain of the company that *brand* belongs to, whose team may be the brand's.

    It is the one of the brand's mail domains that is called like the parent; ``None`` if there
    is none.

    >>> brand = BrandFacts(
    ...     name="Zara", domain="zara.com", parent_company="Inditex",
    ...     mail_domains=("zara.com", "zara.es", "inditex.com"))
    >>> parent_domain(brand)
    'inditex.com'
    """
    parent = brand.parent_company
    if parent is None:
        return None
    others = (domain for domain in brand.mail_domains if domain != brand_domain(brand))
    return next((domain for domain in others if names_host(domain, parent)), None)
