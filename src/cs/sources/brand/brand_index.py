"""Brands in one SQLite file: those that come with the package, or those that were imported.

A name is found by any of its forms in one range of a B-tree, the best known brands first,
however many share it.  A name written wrong is looked for among well-known brands only, since
of millions of companies one is called like nearly any typo.
"""

import asyncio
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any, Self

import msgspec

from cs.domain.names.brand_match import (
    FIRM_WORDS,
    LEGAL_FORMS,
    SHOP_WORDS,
    begins_with,
    best_likeness,
    close_forms,
    core_forms,
    initials,
    name_keys,
    names_host,
)
from cs.domain.names.typos import MOST, SHORTEST, most_wrong_letters, typo_distance
from cs.plugins.sources import BrandAnswer, BrandFacts, BrandMatch, Query, SourceStatus

#: Raised by the file itself: it cannot be opened, read or written.
IndexFault = sqlite3.Error
#: Companies with as many people are found under names written wrong, too.
LARGE = 1_000
#: Of one name so many brands are looked at.
NAMESAKES = 20
#: Short aliases are shared by strangers ("CIA", "EMS"): up to this many letters they count
#: only where the brand's own site is called so.
ABBREVIATION = 3
#: A part of a label shorter than this is chance.
_PART_OF_LABEL = 3
# What stands before a key that is no form of a name: letters and digits are in those only.
_LABEL, _HANDLE, _SHORT = ".", "@", "~"


class IndexedBrand(msgspec.Struct, frozen=True):
    """One brand or company.

    ``other_domains`` are sites named with the brand: its own in other countries, its
    owner's, and now and then a stranger's.  ``domain`` too may be an owner's.  ``fame`` is
    where it is known, as written down by hand: 1 in its country or trade, 2 in several
    countries, 3 in most; 0 if not written down.
    """

    key: str  # Wikidata's item, a file's own id, else the domain, else name and country
    name: str
    domain: str | None = None
    country: str | None = None
    size: int = 0  # people who work there, at least; 0: not known
    linkedin: str | None = None  # full addresses
    instagram: str | None = None
    tiktok: str | None = None
    parent: str | None = None  # its name
    aliases: tuple[str, ...] = ()
    other_domains: tuple[str, ...] = ()
    fame: int = 0

    @property
    def wikidata(self) -> int | None:
        """The number of the brand's item in Wikidata."""
        number = self.key.removeprefix("Q")
        return int(number) if number != self.key and number.isdecimal() else None

    @property
    def names(self) -> tuple[str, ...]:
        """The name, and the aliases that point at this brand without more."""
        return (self.name, *(alias for alias in self.aliases if self._tells(alias)))

    def _tells(self, alias: str) -> bool:
        key = name_keys(alias).spelling
        if not alias.isascii() or len(key) > ABBREVIATION:
            return True
        domain = self.domain or ""
        if names_host(domain, alias):
            return True
        if begins_with(self.name, alias) and names_host(domain, self.name):
            return True
        return label_key(domain).removeprefix(key) in FIRM_WORDS | SHOP_WORDS | LEGAL_FORMS

    @property
    def domains(self) -> tuple[str, ...]:
        """Every domain named, the main one first, each once."""
        main = () if self.domain is None else (self.domain,)
        return tuple(dict.fromkeys(main + self.other_domains))

    @property
    def weight(self) -> float:
        """How well known the brand is, from 0 to about 10; 2 more is another league.

        Of a company whose size is known the size says it.  Else what is written of a brand:
        the name under ".com", how early it got its item in Wikidata (items are numbered as
        they are made, and what is well known came first: Starbucks is Q37158), social pages,
        sites and further names; at least as much as its fame.
        """
        if self.size:
            at_home = _SIZED_DOT_COM if self.has_dot_com else 0.0
            return _PER_TENFOLD * math.log10(1 + self.size) + at_home
        age = _WITHOUT_ITEM
        if self.wikidata is not None:
            age = _PER_TENFOLD * max(0.0, _NEWEST - math.log10(self.wikidata or 1))
        site = _DOT_COM if self.has_dot_com else _SITE_CALLED_SO if self._at_home else 0.0
        pages = sum(page is not None for page in (self.instagram, self.tiktok, self.linkedin))
        named = len(self.other_domains), len(self.aliases)
        more = sum(_DOUBLED * math.log2(1 + count) for count in named)
        return max(site + age + _SOCIAL_PAGE * pages + more, _FAME[self.fame])

    @property
    def _at_home(self) -> bool:
        if self.domain is None:
            return False
        label = name_keys(self.domain.partition(".")[0]).spelling
        return names_host(self.domain, self.name) or label == name_keys(self.name).spelling

    @property
    def has_dot_com(self) -> bool:
        """Whether its site is its name under ".com"."""
        return self._at_home and (self.domain or "").partition(".")[2] == "com"

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
        return best_likeness(brand, self.names)


