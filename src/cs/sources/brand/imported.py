"""Companies that the operator imported: `cs brands import` fills what this source reads.

Open company files know millions of companies and nothing of how well known a brand is, so
what they say counts for less than what the directory knows, and of a shared name only a
company much larger than the others is meant.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cs.domain.names.brand_forms import asked_forms, close_forms, is_legal_form, undecorated
from cs.domain.names.hosts import sites_of
from cs.domain.names.typos import MOST, is_slip_by_words
from cs.plugins.sources import (
    BrandAnswer,
    BrandFacts,
    BrandMatch,
    Query,
    SourceContext,
    SourceStatus,
    takes,
)
from cs.sources.brand.brand_index import BrandIndex, IndexedBrand
from cs.sources.brand.indexed_source import IndexedSource
from cs.sources.social_pages import is_shared_host

# Scores, below those of the directory for the same likeness.
_ITS_SITE = 0.9
_AS_SPELT = 0.83
_BY_FORM = 0.78
_BY_SLIP, _LOST_BY_SLIP = 0.8, 0.08
#: How much a tenfold size says of which company of a name is meant.
_TENFOLD = 1.5
_DOT_COM = 1.5
#: Companies of one name that are told: the others are small.
_TOLD = 5


class ImportedCompanies(IndexedSource):
    """A brand source over a file of `BrandIndex`; ``None`` is not configured."""

    name = "imported"
    _what = "the file of imported brands"

    def __init__(self, file: Path | None) -> None:
        super().__init__(file or Path())
        there = file is not None and file.exists()
        self.missing = None if there else "import a company file with `cs brands import`"

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find companies by their domain if one is asked or *known*, and by name."""
        if not self._file.is_file():
            ended = SourceStatus.NOT_CONFIGURED
            return BrandAnswer(source=self.name, ended=ended, why=self.missing)
        return await super().find(query, known)

    def _matches(self, index: BrandIndex, query: Query) -> Sequence[BrandMatch]:
        best: dict[str, BrandMatch] = {}
        for match in [*_by_domain(index, query), *_by_name(index, query.brand)]:
            if match.key not in best or best[match.key].score < match.score:
                best[match.key] = match
        return list(best.values())


class ImportedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What ``[sources.imported]`` takes; in the data folder if it is not set."""

    file: str | None = None


@takes(ImportedSettings)
def from_context(context: SourceContext) -> ImportedCompanies:
    settings = msgspec.convert(context.settings, ImportedSettings)
    return ImportedCompanies(Path(settings.file) if settings.file else None)


def _by_domain(index: BrandIndex, query: Query) -> list[BrandMatch]:
    if query.domain is None:
        return []
    for site in sites_of(query.domain):
        if site != query.domain and is_shared_host(site):
            return []
        if there := index.at(site):
            return _shared(there, _ITS_SITE)
    return []


def _by_name(index: BrandIndex, brand: str | None) -> list[BrandMatch]:
    if brand is None or is_legal_form(brand):
        return []
    name = undecorated(brand)
    if found := index.with_form(close_forms(name)):
        return _shared(found, _AS_SPELT)
    for keys in asked_forms(name):
        if found := index.with_form(keys):
            return _shared(found, _BY_FORM)
    slips = [slip for key in close_forms(name) for slip in index.near(key)]
    nearest = min((slip.off for slip in slips), default=0.0)
    meant = {
        slip.brand.key: slip.brand
        for slip in slips
        if slip.off == nearest and is_slip_by_words(name, slip.brand.name)
    }
    found = sorted(meant.values(), key=lambda company: -company.size)
    return _shared(found, _BY_SLIP - _LOST_BY_SLIP * nearest / MOST)


def _shared(companies: Sequence[IndexedBrand], surest: float) -> list[BrandMatch]:
    """Return the largest of *companies*, who share *surest* by what is known of them."""
    powers = [math.exp(_weight(company)) for company in companies]
    total = sum(powers)
    return [
        BrandMatch(facts=_facts(company), score=surest * power / total, key=company.key)
        for company, power in list(zip(companies, powers, strict=True))[:_TOLD]
    ]


def _weight(company: IndexedBrand) -> float:
    labels = close_forms(company.name)
    label, _, suffix = (company.domain or "").partition(".")
    at_home = suffix == "com" and label.replace("-", "") in labels
    return _TENFOLD * math.log10(1 + company.size) + (_DOT_COM if at_home else 0.0)


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
