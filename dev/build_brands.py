"""Make the index of the bundled brands, `src/cs/sources/brand/data/brands.sqlite`.

    .venv/bin/python dev/build_brands.py [LINES.jsonl.gz]

Without a file it makes the index again from the brands that are in it, which a changed rule of
`cs.domain.names` calls for.  With one it takes the brands from there: a JSON object a line, as
`data/NOTICE` describes it.
"""

import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from cs.sources.brand.brand_index import BrandIndex, IndexedBrand
from cs.sources.brand.directory import BUNDLED
from cs.sources.social_pages import company_page_of, instagram_of, tiktok_of


class Line(msgspec.Struct):
    """One brand, as it was put together."""

    n: str  # name
    d: str | None = None  # main domain
    a: tuple[str, ...] = ()  # other names
    x: tuple[str, ...] = ()  # other domains
    ig: str | None = None  # user names
    tt: str | None = None
    li: str | None = None  # last part of the company page's path
    p: str | None = None  # parent's name
    q: str | None = None  # Wikidata's item

    def brand(self) -> IndexedBrand:
        return IndexedBrand(
            key=self.q or f"{self.n}|{self.d or ''}",
            name=self.n,
            domain=self.d,
            linkedin=self.li and company_page_of(self.li),
            instagram=self.ig and instagram_of(self.ig),
            tiktok=self.tt and tiktok_of(self.tt),
            parent=self.p,
            aliases=self.a,
            other_domains=self.x,
        )


def read(file: Path) -> Iterator[IndexedBrand]:
    with gzip.open(file) as lines:
        for line in lines:
            yield msgspec.json.decode(line, type=Line).brand()


def build(brands: Iterable[IndexedBrand], file: Path) -> None:
    """Write *brands* to the index *file*, in place of what is there."""
    made = file.with_suffix(".new")
    made.unlink(missing_ok=True)
    with BrandIndex(made, writing=True) as index:
        index.put(list(brands), well_known=True)
        index.compact()
    made.replace(file)


def main() -> None:
    if len(sys.argv) > 1:
        brands = list(read(Path(sys.argv[1])))
    else:
        with BrandIndex(BUNDLED, immutable=True) as index:
            brands = list(index)
    build(brands, BUNDLED)
    print(f"{len(brands)} brands, {BUNDLED.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
