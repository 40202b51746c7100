"""The bundled directory: brands known without asking anybody.

It answers at once and offline, so it is asked first; what it does not know is the
other sources' business.  Where the data came from is in `data/NOTICE`.
"""

import asyncio
import gzip
import zlib
from collections.abc import Callable
from importlib.resources import files
from importlib.resources.abc import Traversable
from threading import Lock

import msgspec

from cs.domain.names.brand_match import COMPANY, best_likeness, likeness
from cs.plugins.sources import (
    BrandAnswer,
    BrandFacts,
    BrandMatch,
    Query,
    SourceContext,
    SourceStatus,
)
from cs.sources.brand.entries import DirectoryEntries, DirectoryEntry
from cs.sources.social_pages import company_page_of, instagram_of, tiktok_of

BUNDLED = files("cs.sources.brand") / "data" / "directory.jsonl.gz"

# Scores.  Those for a domain say whether the domain is the brand's own (B9: exactly this
# host), those for a name are scaled by how alike the names are.
_ITS_OWN = 1.0  # called so, or named beside the domain by the caller
_ITS_OWN_BY_ALIAS = 0.95
_ONLY_USER = 0.9  # the one brand with this main site, called otherwise
_ONE_OF_MANY = 0.5  # one of several brands on an owner's site
_BY_NAME = 0.9
_BY_ALIAS = 0.8

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
        matches = tuple(sorted(_matches(entries, query), key=lambda match: -match.score))
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
    return [
        _match(entries, entry, _name_score(entry, query.brand), entry.domain)
        for entry in entries.named(query.brand)
    ]


def _name_score(entry: DirectoryEntry, brand: str) -> float:
    by_alias = best_likeness(brand, entry.telling_aliases)
    return max(_BY_NAME * likeness(brand, entry.name), _BY_ALIAS * by_alias)


def _by_domain(entries: DirectoryEntries, domain: str, brand: str | None) -> list[BrandMatch]:
    """Return the brands that name *domain*; each brand's own domain is in its facts.

    With *brand* a sub-brand on its owner's site is found by its name, beside the owner.
    """
    matches = []
    for entry in entries.at(domain):
        score = _domain_score(entries, entry, domain)
        own = domain if score > _ONE_OF_MANY else entry.domain
        if brand is not None:
            score = max(score, _score_at_domain(entry, brand))
        matches.append(_match(entries, entry, score, own))
    return matches


def _score_at_domain(entry: DirectoryEntry, brand: str) -> float:
    """Return the score of *brand* asked together with a domain that *entry* names."""
    if likeness(brand, entry.name) >= COMPANY:
        return _ITS_OWN
    return _ITS_OWN_BY_ALIAS if entry.likeness(brand) >= COMPANY else 0.0


def _domain_score(entries: DirectoryEntries, entry: DirectoryEntry, domain: str) -> float:
    if entry.named_at(domain):
        return _ITS_OWN
    only_user = entries.main_only(entry.domain) and (
        entry.domain == domain or entry.sister_site(domain)
    )
    return _ONLY_USER if only_user else _ONE_OF_MANY


def _match(
    entries: DirectoryEntries, entry: DirectoryEntry, score: float, domain: str | None
) -> BrandMatch:
    owner = entries.owner_of_site(entry)
    facts = BrandFacts(
        name=entry.name,
        domain=domain,
        linkedin_company_url=_page(company_page_of, entry.linkedin),
        parent_company=entry.parent or (owner.name if owner else None),
        instagram=_page(instagram_of, entry.instagram),
        tiktok=_page(tiktok_of, entry.tiktok),
        aliases=entry.aliases,
        mail_domains=_mail_domains(entries, entry, domain),
    )
    return BrandMatch(facts=facts, score=score, key=entry.wikidata or entry.domain or "")


def _mail_domains(
    entries: DirectoryEntries, entry: DirectoryEntry, domain: str | None
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
    likeliest = (domain, entry.domain, *others[:_MORE_MAIL_DOMAINS], parent)
    return tuple(dict.fromkeys(filter(None, likeliest)))


def _page(page_of: Callable[[str], str], name: str | None) -> str | None:
    return None if name is None else page_of(name)


def from_context(context: SourceContext) -> BundledDirectory:
    """Return the directory; it needs nothing of *context*."""
    del context
    return BundledDirectory()
