"""Brands that a name may mean, as people write it: closest form first, best known first.  Pure.

Of brands that share a name people mean the well-known one, if one stands out; else each has its
share, and none is sure.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from cs.domain.names.brand_match import (
    COMPANY,
    EXACT,
    asked_forms,
    before_owner,
    begins_with,
    best_likeness,
    branch_forms,
    close_forms,
    core_forms,
    initials,
    is_legal_form,
    likeness,
    name_keys,
    undecorated,
    without_legal_forms,
    without_list_mark,
)
from cs.domain.names.other_scripts import respellings, transliterations
from cs.domain.names.typos import MOST, is_typo_by_words
from cs.sources.brand.brand_index import BrandIndex, IndexedBrand, Typo

#: How often the brand found in a form is the one meant, where no other shares the name.
AS_WRITTEN = 0.97
AS_SPELT = 0.96
BY_HANDLE = 0.95
BY_FORM = 0.93
BY_TYPO = 0.92
BY_SITE = 0.9
BY_BRANCH = 0.88
BY_ABBREVIATION = 0.85
BY_EAR = 0.85
BY_SHORT_FORM = 0.6
BY_DOUBT = 0.3
#: Of those, what the furthest typo that counts (`MOST`) loses.
_LOST_BY_TYPO = 0.1
#: Weight that a brand loses where the name is an alias, is spelt in another way, or is the
#: furthest typo.
_ALIAS, _ANOTHER_SPELLING, _PER_TYPO = 2.0, 1.0, 2.0
#: How well known a brand must be that a name of so many letters is taken for a typo of
#: its own: short names have many neighbours, and a typo of a little known one is rare.
_KNOWN_FOR_TYPO = ((6, 6.5), (7, 5.0), (8, 3.4), (10, 2.5), (999, 0.0))
#: ... or a typo that other names are seldom made by: its weight at most, the letters of the
#: name and how well known the brand is at least.  A swap, a double letter, a left-out one, and
#: more of the best known.
_SELDOM_ANOTHER = ((0.5, 7, 3.4), (0.5, 6, 5.0), (0.7, 6, 6.0), (1.0, 7, 6.5))
_MOST_OF_KNOWN = max(weight / letters for weight, letters, _ in _SELDOM_ANOTHER)
_ROUNDING = 1e-9
#: ... and for an abbreviation that its own site is not called by, or a country behind it.
_KNOWN_FOR_ABBREVIATION = 3.5
#: ... and for a form of few letters: a little known "Note" is not meant by "Notes".
_KNOWN_FOR_SHORT_FORM = 2.5
_SHORT_FORM = 6
#: ... and for what its site is called, if that is not its name.
_KNOWN_FOR_SITE = 4.0
_ANOTHER_LEAGUE = 2.0
#: By so much a brand of nearly the same name is better known than those written as asked: it
#: is open which is meant ("MT Bank" may be M&T Bank).
_BETTER_KNOWN = 1.0
#: ... and for a name that is only heard like its own.
_KNOWN_FOR_EAR = 5.0

# Shares of a name.
#: How much one step of weight says.  With it the cut-off of 0.7 parts "Target", whose
#: weights are 2.3 apart, from "Travelodge" and "IGA", 1.4 and 1.5 (bundled directory).
_STEP = 0.55
#: A brand without an item in Wikidata counts for more as a rival than by itself.
_UNKNOWN_RIVAL = 1.5
#: Two brands of one name, each at its own country's site: none of them is the name's owner.
_NATIONAL = 0.5
#: A brand less known than this does not stand out: too little is known of both.
_WELL_KNOWN = 5.0
_DOUBTED = 1.5
#: ... and one without the name under ".com" is one country's, most often, ...
_WITHOUT_DOT_COM = 1.2
#: ... unless its fame says otherwise.
_ABROAD = 2


class ScoredBrand(msgspec.Struct, frozen=True):
    """A brand, and how likely it is meant: the scores of one answer add up to 1.0 at most."""

    brand: IndexedBrand
    score: float


def by_name(index: BrandIndex, asked: str) -> list[ScoredBrand]:
    """Return who may be meant by *asked*, the likeliest first; the closest form decides."""
    name = undecorated(asked)
    if is_legal_form(name):  # "ScS" is a brand, "GmbH" and "Co. Ltd" are none
        named = [brand for brand in index.named(name) if brand.name == name]
        return weighed(named, AS_WRITTEN)
    forms: tuple[Callable[[BrandIndex, str], list[ScoredBrand]], ...] = (
        _as_written,
        _by_form,
        _by_site,
        _by_abbreviation,
        _by_handle,
        _by_branch,
        _before_owner,
        _by_typo,
        _by_ear,
    )
    for form in forms:
        if found := form(index, name):
            return sorted(found, key=lambda each: -each.score)
    bare = without_legal_forms(without_list_mark(name))
    return [] if bare in {name, ""} else by_name(index, bare)


def _as_written(index: BrandIndex, name: str) -> list[ScoredBrand]:
    """Find by name or alias; else by umlauts written as two letters, on either side."""
    named = index.named(name)
    if not named:
        keys = close_forms(name)
        found = index.with_form(keys)
        spelt = [b for b in found if any(keys & close_forms(each) for each in b.names)]
        return weighed(spelt, AS_SPELT)
    known = max(brand.weight for brand in named) + _BETTER_KNOWN
    alike = index.with_form(close_forms(name))
    if better := [b for b in alike if b not in named and b.weight >= known]:
        return [*weighed(named, BY_SHORT_FORM), *weighed(better, BY_DOUBT)]
    by_weight = [(brand, brand.weight - _distance(brand, name)) for brand in named]
    exact = [brand.likeness(name) == EXACT for brand in named]
    return _scored(by_weight, [AS_WRITTEN if is_exact else AS_SPELT for is_exact in exact])


def _distance(brand: IndexedBrand, name: str) -> float:
    own, of_any = likeness(name, brand.name), best_likeness(name, brand.names)
    spelling = _ANOTHER_SPELLING if of_any < EXACT else 0.0
    return spelling + (_as_alias(brand, name) if own < COMPANY else 0.0)


def _as_alias(brand: IndexedBrand, name: str) -> float:
    """Return what a brand loses that has *name* as an alias: more if its own is longer.

    "Sainsbury's" is Sainsbury's before it is Sainsbury's Bank.
    """
    return _ALIAS * (2 if begins_with(brand.name, name) else 1)


def _by_form(index: BrandIndex, name: str) -> list[ScoredBrand]:
    for keys in asked_forms(name):
        if found := index.with_form(keys):
            short = max(map(len, keys)) <= _SHORT_FORM
            least = _KNOWN_FOR_SHORT_FORM if short else 0.0
            known = max(brand.weight for brand in found)
            own = {each.key for each in found if not keys.isdisjoint(core_forms(each.name))}
            if better := _better_known_typos(index, name, found, known):
                return [*weighed(found, BY_SHORT_FORM, own), *weighed(better, BY_DOUBT)]
            return weighed(found, BY_FORM if known >= least else BY_SHORT_FORM, own)
    return []


def _better_known_typos(
    index: BrandIndex, name: str, found: Sequence[IndexedBrand], known: float
) -> list[IndexedBrand]:
    """Return who is called nearly *name* and is another league than *found*.

    "Marshals" is Marshal in the plural, and Marshalls with a letter left out.  No one is where
    words were only added: those are no letters of another name.
    """
    if any(begins_with(name, each) for one in found for each in (one.name, *one.aliases)):
        return []
    typos = (each.brand for each in _by_typo(index, name))
    return [b for b in typos if b not in found and b.weight >= known + _ANOTHER_LEAGUE]


def _by_site(index: BrandIndex, name: str) -> list[ScoredBrand]:
    there = index.with_label(name_keys(name).spelling)
    return weighed([b for b in there if b.weight >= _KNOWN_FOR_SITE], BY_SITE)


def _by_abbreviation(index: BrandIndex, name: str) -> list[ScoredBrand]:
    key = name_keys(name).spelling
    called = [b for b in index.with_short_alias(key) if key in initials(b.name)]
    known = [brand for brand in called if brand.weight >= _KNOWN_FOR_ABBREVIATION]
    return weighed(known, BY_ABBREVIATION)


def _by_handle(index: BrandIndex, name: str) -> list[ScoredBrand]:
    if not name.startswith("@"):
        return []
    return weighed(index.with_handle(name[1:].strip().lower()), BY_HANDLE)


def _by_branch(index: BrandIndex, name: str) -> list[ScoredBrand]:
    found = index.with_form(branch_forms(name))
    return weighed([b for b in found if b.weight >= _KNOWN_FOR_ABBREVIATION], BY_BRANCH)


def _before_owner(index: BrandIndex, name: str) -> list[ScoredBrand]:
    """Return the brand before "by" if the one named behind it owns it."""
    parts = before_owner(name)
    if parts is None:
        return []
    found = []
    for brand in index.named(parts[0]):
        site = owner_of_site(index, brand)
        owners = (brand.parent, site.name if site else None)
        if best_likeness(parts[1], filter(None, owners)) >= COMPANY:
            found.append(brand)
    return weighed(found, BY_FORM)


def owner_of_site(index: BrandIndex, brand: IndexedBrand) -> IndexedBrand | None:
    """Return the brand that the main site of *brand* is called after, if another."""
    if brand.domain is None or brand.named_at(brand.domain):
        return None
    owners = [other for other in index.at(brand.domain) if other.named_at(brand.domain)]
    return owners[0] if owners and not owners[0].likeness(brand.name) else None


def _by_typo(index: BrandIndex, name: str) -> list[ScoredBrand]:
    keys = dict.fromkeys((name_keys(name).company, *sorted(close_forms(name))))
    return _typos(index, name, filter(None, keys), BY_TYPO)


def _by_ear(index: BrandIndex, name: str) -> list[ScoredBrand]:
    key = name_keys(name).company
    if found := _typos(index, name, transliterations(key), BY_EAR):
        return found
    spelt_so = index.with_form(respellings(key))
    return weighed([b for b in spelt_so if b.weight >= _KNOWN_FOR_EAR], BY_EAR)


def _typos(
    index: BrandIndex, name: str, keys: Iterable[str], surest: float
) -> list[ScoredBrand]:
    near: dict[str, Typo] = {}
    for key in keys:
        for each in index.near(key, most=_MOST_OF_KNOWN):
            before = near.get(each.brand.key)
            if (before is None or each.off < before.off) and _well_known(each):
                near[each.brand.key] = each
    typos = [each for each in near.values() if is_typo_by_words(name, each.name)]
    by_weight = [(each.brand, _weight_of_typo(each)) for each in typos]
    return _scored(by_weight, [surest - _LOST_BY_TYPO * each.off / MOST for each in typos])


def _weight_of_typo(typo: Typo) -> float:
    alias = _as_alias(typo.brand, typo.name) if typo.name != typo.brand.name else 0.0
    return typo.brand.weight - alias - _PER_TYPO * typo.off / MOST


def _well_known(typo: Typo) -> bool:
    if typo.off == 0.0:
        return True
    letters = len(name_keys(typo.name).company)
    known = typo.brand.weight - (_ALIAS if typo.name != typo.brand.name else 0.0)
    if any(
        typo.off * letters <= weight + _ROUNDING and letters >= least and known >= least_known
        for weight, least, least_known in _SELDOM_ANOTHER
    ):
        return True
    least_known = next(weight for longest, weight in _KNOWN_FOR_TYPO if letters <= longest)
    return typo.off <= MOST and known >= least_known


def weighed(
    found: Sequence[IndexedBrand], surest: float, own: Collection[str] | None = None
) -> list[ScoredBrand]:
    """Share *surest* out; those not in *own*, if it is given, have the name as an alias."""
    by_weight = [
        (b, b.weight - (_ALIAS if own is not None and b.key not in own else 0.0)) for b in found
    ]
    return _scored(by_weight, [surest] * len(found))


def _scored(
    by_weight: Sequence[tuple[IndexedBrand, float]], surest: Sequence[float]
) -> list[ScoredBrand]:
    """Return each brand with its share of how sure its form of the name is at most."""
    return [
        ScoredBrand(brand, share * most)
        for (brand, _), share, most in zip(by_weight, shares(by_weight), surest, strict=True)
    ]


def shares(brands: Sequence[tuple[IndexedBrand, float]]) -> list[float]:
    """Return how likely each of *brands* is the one that people mean by a name they share.

    Args:
        brands: With the weight of each, which may be less than its own where the name is not
            quite its own.

    Returns:
        As many numbers from 0 to 1, with the sum 1.0.  Brands of one main site are one:
        the first of the heaviest has the share of all.
    """
    heaviest: dict[str, int] = {}
    for n, (brand, weight) in enumerate(brands):
        site = brand.domain or f"#{n}"
        if site not in heaviest or weight > brands[heaviest[site]][1]:
            heaviest[site] = n
    if not heaviest:
        return []
    first = max(heaviest.values(), key=lambda n: brands[n][1])
    powers = {
        n: math.exp(-_STEP * _behind(brands[first], brands[n])) if n != first else 1.0
        for n in heaviest.values()
    }
    total = sum(powers.values())
    return [powers.get(n, 0.0) / total for n in range(len(brands))]


def _behind(first: tuple[IndexedBrand, float], other: tuple[IndexedBrand, float]) -> float:
    """Return how far *other* is behind the *first*, which counts less if it is little known."""
    (one, weight), (two, rival) = first, other
    if one.size:  # which says more than what is written of a brand
        return (weight - rival) / _STEP
    unknown = _UNKNOWN_RIVAL if two.wikidata is None and not two.fame else 0.0
    doubt = _DOUBTED * max(0.0, _WELL_KNOWN - one.weight)
    if one.has_dot_com or one.fame >= _ABROAD:
        return max(weight - rival - unknown - doubt, 0.0)
    distance = weight - rival - unknown - doubt - _WITHOUT_DOT_COM
    namesake = name_keys(one.name).company == name_keys(two.name).company
    same_label = one.domain is not None and one.sister_site(two.domain or "")
    if same_label or (namesake and two.has_dot_com):
        distance = min(distance, _NATIONAL)
    return max(distance, 0.0)
