"""Companies that the operator imported: `cs brands import` fills what this source reads.

Open company files know millions of companies and nothing of how well known a brand is, so
what they say counts for less than what the directory knows, and of a shared name only a
company much larger than the others is meant.
"""

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import msgspec

from cs.domain.names.hosts import sites_of
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
from cs.sources.brand.brand_search import ScoredBrand, by_name, weighed
from cs.sources.brand.indexed_source import IndexedSource
from cs.sources.social_pages import is_shared_host

#: Scores are lower than those of the directory for the same likeness.
_TRUST = 0.865
_ITS_SITE = 0.9
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
        there = _living_at(index, query.domain) if query.domain is not None else []
        scored = [(each.brand, _ITS_SITE * each.score) for each in there]
        called = by_name(index, query.brand)[:_TOLD] if query.brand is not None else []
        scored += [(each.brand, _TRUST * each.score) for each in called]
        best = {brand.key: (brand, score) for brand, score in sorted(scored, key=itemgetter(1))}
        return [
            BrandMatch(facts=_facts(company), score=score, key=company.key)
            for company, score in best.values()
        ]


class ImportedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What ``[sources.imported]`` takes; in the data folder if it is not set."""

    file: str | None = None


@takes(ImportedSettings)
def from_context(context: SourceContext) -> ImportedCompanies:
    settings = msgspec.convert(context.settings, ImportedSettings)
    return ImportedCompanies(Path(settings.file) if settings.file else None)


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
