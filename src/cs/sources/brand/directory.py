"""The bundled directory: brands known without asking anybody.

It answers at once and offline, so it is asked first; what it does not know is the
other sources' business.  Where the data came from is in `data/NOTICE`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cs.domain.names.brand_match import COMPANY, likeness, name_keys, names_host
from cs.domain.names.brand_names import Unacceptable, canonical_domain, sites_of
from cs.plugins.sources import BrandFacts, BrandMatch, Query, SourceContext
from cs.sources.brand.brand_index import (
    ABBREVIATION,
    BrandIndex,
    IndexedBrand,
    IndexedSource,
)
from cs.sources.brand.brand_search import by_name, owner_of_site
from cs.sources.social_pages import is_shared_host

BUNDLED = Path(__file__).parent / "data" / "brands.sqlite"

# Scores of a brand by a domain that it names: is the domain its own?
_ITS_OWN = 1.0  # called so, or named with the domain by the caller
_ITS_OWN_BY_ALIAS = 0.95  # made of its name, an alias or its initials
_ONLY_USER = 0.9  # the one brand with this main site, called otherwise
_SISTER = 0.85  # its name under the suffix of a country that it does not name
_BY_RECORD = 0.8  # no other brand names it, nor is called so: of 100 drawn 6 were strangers'
_ONE_OF_MANY = 0.5  # one of several brands on an owner's site, or a stranger's site

#: Names under a country's suffix that the directory does not have: from so many letters on
#: they belong to one firm, of a well-known brand's name one less.  Of 1,200 domains under a
#: country with the label of a brand's ".com" 91 % are that brand's, of five letters as of nine;
#: those whose label another brand has, too, are left out here.
_TELLING_LABEL = 5
_KNOWN_FOR_SHORT_LABEL = 5.0
#: A label shorter than this tells nothing of whose domain it is: "uk.com".
_LABEL_OF_RECORD = 3
#: Suffixes of states and of schools, which no brand has.
_NO_BRANDS = re.compile(r"(?:^|\.)(?:gov|gob|gouv|gub|edu|mil)(?:\.|$)")
_COUNTRY = re.compile(r"[a-z]{2}|(?:com?|net|org|or|ne)\.[a-z]{2}")

#: Mail domains other than the main one.  Each costs a check of every address.
_MORE_MAIL_DOMAINS = 2


def bundled(file: Path = BUNDLED) -> IndexedSource:
    """Return the source over the index that `dev/build_brands.py` makes."""
    return IndexedSource("directory", file, _matches, immutable=True)


def from_context(context: SourceContext) -> IndexedSource:
    """Return the directory; it needs nothing of *context*."""
    del context
    return bundled()


def _matches(index: BrandIndex, query: Query) -> Sequence[BrandMatch]:
    if query.domain is not None:
        return _by_domain(index, query.domain, query.brand)
    if query.brand is None:
        return []
    found = by_name(index, query.brand)
    if not found and (domain := _written_as_domain(query.brand)):
        return _by_domain(index, domain, None)
    return [_match(index, each.brand, each.score, None) for each in found]


def _written_as_domain(brand: str) -> str | None:
    """Return the domain that was given as the name: "www.acme.com"."""
    if "." not in brand or " " in brand:
        return None
    try:
        return canonical_domain(brand)
    except Unacceptable:
        return None


def _by_domain(index: BrandIndex, asked: str, brand: str | None) -> list[BrandMatch]:
    """Return the brands that live at *asked*, and with *brand* those that are called so.

    With *brand* a sub-brand on its owner's site is found by its name, next to the owner; a
    brand of that name with another site is found too, to tell that the two contradict.
    """
    site, at_home = _living_at(index, asked)
    if not at_home and brand is not None:
        site, at_home = _sisters_called(index, asked, brand)
    matches = {
        entry.key: _match(index, entry, score, site if score > _ONE_OF_MANY else None)
        for entry, score in at_home
    }
    owners = [entry for entry, score in at_home if score > _ONE_OF_MANY]
    if brand is not None:
        for entry, score in _called(index, brand, {e.key for e, _ in at_home}):
            known = matches.get(entry.key)
            if known is None or known.score < score:
                # A site without a sure owner belongs to the brands named with it.
                here = site if known and (not owners or entry in owners) else None
                matches[entry.key] = _match(index, entry, score, here)
    return list(matches.values())


def _called(
    index: BrandIndex, brand: str, at_home: set[str]
) -> Iterator[tuple[IndexedBrand, float]]:
    """Yield the entries that *brand* may mean; those at home by its name need no other sign."""
    for each in by_name(index, brand):
        if each.brand.key not in at_home:
            yield each.brand, each.score
        elif likeness(brand, each.brand.name) >= COMPANY:
            yield each.brand, _ITS_OWN
        else:
            yield each.brand, _ITS_OWN_BY_ALIAS


def _living_at(index: BrandIndex, asked: str) -> tuple[str, list[tuple[IndexedBrand, float]]]:
    """Return the site that *asked* belongs to, and who names it, with their scores."""
    for site in sites_of(asked):
        if there := index.at(site):
            if site != asked and is_shared_host(site):
                return asked, []
            scored = [(entry, _domain_score(index, entry, site)) for entry in there]
            return site, _of_subdomain(index, asked, site, scored)
    for site in sites_of(asked):
        if sister := _sister(index, site):
            return site, [(sister, _SISTER)]
    return asked, []


def _of_subdomain(
    index: BrandIndex,
    asked: str,
    site: str,
    scored: list[tuple[IndexedBrand, float]],
) -> list[tuple[IndexedBrand, float]]:
    """Give "oldnavy.gap.com" to Old Navy if it names gap.com; else to none for sure."""
    for label in asked.removesuffix(site).split("."):
        called_so = index.with_label(name_keys(label).spelling) if label else []
        others = [
            e for e in called_so if e.named_at(f"{label}.{site}") and not e.named_at(site)
        ]
        if not others or len(label) <= ABBREVIATION:
            continue
        tied = [(entry, _ITS_OWN_BY_ALIAS) for entry, _ in scored if entry in others]
        rest = [(entry, _ONE_OF_MANY) for entry, _ in scored if entry not in others]
        return [*tied, *rest]
    return scored


def _sister(index: BrandIndex, site: str) -> IndexedBrand | None:
    """Return the one brand whose name stands in front of a country's suffix in *site*."""
    label, _, suffix = site.partition(".")
    if len(label) < _TELLING_LABEL - 1 or not _COUNTRY.fullmatch(suffix):
        return None
    called_so = index.with_label(name_keys(label).spelling)
    if len(called_so) != 1 or _is_shared(index, label):
        return None
    (only,) = called_so
    known = len(label) >= _TELLING_LABEL or only.weight >= _KNOWN_FOR_SHORT_LABEL
    return only if known and only.named_at(site) else None


