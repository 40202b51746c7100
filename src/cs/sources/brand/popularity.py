"""How well known a brand is by what is written of it, and who a shared name means.  Pure.

Of brands that share a name people mean the well-known one.  What the directory holds tells
which that is: who has the name under ".com", how early the brand got its item in Wikidata
(items are numbered as they are made, and what is well known was first: Starbucks is
Q37158), social pages, sites and further names.
"""

import math
from collections.abc import Sequence
from typing import Protocol

from cs.domain.names.brand_match import name_keys, names_host

#: The number of an item that says nothing any more: the newest are beyond it.
_NEWEST = 8.3  # log10 of 200 million
_PER_TENFOLD = 1.5
#: A brand without an item is in the list for its busy site: it may be well known, and is
#: not taken to be; as a rival it counts for more.
_WITHOUT_ITEM, _UNKNOWN_RIVAL = 1.5, 1.5
_DOT_COM, _SITE_CALLED_SO = 2.0, 1.0
_SOCIAL_PAGE, _DOUBLED = 0.2, 0.1
#: How much one step of weight says.  With it the cut-off of 0.7 parts "Target", whose
#: weights are 2.3 apart, from "Travelodge" and "IGA", 1.4 and 1.5 (bench/resolve.py).
_STEP = 0.55
#: Two brands of one name, each at its own country's site: none of them is the name's owner.
_NATIONAL = 0.5
#: Who is less known than this does not stand out: what is known of both is too little.
_WELL_KNOWN = 5.0
_DOUBTED = 1.5
#: ... and who has not the name under ".com" is one country's, most often.
_WITHOUT_DOT_COM = 1.2


class ListedBrand(Protocol):
    """A brand as a directory has it."""

    @property
    def name(self) -> str: ...
    @property
    def domain(self) -> str | None: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...
    @property
    def other_domains(self) -> tuple[str, ...]: ...
    @property
    def instagram(self) -> str | None: ...
    @property
    def tiktok(self) -> str | None: ...
    @property
    def linkedin(self) -> str | None: ...
    @property
    def wikidata(self) -> str | None: ...


def popularity(brand: ListedBrand) -> float:
    """Return a weight from 0 to about 10; one that is 2 larger is another league."""
    age = _WITHOUT_ITEM
    if brand.wikidata and brand.wikidata[1:].isdecimal():
        age = _PER_TENFOLD * max(0.0, _NEWEST - math.log10(int(brand.wikidata[1:]) or 1))
    pages = sum(page is not None for page in (brand.instagram, brand.tiktok, brand.linkedin))
    named = len(brand.other_domains), len(brand.aliases)
    site = _DOT_COM if _has_dot_com(brand) else _SITE_CALLED_SO if _at_home(brand) else 0.0
    return site + age + _SOCIAL_PAGE * pages + sum(_DOUBLED * math.log2(1 + n) for n in named)


def shares(brands: Sequence[tuple[ListedBrand, float]]) -> list[float]:
    """Return how likely each of *brands* is the one that people mean by a name they share.

    Args:
        brands: With the weight of each, which may be less than its `popularity` where the
            name is not quite its own.

    Returns:
        As many numbers from 0 to 1, with the sum 1.0.  Brands of one main site are one:
        the first of the heaviest has the share of all.
    """
    heaviest: dict[str | None, int] = {}
    for n, (brand, weight) in enumerate(brands):
        site = brand.domain or f"#{n}"
        if site not in heaviest or weight > brands[heaviest[site]][1]:
            heaviest[site] = n
    rivals = list(heaviest.values())
    top = max((brands[n][1] for n in rivals), default=0.0)
    leaders = [n for n in rivals if brands[n][1] == top]
    behind = {n: _behind(brands, leaders[0], n) for n in rivals}
    powers = {n: math.exp(-_STEP * distance) for n, distance in behind.items()}
    total = sum(powers.values())
    return [powers[n] / total if n in powers else 0.0 for n in range(len(brands))]


def _behind(brands: Sequence[tuple[ListedBrand, float]], first: int, other: int) -> float:
    """Return how far *other* is behind the *first*, who counts less if it is little known."""
    if first == other:
        return 0.0
    (one, weight), (two, rival) = brands[first], brands[other]
    unknown = _UNKNOWN_RIVAL if two.wikidata is None else 0.0
    doubt = _DOUBTED * max(0.0, _WELL_KNOWN - popularity(one))
    if not _has_dot_com(one):
        doubt += _WITHOUT_DOT_COM
    distance = weight - rival - unknown - doubt
    namesake = name_keys(one.name).company == name_keys(two.name).company
    same_label = one.domain is not None and _label(one) == _label(two)
    if not _has_dot_com(one) and (same_label or (namesake and _has_dot_com(two))):
        distance = min(distance, _NATIONAL)
    return max(distance, 0.0)


def _has_dot_com(brand: ListedBrand) -> bool:
    return _at_home(brand) and brand.domain is not None and _suffix(brand.domain) == "com"


def _label(brand: ListedBrand) -> str:
    return (brand.domain or "").partition(".")[0]


def _suffix(domain: str) -> str:
    return domain.partition(".")[2]


def _at_home(brand: ListedBrand) -> bool:
    if brand.domain is None:
        return False
    label = name_keys(brand.domain.partition(".")[0]).spelling
    return names_host(brand.domain, brand.name) or label == name_keys(brand.name).spelling
