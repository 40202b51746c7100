"""Companies that the operator imported: `cs brands import` fills what this source reads.

Open company files know millions of companies and nothing of how well known a brand is, so
what they say counts for less than what the directory knows, and of a shared name only a
company much larger than the others is meant.
"""

import re
from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path

import msgspec

from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand, sites_of
from cs.plugins.sources import BrandFacts, BrandMatch, Query, SourceContext, takes
from cs.sources.brand.brand_index import BrandIndex, IndexedBrand, IndexedSource
from cs.sources.brand.brand_search import ScoredBrand, by_name, weighed
from cs.sources.social_pages import (
    company_page,
    instagram,
    instagram_of,
    is_hosted,
    is_shared_host,
    tiktok,
    tiktok_of,
)
from cs.sources.tables.table_file import FIELDS, BadRow, TableKind, as_url, cell_text

#: Scores are lower than those of the directory for the same likeness.
_TRUST = 0.865
_ITS_SITE = 0.9
#: Companies of one name that are listed: the others are small.
_TOLD = 5
#: Characters of a company's own id.
_LONGEST_ID = 200
_NUMBER = re.compile(r"\d[\d,. ]*")


def imported(file: Path) -> IndexedSource:
    """Return the source over a *file* of companies, which need not be there."""
    return IndexedSource(
        "imported", file, _matches, absent="import a company file with `cs brands import`"
    )


class ImportedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of ``[sources.imported]``; in the data folder if it is not set."""

    file: str | None = None


@takes(ImportedSettings)
def from_context(context: SourceContext) -> IndexedSource:
    settings = msgspec.convert(context.settings, ImportedSettings)
    return imported(Path(settings.file or ""))


def _matches(index: BrandIndex, query: Query) -> list[BrandMatch]:
    there = _living_at(index, query.domain) if query.domain is not None else []
    scored = [(each.brand, _ITS_SITE * each.score) for each in there]
    called = by_name(index, query.brand)[:_TOLD] if query.brand is not None else []
    scored += [(each.brand, _TRUST * each.score) for each in called]
    best = {brand.key: (brand, score) for brand, score in sorted(scored, key=itemgetter(1))}
    return [
        BrandMatch(facts=_facts(company), score=score, key=company.key)
        for company, score in best.values()
    ]


def _living_at(index: BrandIndex, domain: str) -> list[ScoredBrand]:
    for site in sites_of(domain):
        if site != domain and is_shared_host(site):
            return []
        if there := index.at(site):
            return weighed(there, surest=1.0)[:_TOLD]
    return []


def _facts(company: IndexedBrand) -> BrandFacts:
    return BrandFacts(
        name=company.name,
        domain=company.domain,
        linkedin_company_url=company.linkedin,
        parent_company=company.parent,
        instagram=company.instagram,
        tiktok=company.tiktok,
        mail_domains=(company.domain,) if company.domain else (),
    )


def _lacking(columns: Mapping[str, str]) -> str | None:
    return None if "name" in columns else "a column called name, company name or LegalName"


#: Files of companies.
COMPANIES = TableKind(FIELDS["companies"], _lacking)


def company_of(cells: Mapping[str, object]) -> IndexedBrand:
    """Return the company in *cells*, by field.

    Raises:
        BadRow: It has no name, or a web site that no domain can be read from.
    """
    given = {field: cell_text(value) for field, value in cells.items()}
    name, site, country = (given.get(field, "") for field in ("name", "domain", "country"))
    if not name:
        raise BadRow("no name")
    try:
        name = clean_brand(name)
    except Unacceptable as error:
        raise BadRow(error.message) from error
    try:
        domain = canonical_domain(site) if site and not is_hosted(as_url(site)) else None
    except Unacceptable as error:
        raise BadRow("the web site is no domain that can be searched") from error
    own = given.get("id", "")[:_LONGEST_ID]
    return IndexedBrand(
        key=own or domain or f"{name.casefold()}|{country.casefold()}",
        name=name,
        domain=domain,
        country=country or None,
        size=_size(given.get("size", "")),
        linkedin=company_page(as_url(given.get("linkedin", ""))),
        instagram=_page(given.get("instagram", ""), instagram, instagram_of),
        tiktok=_page(given.get("tiktok", ""), tiktok, tiktok_of),
        parent=given.get("parent") or None,
    )


def _page(
    text: str, read: Callable[[str], str | None], made_of: Callable[[str], str]
) -> str | None:
    """Return the page that *text* is the address or the user name of."""
    if not text:
        return None
    return read(as_url(text)) if "/" in text else made_of(text.lstrip("@"))


def _size(text: str) -> int:
    """Return the lower end of "1001-5000", "10,001+" or "1001 - 5000"."""
    found = _NUMBER.match(text)
    digits = re.sub(r"\D", "", found[0]) if found else ""
    return int(digits[:9]) if digits else 0
