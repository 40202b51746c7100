"""The entries of a brand directory, and the indexes that find them.  Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from cs.domain.names.brand_match import best_likeness, likeness, name_keys, names_host

#: Short aliases are shared by strangers ("CIA", "EMS"): up to this many letters they count
#: only where the brand's own site is called so.
ABBREVIATION = 3


class DirectoryEntry(
    msgspec.Struct,
    frozen=True,
    rename={
        "name": "n",
        "domain": "d",
        "aliases": "a",
        "other_domains": "x",
        "instagram": "ig",
        "tiktok": "tt",
        "linkedin": "li",
        "parent": "p",
        "wikidata": "q",
    },
):
    """One brand, one line of the file.

    ``other_domains`` are sites named with the brand: its own in other countries, its
    owner's, and now and then a stranger's.  ``domain`` too may be an owner's.
    """

    name: str
    domain: str | None = None
    aliases: tuple[str, ...] = ()
    other_domains: tuple[str, ...] = ()
    instagram: str | None = None  # user name
    tiktok: str | None = None  # user name, without "@"
    linkedin: str | None = None  # last part of the company page's path
    parent: str | None = None  # its name
    wikidata: str | None = None  # "Q" and digits

    @property
    def telling_aliases(self) -> tuple[str, ...]:
        """The aliases that point at this brand without more."""
        return tuple(alias for alias in self.aliases if self._tells(alias))

    def _tells(self, alias: str) -> bool:
        short = alias.isascii() and len(name_keys(alias).spelling) <= ABBREVIATION
        return not short or (self.domain is not None and names_host(self.domain, alias))

    @property
    def domains(self) -> tuple[str, ...]:
        """Every domain named, the main one first, each once."""
        main = () if self.domain is None else (self.domain,)
        return tuple(dict.fromkeys(main + self.other_domains))

    def named_at(self, domain: str) -> bool:
        """Return whether *domain* has the brand's name."""
        return names_host(domain, self.name)

    def sister_site(self, domain: str) -> bool:
        """Return whether *domain* is the main site's name under another suffix."""
        return self.domain is not None and (
            self.domain.partition(".")[0] == domain.partition(".")[0]
        )

    def likeness(self, brand: str) -> float:
        """Return how alike *brand* is to the name or an alias, whichever is closer."""
        return best_likeness(brand, (self.name, *self.telling_aliases))


class DirectoryEntries:
    """All entries, indexed by name and by domain."""

    def __init__(self, entries: Iterable[DirectoryEntry]) -> None:
        self._by_name: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self._by_domain: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self._all = tuple(entries)
        for entry in self._all:
            names = (entry.name, *entry.telling_aliases)
            for key in {key for name in names for key in _index_keys(name)}:
                self._by_name[key].append(entry)
            for domain in entry.domains:
                self._by_domain[domain].append(entry)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[DirectoryEntry]:
        return iter(self._all)

    def named(self, brand: str) -> list[DirectoryEntry]:
        """Return the entries with a name or an alias alike to *brand*."""
        found = {
            id(entry): entry
            for key in _index_keys(brand)
            for entry in self._by_name.get(key, ())
            if entry.likeness(brand)
        }
        return list(found.values())

    def at(self, domain: str) -> list[DirectoryEntry]:
        """Return the entries that name exactly *domain*."""
        return list(self._by_domain.get(domain, ()))

    def main_only(self, domain: str | None) -> bool:
        """Return whether *domain* is the main domain of one brand and of no other."""
        return [domain] == [e.domain for e in self.at(domain or "") if e.domain == domain]

    def owner_of_site(self, entry: DirectoryEntry) -> DirectoryEntry | None:
        """Return the brand that the main site of *entry* is called after, if another."""
        if entry.domain is None or entry.named_at(entry.domain):
            return None
        owners = [other for other in self.at(entry.domain) if other.named_at(entry.domain)]
        return owners[0] if owners and not owners[0].likeness(entry.name) else None

    def main_domain(self, brand: str) -> str | None:
        """Return the domain of the one brand named *brand*; ``None`` if there are more."""
        domains = {entry.domain for entry in self.named(brand) if likeness(entry.name, brand)}
        return domains.pop() if len(domains) == 1 else None


def _index_keys(name: str) -> set[str]:
    keys = name_keys(name)
    return {keys.spelling or keys.exact, keys.company or keys.exact}