# Parts of `IndexedBrand.weight`.
_NEWEST = 8.3  # log10 of 200 million: the newest items of Wikidata are beyond it
_PER_TENFOLD = 1.5
#: A brand without an item is in the list for its busy site, and is not taken to be well known.
_WITHOUT_ITEM = 1.5
_DOT_COM, _SITE_CALLED_SO, _SIZED_DOT_COM = 2.0, 1.0, 1.5
_SOCIAL_PAGE, _DOUBLED = 0.2, 0.1
#: By fame: as much as what is written of brands so known comes to (Boots 4.9, Nike 6.9).
_FAME = (0.0, 4.5, 6.0, 7.5)


class Typo(msgspec.Struct, frozen=True):
    """A brand, the name of it that something may be a typo of, and how far off that is."""

    brand: IndexedBrand
    name: str
    off: float


class IndexChanges(msgspec.Struct):
    """The result of an import, in brands."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0


class BrandIndex:
    """The brands in *file*; a context that closes it.

    Args:
        file: Of the index.
        writing: Make the file if it is not there.
        immutable: The file is not written while it is open.

    Raises:
        IndexFault: From everything.
    """

    def __init__(self, file: Path, *, writing: bool = False, immutable: bool = False) -> None:
        mode = "rwc" if writing else "ro&immutable=1" if immutable else "ro"
        self._db = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode={mode}",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
        )
        self._db.execute("PRAGMA cache_size = -65536")
        if writing:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(_SCHEMA)
            columns = {row[1] for row in self._db.execute("PRAGMA table_info(company)")}
            if "fame" not in columns:  # a file of companies imported earlier
                self._db.execute("ALTER TABLE company ADD fame INTEGER NOT NULL DEFAULT 0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def __len__(self) -> int:
        (count,) = self._db.execute("SELECT count(*) FROM company").fetchone()
        return int(count)

    def __iter__(self) -> Iterator[IndexedBrand]:
        yield from self._brands("SELECT * FROM company ORDER BY number").values()

    def put(
        self,
        brands: Sequence[IndexedBrand],
        *,
        dry_run: bool = False,
        well_known: bool = False,
    ) -> IndexChanges:
        """Store *brands*, each in place of the one with its key, all or none.

        Args:
            brands: Of several with one key the last counts.
            dry_run: They are only compared.
            well_known: Whatever their size, they are found under names written wrong.
        """
        changes = IndexChanges()
        self._db.execute("BEGIN" if dry_run else "BEGIN IMMEDIATE")
        try:
            for brand in {each.key: each for each in brands}.values():
                known = self._brands("SELECT * FROM company WHERE key = ?", brand.key)
                if brand in known.values():
                    changes.unchanged += 1
                    continue
                changes.added += not known
                changes.changed += bool(known)
                if not dry_run:
                    self._write(brand, known, well_known)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return changes

    def _write(
        self, brand: IndexedBrand, known: dict[int, IndexedBrand], well_known: bool
    ) -> None:
        for number, before in known.items():
            self._change(_LEAVE, before, number)
        row = {"number": next(iter(known), None), **msgspec.structs.asdict(brand)}
        row |= {each: msgspec.json.encode(row[each]).decode() for each in _LISTS}
        number = self._db.execute(_PUT, tuple(row.values())).lastrowid or 0
        self._change(_ENTER, brand, number)
        if well_known or brand.size >= LARGE:  # a key may be another brand's too, and stays
            spelt = {(key,) for name in brand.names for key in close_forms(name)}
            self._db.executemany("INSERT OR IGNORE INTO large VALUES (?)", spelt)

    def _change(self, queries: Mapping[str, str], brand: IndexedBrand, number: int) -> None:
        """Enter *brand* under its keys and sites, or leave them."""
        rank, found_by = _rank(brand), {"name": _keys(brand), "site": brand.domains}
        for table, keys in found_by.items():
            self._db.executemany(queries[table], ((key, rank, number) for key in keys))

    def compact(self) -> None:
        """Make the file as small as it can be, and readable where writing is not allowed."""
        self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.execute("VACUUM")

    def with_form(self, keys: Iterable[str]) -> list[IndexedBrand]:
        """Return the brands with a name that has one of *keys* as a form, best known first."""
        found: dict[int, IndexedBrand] = {}
        for key in keys:
            found |= self._brands(_BY_NAME, key, NAMESAKES)
        return sorted(found.values(), key=_rank)

    def named(self, brand: str) -> list[IndexedBrand]:
        """Return the brands with a name or an alias alike to *brand*."""
        keys = name_keys(brand)
        found = self.with_form({keys.spelling or keys.exact, keys.company or keys.exact})
        return [each for each in found if each.likeness(brand)]

    def at(self, domain: str) -> list[IndexedBrand]:
        """Return the brands that name exactly *domain*, best known first."""
        return list(self._brands(_BY_DOMAIN, domain, NAMESAKES).values())

    def with_label(self, label: str, *, main: bool = True) -> list[IndexedBrand]:
        """Return the brands with a site called *label*, in front of its suffix.

        Args:
            label: As the key of a name.
            main: Only by their main site.
        """
        found = self.with_form([f"{_LABEL}{label}"])
        return [each for each in found if not main or label_key(each.domain or "") == label]

    def with_short_alias(self, key: str) -> list[IndexedBrand]:
        """Return the brands with an alias too short to tell by itself, spelt *key*."""
        return self.with_form([f"{_SHORT}{key}"])

    def with_handle(self, handle: str) -> list[IndexedBrand]:
        """Return the brands with an Instagram or TikTok page called *handle*."""
        return self.with_form([f"{_HANDLE}{handle}"])

    def near(self, key: str, most: float = MOST) -> list[Typo]:
        """Return the well-known brands with a name that *key* may be a typo of, nearest first.

        Only those that begin as *key* does, or with its second letter: people know how the
        names that they write wrong begin.
        """
        found: dict[str, Typo] = {}
        for near, off in self._near_keys(key, most):
            for brand in self.with_form([near]):
                name = next((n for n in brand.names if near in close_forms(n)), None)
                if name is not None:
                    found.setdefault(brand.key, Typo(brand, name, off))
        return list(found.values())

    def _near_keys(self, key: str, most: float) -> list[tuple[str, float]]:
        if len(key) < SHORTEST - 1 or not key.isascii():
            return []
        from rapidfuzz import process  # noqa: PLC0415  # 40 ms, for what is not spelt right
        from rapidfuzz.distance import OSA  # noqa: PLC0415

        letters = most_wrong_letters(key)
        lengths = max(SHORTEST, len(key) - letters), len(key) + letters
        distance: Callable[..., int] = OSA.distance
        alike = [
            near
            for start in dict.fromkeys(key[:2])
            for near, _, _ in process.extract(
                key,
                [row[0] for row in self._db.execute(_LARGE_NAMES, (start, *lengths))],
                scorer=distance,
                score_cutoff=letters,
                limit=None,
            )
            if near.isascii()
        ]
        found = [(near, off) for near in alike if (off := typo_distance(key, near)) <= most]
        return sorted(found, key=lambda each: (each[1], each[0]))

    def _brands(self, query: str, *values: object) -> dict[int, IndexedBrand]:
        with closing(self._db.execute(query, values)) as rows:
            columns = [column[0] for column in rows.description]
            return dict(_brand(dict(zip(columns, row, strict=True))) for row in rows)


def _brand(row: dict[str, Any]) -> tuple[int, IndexedBrand]:
    number = row.pop("number")
    for each in _LISTS & row.keys():
        row[each] = msgspec.json.decode(row[each] or "[]", type=tuple[str, ...])
    return number, msgspec.convert(row, IndexedBrand)


def _rank(brand: IndexedBrand) -> int:
    """Return the place of *brand* among its namesakes, the first the lowest."""
    return -brand.size or -round(100 * brand.weight)


def _keys(brand: IndexedBrand) -> set[str]:
    """Return the keys that *brand* is found by."""
    names = brand.names
    keys = {key for name in names for key in close_forms(name) | core_forms(name)}
    for name in names:
        exact = name_keys(name)
        keys |= {exact.spelling or exact.exact, exact.company or exact.exact}
    keys |= {f"{_LABEL}{label_key(domain)}" for domain in brand.domains}
    short = set(brand.aliases).difference(names)
    keys |= {f"{_SHORT}{name_keys(alias).spelling}" for alias in short}
    pages = filter(None, (brand.instagram, brand.tiktok))
    return keys | {f"{_HANDLE}{page.rpartition('/')[2].lstrip('@').lower()}" for page in pages}


def label_key(domain: str) -> str:
    """Return what stands in front of the suffix of *domain*, as the key of a name."""
    label = domain.partition(".")[0]
    plain = label.isascii() and not label.startswith("xn--")
    return label.replace("-", "") if plain else name_keys(label).spelling


class IndexedSource:
    """A brand source that opens its index at the first question, and asks it in a thread.

    Args:
        name: Of the source.
        file: Of the index.
        matches: Returns the brands that a query may mean, in any order.
        absent: How to get the file, if the source may be without it.
        immutable: The file is not written while it is open.
    """

    def __init__(
        self,
        name: str,
        file: Path,
        matches: Callable[[BrandIndex, Query], Iterable[BrandMatch]],
        *,
        absent: str | None = None,
        immutable: bool = False,
    ) -> None:
        self.name = name
        self._file, self._absent, self._immutable = file, absent, immutable
        self._matches = matches
        self._lock = Lock()
        self._index: BrandIndex | None = None

    @property
    def missing(self) -> str | None:
        return None if self._file.is_file() else self._absent

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find brands by their domain if one is asked or *known*, and by name."""
        if (why := self.missing) is not None:
            return BrandAnswer(source=self.name, ended=SourceStatus.NOT_CONFIGURED, why=why)
        if known is not None:
            query = Query(brand=known.name, domain=known.domain or query.domain)
        try:
            matches = await asyncio.to_thread(self._locked, query)
        except (IndexFault, msgspec.MsgspecError, UnicodeError) as error:
            why = f"the index of source {self.name} cannot be read: {error}"
            return BrandAnswer(source=self.name, ended=SourceStatus.FAILED, why=why)
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=matches)

    def _locked(self, query: Query) -> tuple[BrandMatch, ...]:
        with self._lock:
            if self._index is None:
                self._index = BrandIndex(self._file, immutable=self._immutable)
            found = self._matches(self._index, query)
            return tuple(sorted(found, key=lambda match: -match.score))


