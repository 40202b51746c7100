"""What the adapter of an outside service is made of.

An adapter is a module with its settings, the shapes of the answers, a class with the
questions, and a pure function from an answer to people or brands.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from cs.domain.mail.syntax import is_mailbox
from cs.domain.names.brand_match import names_host
from cs.domain.names.profile_url import person_page
from cs.outside.body import parse_aside
from cs.paid_calls.problems import judge_status, of_unreachable, read_answer
from cs.plugins.declared_settings import PluginFactory
from cs.plugins.sources import (
    ORDINARY,
    BrandAnswer,
    BrandFacts,
    BrandMatch,
    Fetcher,
    Forbidden,
    Judge,
    Judgement,
    PaidService,
    PeopleAnswer,
    ProblemKind,
    Query,
    Question,
    Response,
    ServiceCheck,
    ServiceProblem,
    ServiceSettings,
    Sighting,
    SourceContext,
    SourceStatus,
    Unreachable,
    failed_brand,
    failed_people,
    problem,
)

T = TypeVar("T")
SettingsT = TypeVar("SettingsT", bound=ServiceSettings)
SourceT = TypeVar("SourceT", bound="PaidSource")  # type: ignore[type-arg]

# Fields of `ServiceSettings` whose defaults are the service's own.
Url: TypeAlias = Annotated[str, Meta(pattern=r"^https?://\S+$")]
CallsPerS: TypeAlias = Annotated[float, Meta(gt=0, le=1000, description="of all workers")]
Burst: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
UsdPerCredit: TypeAlias = Annotated[float, Meta(ge=0, le=1000, description="of one credit")]

#: The score of a hint: it is not counted among the brands that may be meant
#: (`cs.pipeline.brand_choice.PLAUSIBLE`).
HINT = 0.05
_FIELDS = (
    *("full_name", "first_name", "last_name", "headline", "company", "profile", "email"),
    "location",
)


class FreeService(msgspec.Struct, frozen=True):
    """A service without a key, at an address that the operator named: one GET, and its JSON.

    Attributes:
        name: For people.
        judge: Reads the status codes that it means in another way; it looks first.
    """

    name: str
    url: str
    fetcher: Fetcher
    now: Callable[[], datetime]
    judge: Judge = lambda _answer: ORDINARY

    async def ask(self, params: Mapping[str, str], shape: type[T]) -> T:
        """Return the JSON of the answer.

        Raises:
            ServiceProblem: There is none, or of another shape.
        """
        try:
            answer = await self.fetcher.get(self.url, params=params)
        except (Unreachable, Forbidden) as error:
            raise of_unreachable(self.name, error) from error
        wrong = self.judge(answer)
        if wrong is ORDINARY and answer.status == 404:  # the address is wrong
            wrong = problem(ProblemKind.BAD_QUESTION, f"{self.name} answers 404")
        elif wrong is ORDINARY:
            wrong = judge_status(self.name, answer, now=self.now())
        if isinstance(wrong, Exception):
            raise wrong
        return await parse_aside(len(answer.body), read_answer, self.name, answer.body, shape)


class PaidSource(ABC, Generic[SettingsT]):
    """Base of the sources with a key.

    Args:
        service: What it asks.
        settings: Of the source; without a ``key`` nothing is asked.

    Attributes:
        key_header: The header that the key is sent in.
        check_question: Costs little, or nothing.
    """

    name: ClassVar[str]
    key_header: ClassVar[str] = "x-api-key"
    check_question: ClassVar[Question]

    def __init__(self, service: PaidService, settings: SettingsT) -> None:
        self.service = service
        self.settings: SettingsT = settings
        self.missing = None if settings.key else f"set sources.{self.name}.key"

    @staticmethod
    def judge(answer: Response) -> Judgement:
        """Read *answer* as this service means it, where it means a status in another way."""
        del answer
        return ORDINARY

    async def check(self) -> ServiceCheck:
        """Make one call that costs as little as can be, and say whether the service works."""
        found = await self.service.check(self.check_question, self.left)
        return found if self.missing is None else replace(found, why=self.missing)

    def left(self, answer: Response) -> str | None:
        """Return what *answer* to the check says is left; ``None`` if it does not say."""
        del answer
        return None

    async def ask(
        self, question: Question, shape: type[T], charged: Callable[[T], int] | None = None
    ) -> T | None:
        """Return the answer to *question*; ``None`` if the service knows nothing of it.

        Raises:
            ServiceProblem: There is no usable answer.
        """
        try:
            return await self.service.ask(question, shape, charged=charged)
        except ServiceProblem as refused:
            if refused.kind is ProblemKind.NOTHING:
                return None
            raise


def factory(
    source: type[SourceT], settings: type[SettingsT], *, price: str = "usd_per_call"
) -> PluginFactory[SourceContext, SourceT]:
    """Return what the entry point of *source*, which takes *settings*, names.

    Args:
        source: The adapter.
        settings: What its table takes.
        price: Which of them is the price of a question.
    """

    def make(context: SourceContext) -> SourceT:
        given = msgspec.convert(context.settings, settings)
        given = replace(given, usd_per_call=getattr(given, price))
        headers = {source.key_header: given.key, "accept": "application/json"}
        service = context.service(source.name, given, headers=headers, judge=source.judge)
        return source(service, given)

    return PluginFactory(make, settings)


class PaidPeopleSource(PaidSource[SettingsT]):
    """Base of the people sources with a key."""

    @property
    def cost(self) -> float:
        """US dollars that a search can cost at most; free sources are asked first."""
        return self.settings.usd_per_call * self.units

    @property
    @abstractmethod
    def units(self) -> int:
        """How many prices a search can cost at most."""

    @abstractmethod
    def _people(self, brand: BrandFacts, limit: int) -> AsyncIterator[Sighting]:
        """Yield people who work for *brand*; may raise `ServiceProblem`."""

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find people who work for *brand*; see `cs.plugins.sources.PeopleSource`."""
        return await self._collected(self._people(brand, limit), limit)

    async def _collected(self, found: AsyncIterator[Sighting], limit: int) -> PeopleAnswer:
        return await collected(self.name, found, limit, missing=self.missing)


