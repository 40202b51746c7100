"""Brand indexes that a test fills, and what reads them."""

from pathlib import Path
from typing import Any

from cs.domain.contact import Query
from cs.domain.names.brand_names import canonical_domain
from cs.pipeline.brand_resolution import resolve
from cs.plugins.sources import BrandAnswer, BrandSource
from cs.sources.brand.brand_index import BrandIndex, IndexedBrand
from cs.sources.brand.directory import BUNDLED, bundled


def well_known(file: Path, *brands: dict[str, Any]) -> BrandSource:
    """Write an index of *brands* as the bundled one is; return the source that reads it."""
    with BrandIndex(file, writing=True) as index:
        index.put([IndexedBrand(**brand) for brand in brands], well_known=True)
        index.compact()
    return bundled(file)


def rebuilt(file: Path) -> tuple[Path, list[IndexedBrand]]:
    """Write the brands of the bundled index to *file*; return where the bundled one is."""
    with BrandIndex(BUNDLED, immutable=True) as index:
        brands = list(index)
    with BrandIndex(file, writing=True) as index:
        index.put(brands, well_known=True)
    return BUNDLED, brands


class Resolver:
    """Finds brands in the bundled directory alone, as a search does."""

    async def domain_of(self, brand: str | None, domain: str | None) -> str | None:
        """Return the domain that is found; ``None`` for no match, or an ambiguous one."""
        query = Query(brand, domain and canonical_domain(domain))
        facts = (await resolve([bundled()], query)).choice.facts
        return facts.domain if facts else None


async def asked(
    directory: BrandSource, brand: str | None = None, domain: str | None = None
) -> BrandAnswer:
    return await directory.find(Query(brand, domain), None)