_SCHEMA = """
CREATE TABLE IF NOT EXISTS company (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, domain TEXT,
    country TEXT, size INTEGER NOT NULL, linkedin TEXT, instagram TEXT, tiktok TEXT,
    parent TEXT, aliases TEXT, other_domains TEXT, fame INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS name (
    key TEXT NOT NULL, rank INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (key, rank, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS site (
    domain TEXT NOT NULL, rank INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (domain, rank, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS large (key TEXT PRIMARY KEY) WITHOUT ROWID;
"""
#: Columns with lists, as JSON.
_LISTS = frozenset({"aliases", "other_domains"})
_FIELDS = ("number", *IndexedBrand.__struct_fields__)
_PUT = f"INSERT OR REPLACE INTO company ({', '.join(_FIELDS)}) VALUES (?{', ?' * 12})"  # noqa: S608
_ENTER = {
    "name": "INSERT OR IGNORE INTO name VALUES (?, ?, ?)",
    "site": "INSERT OR IGNORE INTO site VALUES (?, ?, ?)",
}
_LEAVE = {
    "name": "DELETE FROM name WHERE key = ? AND rank = ? AND number = ?",
    "site": "DELETE FROM site WHERE domain = ? AND rank = ? AND number = ?",
}
_FOUND = "SELECT company.* FROM (SELECT number FROM {} WHERE {} = ? ORDER BY rank LIMIT ?)"
_BY_NAME = _FOUND.format("name", "key") + " JOIN company USING (number)"
_BY_DOMAIN = _FOUND.format("site", "domain") + " JOIN company USING (number)"
_LARGE_NAMES = (
    "SELECT key FROM large WHERE key >= ?1 AND key < ?1 || char(0x10FFFF) "
    "AND length(key) BETWEEN ?2 AND ?3"
)
