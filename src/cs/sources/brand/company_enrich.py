"""Companies of People Data Labs (api.peopledatalabs.com/v5, ``GET /company/enrich``).

Where it knows no company of the name it answers 404, and charges nothing.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from cs.domain.names.brand_match import COMPANY, best_likeness
from cs.domain.names.brand_names import Unacceptable, canonical_domain
from cs.plugins.sources import BrandFacts, Question, ServiceSettings
from cs.sources.adapters import HintingBrandSource, Url, factory
from cs.sources.social_pages import company_page

#: Of 10: below this it guesses.
LIKELIHOOD = 4
_NAMES = 20


class CompanySettings(ServiceSettings, frozen=True, kw_only=True):
    """What ``[sources.pdl]`` takes for brands; key and caps are those for people."""

    url: Url = "https://api.peopledatalabs.com/v5"
    usd_per_company: Annotated[float, Meta(ge=0, le=1000, description="of one company")] = 0.1


class _Company(msgspec.Struct):
    name: str
    display_name: str | None = None
    website: str | None = None
    linkedin_url: str | None = None
    alternative_names: tuple[str, ...] | None = None


class CompanyEnrich(HintingBrandSource[CompanySettings]):
    name = "pdl"
    # No company is there, and 404 is not charged.
    check_question = Question(path="/company/enrich", params={"website": "no-company.invalid"})

    async def _ask(self, brand: str) -> list[BrandFacts]:
        params = {"name": brand, "min_likelihood": str(LIKELIHOOD), "titlecase": "true"}
        company = await self.ask(Question(path="/company/enrich", params=params), _Company)
        facts = _facts(company, brand) if company else None
        return [] if facts is None else [facts]


def _facts(company: _Company, brand: str) -> BrandFacts | None:
    """Return *company* if it is called *brand* and has a site."""
    others = (company.alternative_names or ())[:_NAMES]
    names = [name for name in (company.display_name, company.name, *others) if name]
    if best_likeness(brand, names) < COMPANY:
        return None
    try:
        domain = canonical_domain(company.website or "")
    except Unacceptable:
        return None
    page = company.linkedin_url or ""
    page = page if "//" in page else f"https://{page}"
    return BrandFacts(
        name=names[0],
        domain=domain,
        mail_domains=(domain,),
        linkedin_company_url=company_page(page),
        aliases=tuple(dict.fromkeys(names[1:])),
    )


from_context = factory(CompanyEnrich, CompanySettings, price="usd_per_company")
