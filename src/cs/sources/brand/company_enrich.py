"""Companies of People Data Labs (api.peopledatalabs.com/v5, ``GET /company/enrich``).

Where it knows no company of the name it answers 404, and charges nothing.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from cs.domain.names.brand_match import COMPANY, best_likeness
from cs.domain.names.brand_names import Unacceptable, canonical_domain
from cs.plugins.hosted import (
    BrandAdapter,
    BrandFacts,
    BrandMatch,
    Query,
    Question,
    ServiceSettings,
)
from cs.sources.adapters import Url
from cs.sources.social_pages import company_page

#: Of 10: below this it guesses.
LIKELIHOOD = 4
_NAMES = 20


class CompanySettings(ServiceSettings, frozen=True, kw_only=True):
    """Settings of ``[sources.pdl]`` for brands; key and caps are those for people."""

    url: Url = "https://api.peopledatalabs.com/v5"
    usd_per_company: Annotated[float, Meta(ge=0, le=1000, description="of one company")] = 0.1


class _Company(msgspec.Struct):
    name: str
    display_name: str | None = None
    website: str | None = None
    linkedin_url: str | None = None
    alternative_names: tuple[str, ...] | None = None


def read(company: _Company, query: Query) -> list[BrandMatch]:
    """Return the company if it is called as the brand is."""
    facts = _facts(company, query.brand or "")
    return [] if facts is None else [BrandMatch(facts=facts, score=1.0, key=facts.domain or "")]


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


ADAPTER = BrandAdapter(
    name="pdl",
    settings=CompanySettings,
    price="usd_per_company",
    key_header="x-api-key",
    hints=True,
    question=lambda query: Question(
        path="/company/enrich",
        params={
            "name": query.brand or "",
            "min_likelihood": str(LIKELIHOOD),
            "titlecase": "true",
        },
    ),
    answer=_Company,
    read=read,
    # No company is there, and 404 is not charged.
    trial=Question(path="/company/enrich", params={"website": "no-company.invalid"}),
)
from_context = ADAPTER.from_context
