"""The bundled directory: brands known without asking anybody.

It answers at once and offline, so it is asked first; what it does not know is the
other sources' business.  Where the data came from is in `data/NOTICE`.
"""

import asyncio
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from threading import Lock

import msgspec

from cs.domain.names.brand_match import COMPANY, likeness, name_keys, names_host
from cs.domain.names.brand_names import Unacceptable, canonical_domain
from cs.domain.names.hosts import sites_of
from cs.plugins.sources import (
    BrandAnswer,
    BrandFacts,
    BrandMatch,
    Query,
    SourceContext,
    SourceStatus,
)
from cs.sources.brand.entries import ABBREVIATION, DirectoryEntries, DirectoryEntry
from cs.sources.brand.name_search import by_name
from cs.sources.brand.popularity import popularity
from cs.sources.social_pages import (
    company_page_of,
    instagram_of,
    is_shared_host,
    tiktok_of,
)

BUNDLED = files("cs.sources.brand") / "data" / "directory.jsonl.gz"

# Scores of a brand by a domain that it names: is the domain its own?
_ITS_OWN = 1.0  # called so, or named beside the domain by the caller
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

#: Mail domains besides the main one.  Each costs a check of every address.
_MORE_MAIL_DOMAINS = 2

_Line = msgspec.json.Decoder(DirectoryEntry)


class BundledDirectory:
    """A brand source over a gzipped file of one JSON object a line (see `DirectoryEntry`)."""

    name = "directory"

    def __init__(self, file: Traversable = BUNDLED) -> None:
        self._file = file
        self._lock = Lock()
        self._entries: DirectoryEntries | None = None

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find brands by their domain if one is asked or *known*, else by name.

        The first call reads the file, in a thread of its own (about half a second).
        """
        if known is not None:
            query = Query(brand=known.name, domain=known.domain or query.domain)
        try:
            entries = self._entries
            if entries is None:
                entries = await asyncio.to_thread(self.load)
        except (OSError, EOFError, zlib.error, msgspec.DecodeError, UnicodeError) as error:
            why = f"the directory cannot be read: {error}"
            return BrandAnswer(source=self.name, ended=SourceStatus.FAILED, why=why)
        if entries.is_ready:
            found = _matches(entries, query)
        else:  # may make it
            found = await asyncio.to_thread(_matches, entries, query)
        matches = tuple(sorted(found, key=lambda match: -match.score))
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=matches)

    def load(self) -> DirectoryEntries:
        """Return the entries, read once whoever asks first.

        Raises:
            OSError, EOFError, zlib.error: The file cannot be read.
            msgspec.DecodeError, UnicodeError: It does not hold entries.
        """
        with self._lock:
            if self._entries is None:
                with self._file.open("rb") as packed, gzip.open(packed) as lines:
                    self._entries = DirectoryEntries(map(_Line.decode, lines))
            return self._entries


def _matches(entries: DirectoryEntries, query: Query) -> list[BrandMatch]:
    if query.domain is not None:
        return _by_domain(entries, query.domain, query.brand)
    if query.brand is None:
        return []
    found = by_name(entries, query.brand)
    if not found and (domain := _written_as_domain(query.brand)):
        return _by_domain(entries, domain, None)
    return [_match(entries, each.entry, each.score, None) for each in found]


def _written_as_domain(brand: str) -> str | None:
    """Return the domain that somebody gave as the name: "www.acme.com"."""
    if "." not in brand or " " in brand:
        return None
    try:
        return canonical_domain(brand)
    except Unacceptable:
        return None


def _by_domain(entries: DirectoryEntries, asked: str, brand: str | None) -> list[BrandMatch]:
    """Return the brands that live at *asked*, and with *brand* those that are called so.

    With *brand* a sub-brand on its owner's site is found by its name, beside the owner; a
    brand of that name with another site is found too, to tell that the two contradict.
    """
    site, at_home = _living_at(entries, asked)
    if not at_home and brand is not None:
        site, at_home = _sisters_called(entries, asked, brand)
    matches = {
        id(entry): _match(entries, entry, score, site if score > _ONE_OF_MANY else None)
        for entry, score in at_home
    }
    owners = [entry for entry, score in at_home if score > _ONE_OF_MANY]
    if brand is not None:
        for entry, score in _called(entries, brand, {id(e) for e, _ in at_home}):
            known = matches.get(id(entry))
            if known is None or known.score < score:
                # A site that nobody owns for sure is theirs who are named with it.
                here = site if known and (not owners or entry in owners) else None
                matches[id(entry)] = _match(entries, entry, score, here)
    return list(matches.values())


def _called(
    entries: DirectoryEntries, brand: str, at_home: set[int]
) -> Iterator[tuple[DirectoryEntry, float]]:
    """Yield the entries that *brand* may mean; those at home by its name need no other sign."""
    for each in by_name(entries, brand):
        if id(each.entry) not in at_home:
            yield each.entry, each.score
        elif likeness(brand, each.entry.name) >= COMPANY:
            yield each.entry, _ITS_OWN
        else:
            yield each.entry, _ITS_OWN_BY_ALIAS


def _living_at(
    entries: DirectoryEntries, asked: str
) -> tuple[str, list[tuple[DirectoryEntry, float]]]:
    """Return the site that *asked* belongs to, and who names it, with their scores."""
    for site in sites_of(asked):
        if there := entries.at(site):
            if site != asked and is_shared_host(site):
                return asked, []
            scored = [(entry, _domain_score(entries, entry, site)) for entry in there]
            return site, _of_subdomain(entries, asked, site, scored)
    for site in sites_of(asked):
        if sister := _sister(entries, site):
            return site, [(sister, _SISTER)]
    return asked, []


def _of_subdomain(
    entries: DirectoryEntries,
    asked: str,
    site: str,
    scored: list[tuple[DirectoryEntry, float]],
) -> list[tuple[DirectoryEntry, float]]:
    """Give "oldnavy.gap.com" to Old Navy if it names gap.com; else to nobody for sure."""
    for label in asked.removesuffix(site).split("."):
        called_so = entries.with_label(name_keys(label).spelling) if label else []
        others = [
            e for e in called_so if e.named_at(f"{label}.{site}") and not e.named_at(site)
        ]
        if not others or len(label) <= ABBREVIATION:
            continue
        tied = [(entry, _ITS_OWN_BY_ALIAS) for entry, _ in scored if entry in others]
        rest = [(entry, _ONE_OF_MANY) for entry, _ in scored if entry not in others]
        return [*tied, *rest]
    return scored


def _sister(entries: DirectoryEntries, site: str) -> DirectoryEntry | None:
    """Return the one brand whose name stands in front of a country's suffix in *site*."""
    label, _, suffix = site.partition(".")
    if len(label) < _TELLING_LABEL - 1 or not _COUNTRY.fullmatch(suffix):
        return None
    called_so = entries.with_label(name_keys(label).spelling)
    if len(called_so) != 1 or entries.shared_label(label):
        return None
    (only,) = called_so
    known = len(label) >= _TELLING_LABEL or popularity(only) >= _KNOWN_FOR_SHORT_LABEL
    return only if known and only.named_at(site) else None


