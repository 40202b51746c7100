"""The entries of a brand directory, and the indexes that find them.  Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import msgspec

from cs.domain.names.brand_forms import close_forms, core_forms, initials
from cs.domain.names.brand_match import (
    LEGAL_FORMS,
    begins_with,
    best_likeness,
    likeness,
    name_keys,
    names_host,
)
from cs.domain.names.brand_words import FIRM_WORDS, SHOP_WORDS
from cs.domain.names.typos import MOST, SimilarKeys

#: Short aliases are shared by strangers ("CIA", "EMS"): up to this many letters they count
#: only where the brand's own site is called so.
ABBREVIATION = 3
#: A part of a label shorter than this is chance.
_PART_OF_LABEL = 3


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
        key = name_keys(alias).spelling
        short = alias.isascii() and len(key) <= ABBREVIATION
        return not short or (self.domain is not None and _called_site(self, alias, key))

    @property
    def domains(self) -> tuple[str, ...]:
        """Every domain named, the main one first, each once."""
        main = () if self.domain is None else (self.domain,)
        return tuple(dict.fromkeys(main + self.other_domains))

    def named_at(self, domain: str) -> bool:
        """Return whether *domain* has the brand's name."""
        return names_host(domain, self.name)

    def called_at(self, domain: str) -> bool:
        """Return whether *domain* is made of the brand's name, an alias or its initials.

        "shopdisney.com" of Disney Store, "bmwgroup.com" of BMW, "hpb.com" of Half Price
        Books: to be asked only of domains that the brand names itself.
        """
        label = label_key(domain)
        names = (self.name, *self.aliases)
        if any(names_host(domain, name) for name in names) or label in initials(self.name):
            return True
        main = (self.domain or "").partition(".")[0]
        cores = {key for name in names for key in (name_keys(name).company, *core_forms(name))}
        words = {name_keys(name.split()[0]).spelling for name in names if name.split()}
        telling = {part for part in {*cores, *words, main} if len(part) > _PART_OF_LABEL}
        starts = any(core and label.startswith(core) for core in cores)
        return starts or any(part in label for part in telling)

    def sister_site(self, domain: str) -> bool:
        """Return whether *domain* is the main site's name under another suffix."""
        return self.domain is not None and (
            self.domain.partition(".")[0] == domain.partition(".")[0]
        )

    def likeness(self, brand: str) -> float:
        """Return how alike *brand* is to the name or an alias, whichever is closer."""
        return best_likeness(brand, (self.name, *self.telling_aliases))


class Near(msgspec.Struct, frozen=True):
    """An entry, the name of it that something may be a slip of, and how far off that is."""

    entry: DirectoryEntry
    name: str
    off: float


class DirectoryEntries:
    """All entries, indexed by name and by domain.

    The index of looser forms is made when it is first needed: 0.6 s of CPU for the bundled
    13,821.
    """

    def __init__(self, entries: Iterable[DirectoryEntry]) -> None:
        self._by_name: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self._by_domain: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self._by_label: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self._by_any_label: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self._all = tuple(entries)
        for entry in self._all:
            names = (entry.name, *entry.telling_aliases)
            for key in {key for name in names for key in _index_keys(name)}:
                self._by_name[key].append(entry)
            for domain in entry.domains:
                self._by_domain[domain].append(entry)
                self._by_any_label[label_key(domain)].append(entry)
            if entry.domain is not None:
                label = label_key(entry.domain)
                self._by_label[label].append(entry)

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

    def with_form(self, keys: Iterable[str]) -> list[DirectoryEntry]:
        """Return the entries with a name or an alias that has one of *keys* as a form."""
        return self._of(self._loose.by_form, keys)

    def with_close_form(self, keys: Iterable[str]) -> list[DirectoryEntry]:
        """Return the entries with a name or an alias spelt as one of *keys*."""
        return self._of(self._loose.by_close_form, keys)

    def with_label(self, label: str) -> list[DirectoryEntry]:
        """Return the entries whose main site is called *label*, in front of its suffix."""
        return self._of(self._by_label, [label])

    def with_short_alias(self, key: str) -> list[DirectoryEntry]:
        """Return the entries with an alias too short to tell by itself, spelt *key*."""
        return self._of(self._loose.by_short_alias, [key])

    def with_handle(self, handle: str) -> list[DirectoryEntry]:
        """Return the entries with an Instagram or TikTok page called *handle*."""
        return self._of(self._loose.by_handle, [handle])

    def near(self, key: str, most: float = MOST) -> list[Near]:
        """Return the entries with a name that *key* may be a slip of, the nearest first."""
        found: dict[int, Near] = {}
        for near, off in self._loose.similar.near(key, most):
            for entry in self._loose.by_close_form[near]:
                if id(entry) not in found:
                    names = (entry.name, *entry.telling_aliases)
                    name = next(each for each in names if near in close_forms(each))
                    found[id(entry)] = Near(entry, name, off)
        return list(found.values())

    def _of(
        self, index: Mapping[str, list[DirectoryEntry]], keys: Iterable[str]
    ) -> list[DirectoryEntry]:
        found = {id(entry): entry for key in keys for entry in index.get(key, ())}
        return list(found.values())

    @cached_property
    def _loose(self) -> "LooseForms":
        return LooseForms(self._all)

    @property
    def is_ready(self) -> bool:
        """Whether the index of looser forms is there."""
        return "_loose" in self.__dict__

    def shared_label(self, label: str) -> bool:
        """Return whether several brands name a domain called *label*, whatever its suffix."""
        return len(self._of(self._by_any_label, [name_keys(label).spelling])) > 1

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


def _called_site(entry: DirectoryEntry, alias: str, key: str) -> bool:
    """Say whether the site is called *alias*, or so with a word for the firm: "udfinc.com"."""
    domain = entry.domain or ""
    if names_host(domain, alias):
        return True
    if begins_with(entry.name, alias) and names_host(domain, entry.name):
        return True
    rest = label_key(domain).removeprefix(key)
    return rest in FIRM_WORDS | SHOP_WORDS | LEGAL_FORMS


class LooseForms:
    """The entries by the looser forms of their names."""

    def __init__(self, entries: Iterable[DirectoryEntry]) -> None:
        self.by_form: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self.by_close_form: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self.by_short_alias: dict[str, list[DirectoryEntry]] = defaultdict(list)
        self.by_handle: dict[str, list[DirectoryEntry]] = defaultdict(list)
        for entry in entries:
            telling = (entry.name, *entry.telling_aliases)
            for key in {key for name in telling for key in core_forms(name)}:
                self.by_form[key].append(entry)
            for key in {key for name in telling for key in close_forms(name)}:
                self.by_close_form[key].append(entry)
            short = set(entry.aliases).difference(telling)
            for key in {name_keys(alias).spelling for alias in short}:
                self.by_short_alias[key].append(entry)
            for handle in {entry.instagram, entry.tiktok} - {None}:
                self.by_handle[str(handle).lower()].append(entry)
        self.similar = SimilarKeys(self.by_close_form)


def label_key(domain: str) -> str:
    """Return what stands in front of the suffix of *domain*, as the key of a name."""
    label = domain.partition(".")[0]
    plain = label.isascii() and not label.startswith("xn--")
    return label.replace("-", "") if plain else name_keys(label).spelling


def _index_keys(name: str) -> set[str]:
    keys = name_keys(name)
    return {keys.spelling or keys.exact, keys.company or keys.exact}
