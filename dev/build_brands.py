"""Make the index of the bundled brands, `src/cs/sources/brand/data/brands.sqlite`.

    .venv/bin/python dev/build_brands.py [LINES.jsonl.gz]

Without a file it makes the index again from the brands that are in it, which a changed rule of
`cs.domain.names` calls for.  With one it takes the brands from there: a JSON object a line, as
`data/NOTICE` describes it.

The brands of `dev/well_known_brands.jsonl`, which were written down by hand, are added each
time: to the brand of their name and of one of their domains if the index has it, else as a
brand of their own.  What a line gave to a brand of the index stays there when the line goes;
only the file of the first brands takes it back.
"""

import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from cs.domain.names.brand_match import best_likeness, name_keys
from cs.sources.brand.brand_index import BrandIndex, IndexedBrand
from cs.sources.brand.directory import BUNDLED
from cs.sources.social_pages import company_page_of, instagram_of, tiktok_of

WELL_KNOWN = Path(__file__).with_name("well_known_brands.jsonl")
#: In front of the keys of brands that only `WELL_KNOWN` has.
ADDED = "+"


class Line(msgspec.Struct, forbid_unknown_fields=True):
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
    f: int = 0  # `IndexedBrand.fame`

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
            fame=self.f,
        )


def read(file: Path) -> Iterator[IndexedBrand]:
    with gzip.open(file) as lines:
        for line in lines:
            yield msgspec.json.decode(line, type=Line).brand()


def with_well_known(brands: Iterable[IndexedBrand]) -> list[IndexedBrand]:
    """Return *brands* with those of `WELL_KNOWN`, in place of the ones added earlier."""
    first = [msgspec.structs.replace(b, fame=0) for b in brands if not b.key.startswith(ADDED)]
    owned = {name_keys(brand.name).company for brand in first}
    known = {brand.key: brand for brand in first}
    at: dict[str, list[str]] = {}
    for brand in first:
        for domain in brand.domains:
            at.setdefault(domain, []).append(brand.key)
    for text in WELL_KNOWN.read_bytes().splitlines():
        added = msgspec.json.decode(text, type=Line).brand()
        there = [known[key] for domain in added.domains for key in at.get(domain, ())]
        names = (added.name, *added.aliases)
        same = [brand for brand in there if best_likeness(brand.name, names)]
        made = _merged(same[0], added, owned) if same else added
        key = same[0].key if same else ADDED + added.key
        known[key] = msgspec.structs.replace(made, key=key)
    return list(known.values())


def _merged(brand: IndexedBrand, added: IndexedBrand, owned: set[str]) -> IndexedBrand:
    """Return *brand* with the domain and the fame of *added*, and what else it lacks.

    Its aliases that are another brand's name, as keys in *owned*, do not share its fame.
    """
    own = (alias for alias in brand.aliases if name_keys(alias).company not in owned)
    names = dict.fromkeys((added.name, *added.aliases, *own))
    return msgspec.structs.replace(
        brand,
        domain=added.domain,
        instagram=brand.instagram or added.instagram,
        parent=brand.parent or added.parent,
        aliases=tuple(name for name in names if name != brand.name),
        other_domains=tuple(d for d in brand.domains if d != added.domain),
        fame=added.fame,
    )


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
    brands = with_well_known(brands)
    build(brands, BUNDLED)
    print(f"{len(brands)} brands, {BUNDLED.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