async def collected(
    source: str, found: AsyncIterator[Sighting], limit: int, *, missing: str | None
) -> PeopleAnswer:
    """Return the first *limit* people *found*, also where a problem ends the run of *source*.

    With something *missing* nobody is looked for.
    """
    if missing is not None:
        ended = SourceStatus.NOT_CONFIGURED
        return PeopleAnswer(source=source, ended=ended, why=missing)
    people: list[Sighting] = []
    try:
        async for each in found:
            people.append(each)  # noqa: PERF401 - kept where a problem ends it
    except ServiceProblem as refused:
        return failed_people(source, refused, tuple(people[:limit]))
    ended = SourceStatus.USED if people else SourceStatus.NO_RESULTS
    return PeopleAnswer(source=source, ended=ended, people=tuple(people[:limit]))


class HintingBrandSource(PaidSource[SettingsT]):
    """Base of the brand sources with a key, which are asked last and only hint.

    A search engine's panel or a company file may have another company of the name.  So what
    they name counts only once the brand's own site says the same (`cs.pipeline.brand_choice`),
    and nothing is paid for a brand that free sources know.

    Attributes:
        hints: Tells the resolver what it is.
    """

    hints = True

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
        except ServiceProblem as refused:
            return failed_brand(self.name, refused)
        matches = tuple(
            BrandMatch(facts=facts, score=HINT, key=facts.domain or "") for facts in named
        )
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=matches)

    @abstractmethod
    async def _ask(self, brand: str) -> list[BrandFacts]:
        """Return brands with a domain, likeliest first; may raise `ServiceProblem`."""


def person(
    source: str, record: Mapping[str, Any], names: Mapping[str, str], company: str
) -> Sighting | None:
    """Return the person of *record*, as a service has it; ``None`` without a whole name.

    The e-mail is a candidate, never proof.

    Args:
        source: The name of the service.
        record: What is no text in it is left out: plans that do not show a field may have
            something else there.
        names: By field of `Sighting` (or ``profile``, ``email``) what the service calls it, if
            otherwise.
        company: Where they work, if it does not say.
    """
    said = {
        field: value.strip()
        for field in _FIELDS
        if isinstance(value := record.get(names.get(field, field)), str) and value.strip()
    }
    first, last = said.get("first_name"), said.get("last_name")
    name = said.get("full_name") or (f"{first} {last}" if first and last else None)
    page, address = said.get("profile", ""), said.get("email", "").lower()
    if name is None:
        return None
    return Sighting(
        full_name=name,
        first_name=first,
        last_name=last,
        headline=said.get("headline"),
        company=said.get("company", company),
        linkedin_url=person_page(page if "//" in page else f"https://{page}"),
        location=said.get("location"),
        addresses=(address,) if is_mailbox(address) else (),
        source=source,
    )


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