def _sisters_called(
    index: BrandIndex, asked: str, brand: str
) -> tuple[str, list[tuple[IndexedBrand, float]]]:
    """Return who is surely called *brand*, if *asked* is that name in front of a country."""
    for site in sites_of(asked):
        if names_host(site, brand) and _COUNTRY.fullmatch(site.partition(".")[2]):
            sure = [each for each in by_name(index, brand) if each.score >= _SISTER]
            return site, [(e.brand, _SISTER) for e in sure if e.brand.named_at(site)]
    return asked, []


def _domain_score(index: BrandIndex, entry: IndexedBrand, domain: str) -> float:
    if entry.named_at(domain):
        return _ITS_OWN
    only_user = _main_only(index, entry.domain) and (
        entry.domain == domain or entry.sister_site(domain)
    )
    if only_user:
        return _ONLY_USER
    if len(index.at(domain)) > 1:
        return _ONE_OF_MANY
    if entry.called_at(domain):
        return _ITS_OWN_BY_ALIAS
    return _BY_RECORD if _is_on_record(index, entry, domain) else _ONE_OF_MANY


def _is_on_record(index: BrandIndex, entry: IndexedBrand, domain: str) -> bool:
    """Say whether *domain*, called otherwise, may be taken for a site of *entry* alone.

    A former name or another country's: "daenischesbettenlager.de" of JYSK.  A brand without a
    site of its own name has its owner's there, and a label that another brand is called by is
    that brand's.
    """
    label, _, suffix = domain.partition(".")
    if len(label) < _LABEL_OF_RECORD or _NO_BRANDS.search(suffix):
        return False
    if entry.domain is None or not entry.named_at(entry.domain):
        return False
    return not _is_shared(index, label) and not index.named(label)


def _match(
    index: BrandIndex, brand: IndexedBrand, score: float, asked: str | None
) -> BrandMatch:
    """Return *brand* as a match; *asked* is a domain that is its own, too."""
    owner = owner_of_site(index, brand)
    facts = BrandFacts(
        name=brand.name,
        domain=brand.domain,
        linkedin_company_url=brand.linkedin,
        parent_company=brand.parent or (owner.name if owner else None),
        instagram=brand.instagram,
        tiktok=brand.tiktok,
        aliases=brand.aliases,
        mail_domains=_mail_domains(index, brand, asked),
    )
    key = brand.domain or "" if brand.wikidata is None else brand.key
    return BrandMatch(facts=facts, score=score, key=key)


def _mail_domains(index: BrandIndex, entry: IndexedBrand, asked: str | None) -> tuple[str, ...]:
    """Return the brand's own domains, then its parent's.

    A domain only this brand names, and that is not called so, may be a stranger's: the
    address of a namesake there would be a wrong address.
    """
    others = [
        other
        for other in entry.other_domains
        if entry.named_at(other) or entry.sister_site(other) or len(index.at(other)) > 1
    ]
    others.sort(key=lambda other: not other.endswith(".com"))
    parent = entry.parent and _main_domain(index, entry.parent)
    likeliest = (entry.domain, asked, *others[:_MORE_MAIL_DOMAINS], parent)
    return tuple(dict.fromkeys(filter(None, likeliest)))


def _is_shared(index: BrandIndex, label: str) -> bool:
    """Return whether several brands name a domain called *label*, whatever its suffix."""
    return len(index.with_label(name_keys(label).spelling, main=False)) > 1


def _main_only(index: BrandIndex, domain: str | None) -> bool:
    """Return whether *domain* is the main domain of one brand and of no other."""
    return [domain] == [
        brand.domain for brand in index.at(domain or "") if brand.domain == domain
    ]


def _main_domain(index: BrandIndex, name: str) -> str | None:
    """Return the domain of the one brand called *name*; ``None`` if there are more."""
    domains = {brand.domain for brand in index.named(name) if likeness(brand.name, name)}
    return domains.pop() if len(domains) == 1 else None