def _sisters_called(
    entries: DirectoryEntries, asked: str, brand: str
) -> tuple[str, list[tuple[DirectoryEntry, float]]]:
    """Return who is surely called *brand*, if *asked* is that name in front of a country."""
    for site in sites_of(asked):
        if names_host(site, brand) and _COUNTRY.fullmatch(site.partition(".")[2]):
            sure = [each for each in by_name(entries, brand) if each.score >= _SISTER]
            return site, [(e.entry, _SISTER) for e in sure if e.entry.named_at(site)]
    return asked, []


def _domain_score(entries: DirectoryEntries, entry: DirectoryEntry, domain: str) -> float:
    if entry.named_at(domain):
        return _ITS_OWN
    only_user = entries.main_only(entry.domain) and (
        entry.domain == domain or entry.sister_site(domain)
    )
    if only_user:
        return _ONLY_USER
    if len(entries.at(domain)) > 1:
        return _ONE_OF_MANY
    if entry.called_at(domain):
        return _ITS_OWN_BY_ALIAS
    return _BY_RECORD if _is_on_record(entries, entry, domain) else _ONE_OF_MANY


def _is_on_record(entries: DirectoryEntries, entry: DirectoryEntry, domain: str) -> bool:
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
    return not entries.shared_label(label) and not entries.named(label)


def _match(
    entries: DirectoryEntries, entry: DirectoryEntry, score: float, asked: str | None
) -> BrandMatch:
    """Return *entry* as a match; *asked* is a domain that is its own, too."""
    owner = entries.owner_of_site(entry)
    facts = BrandFacts(
        name=entry.name,
        domain=entry.domain,
        linkedin_company_url=_page(company_page_of, entry.linkedin),
        parent_company=entry.parent or (owner.name if owner else None),
        instagram=_page(instagram_of, entry.instagram),
        tiktok=_page(tiktok_of, entry.tiktok),
        aliases=entry.aliases,
        mail_domains=_mail_domains(entries, entry, asked),
    )
    return BrandMatch(facts=facts, score=score, key=entry.wikidata or entry.domain or "")


def _mail_domains(
    entries: DirectoryEntries, entry: DirectoryEntry, asked: str | None
) -> tuple[str, ...]:
    """Return the brand's own domains, then its parent's.

    A domain only this brand names, and that is not called so, may be a stranger's: the
    address of a namesake there would be a wrong address.
    """
    others = [
        other
        for other in entry.other_domains
        if entry.named_at(other) or entry.sister_site(other) or len(entries.at(other)) > 1
    ]
    others.sort(key=lambda other: not other.endswith(".com"))
    parent = entry.parent and entries.main_domain(entry.parent)
    likeliest = (entry.domain, asked, *others[:_MORE_MAIL_DOMAINS], parent)
    return tuple(dict.fromkeys(filter(None, likeliest)))


def _page(page_of: Callable[[str], str], name: str | None) -> str | None:
    return None if name is None else page_of(name)


def from_context(context: SourceContext) -> BundledDirectory:
    """Return the directory; it needs nothing of *context*."""
    del context
    return BundledDirectory()
