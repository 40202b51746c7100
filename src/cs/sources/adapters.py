"""Helpers of several adapters of outside services."""

from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from cs.domain.mail.syntax import is_mailbox
from cs.domain.names.brand_match import names_host
from cs.domain.names.profile_url import person_page
from cs.outside.body import parse_aside
from cs.paid_calls.problems import judge_status, of_unreachable, read_answer
from cs.paid_calls.service import NOT_CONFIGURED, WORKS
from cs.plugins.sources import (
    ORDINARY,
    BrandFacts,
    Fetcher,
    Forbidden,
    Judge,
    ProblemKind,
    ServiceCheck,
    ServiceProblem,
    Sighting,
    Unreachable,
    failed_brand,
    problem,
)

T = TypeVar("T")

# Fields of `ServiceSettings` whose defaults are the service's own.
Url: TypeAlias = Annotated[str, Meta(pattern=r"^https?://\S+$")]
CallsPerS: TypeAlias = Annotated[float, Meta(gt=0, le=1000, description="of all workers")]
Burst: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
UsdPerCredit: TypeAlias = Annotated[float, Meta(ge=0, le=1000, description="of one credit")]

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


async def checked(missing: str | None, trial: Coroutine[Any, Any, object]) -> ServiceCheck:
    """Ask the question *trial*, unless something is *missing*, and say whether it works."""
    if missing is not None:
        trial.close()
        return ServiceCheck(ended=NOT_CONFIGURED, why=missing)
    try:
        await trial
    except ServiceProblem as refused:
        failed = failed_brand("", refused)
        return ServiceCheck(ended=failed.ended.value, why=failed.why)
    return ServiceCheck(ended=WORKS)


def person(
    source: str, record: Mapping[str, Any], names: Mapping[str, str], company: str
) -> Sighting | None:
    """Return the person of *record*, as a service has it; ``None`` without a whole name.

    The e-mail is a candidate, never proof.

    Args:
        source: The name of the service.
        record: Fields that are no text are left out: plans that do not show a field may have
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
