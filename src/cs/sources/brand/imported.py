"""Companies that the operator imported: `cs brands import` fills what this source reads.

Open company files know millions of companies and nothing of how well known a brand is, so
what they say counts for less than what the directory knows, and of a shared name only a
company much larger than the others is meant.
"""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import msgspec

from cs.domain.names.brand_forms import asked_forms, close_forms, undecorated
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
from cs.sources.brand.company_index import CompanyIndex, IndexFault
from cs.sources.brand.company_rows import Company
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


class ImportedCompanies:
    """A brand source over a file of `CompanyIndex`; ``None`` is not configured."""

    name = "imported"

    def __init__(self, file: Path | None) -> None:
        self._file = file
        there = file is not None and file.exists()
        self.missing = None if there else "import a company file with `cs brands import`"
        self._index: CompanyIndex | None = None
        self._lock = Lock()

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find companies by their domain if one is asked or *known*, and by name."""
        if known is not None:
            query = Query(brand=known.name, domain=known.domain or query.domain)
        if self._file is None or not self._file.exists():
            return self._ended(SourceStatus.NOT_CONFIGURED, self.missing)
        try:
            matches = await asyncio.to_thread(self._matches, self._file, query)
        except (IndexFault, msgspec.ValidationError) as error:
            return self._ended(SourceStatus.FAILED, f"the imported brands: {error}")
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=matches)

    def _ended(self, ended: SourceStatus, why: str | None) -> BrandAnswer:
        return BrandAnswer(source=self.name, ended=ended, why=why)

    def _matches(self, file: Path, query: Query) -> tuple[BrandMatch, ...]:
        with self._lock:
            if self._index is None:
                self._index = CompanyIndex(file)
            found = [*_by_domain(self._index, query), *_by_name(self._index, query.brand)]
        best: dict[str, BrandMatch] = {}
        for match in found:
            if match.key not in best or best[match.key].score < match.score:
                best[match.key] = match
        return tuple(sorted(best.values(), key=lambda match: -match.score))


class ImportedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What ``[sources.imported]`` takes; in the data folder if it is not set."""

    file: str | None = None


@takes(ImportedSettings)
def from_context(context: SourceContext) -> ImportedCompanies:
    settings = msgspec.convert(context.settings, ImportedSettings)
    return ImportedCompanies(Path(settings.file) if settings.file else None)


def _by_domain(index: CompanyIndex, query: Query) -> list[BrandMatch]:
    if query.domain is None:
        return []
    for site in sites_of(query.domain):
        if site != query.domain and is_shared_host(site):
            return []
        if there := index.at(site):
            return _shared(there, _ITS_SITE)
    return []


def _by_name(index: CompanyIndex, brand: str | None) -> list[BrandMatch]:
    if brand is None:
        return []
    name = undecorated(brand)
    if found := index.named(close_forms(name)):
        return _shared(found, _AS_SPELT)
    for keys in asked_forms(name):
        if found := index.named(keys):
            return _shared(found, _BY_FORM)
    off = {key: weight for each in close_forms(name) for key, weight in index.near(each)}
    if not off:
        return []
    nearest = min(off.values())
    found = index.named(key for key, weight in off.items() if weight == nearest)
    meant = [company for company in found if is_slip_by_words(name, company.name)]
    return _shared(meant, _BY_SLIP - _LOST_BY_SLIP * nearest / MOST)


def _shared(companies: Sequence[Company], surest: float) -> list[BrandMatch]:
    """Return the largest of *companies*, who share *surest* by what is known of them."""
    powers = [math.exp(_weight(company)) for company in companies]
    total = sum(powers)
    return [
        BrandMatch(facts=_facts(company), score=surest * power / total, key=company.key)
        for company, power in list(zip(companies, powers, strict=True))[:_TOLD]
    ]


def _weight(company: Company) -> float:
    labels = close_forms(company.name)
    label, _, suffix = (company.domain or "").partition(".")
    at_home = suffix == "com" and label.replace("-", "") in labels
    return _TENFOLD * math.log10(1 + company.size) + (_DOT_COM if at_home else 0.0)


def _facts(company: Company) -> BrandFacts:
    return BrandFacts(
        name=company.name,
        domain=company.domain,
        linkedin_company_url=company.linkedin,
        parent_company=company.parent,
        instagram=company.instagram,
        tiktok=company.tiktok,
        mail_domains=(company.domain,) if company.domain else (),
    )
