"""Facts about a brand, read from its home page.  Pure.

Footers name others, too: who made the site, who makes such sites, partners, people.  A page
that is stated to be the brand's (JSON-LD, ``rel=me``) is; of the others only what is called
alike.  Of the 8,032 pages that the bundled directory has 99 % are akin to name or domain of
their brand, and 0.1 % to those of another brand drawn by chance.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from cs.domain.contact import BrandFacts
from cs.domain.names.brand_match import (
    COMPANY,
    begins_with,
    best_likeness,
    initials,
    is_house,
    likeness,
    name_keys,
    names_host,
)
from cs.domain.names.profile_url import split_address
from cs.sources import social_pages
from cs.sources.brand.home_page import HomePage

_BETWEEN_NAMES = re.compile(r"\s+[|\-–—·•:]\s+|\s*[|•]\s*|:\s+")
_MAX_TITLE = 60  # a longer part of a title is a sentence, not a name
_YEARS = re.compile(r"^(?:copyright|©|\(c\)|[\s,.]|by\b|\d{4}|[-–—])+", re.IGNORECASE)
_NAME_ENDS = re.compile(
    r"[.,|•·–—/]|\s-\s|\b(?:all rights|alle rechte|tous droits|todos|tutti|\d{4})\b",
    re.IGNORECASE,
)
#: Pages of one network that are looked at, the last ones: footers are at the end.
PAGES = 100
#: So many letters in common are no chance.
_TELLING, _TELLING_WORD = 3, 4
_THEMES, _PARTS = social_pages.sites("theme_pages"), social_pages.sites("part_pages")
#: A page with the same name as one at another network is in this footer on purpose.
_NETWORKS = social_pages.sites("networks")


def site_facts(home: HomePage, domain: str, *, brand: str | None, end: str) -> BrandFacts:
    """Return the facts of the brand whose home page is *home*.

    Args:
        home: The page.
        domain: Where it was looked for; stays the brand's domain.
        brand: The brand's name, if it is known.
        end: The domain where the page was found, after redirects.
    """
    # What the page calls the brand, its most deliberate words first.
    parts = _BETWEEN_NAMES.split(home.title or "")
    titles = [part for part in parts if len(part) <= _MAX_TITLE]
    names = tuple(filter(None, (home.organization, home.site_name, *titles)))
    name = _name(names, domain, brand)
    # The first words of a title may be anybody's: "Home", "Welcome".
    by_domain = name if names_host(domain, name) else None
    called = tuple(filter(None, (brand, home.organization, home.site_name, by_domain)))
    pages = _Pages(home, domain, called)
    company_page = pages.own(social_pages.company_page)
    moved = end.partition(".")[0] == domain.partition(".")[0]
    return BrandFacts(
        name=name,
        domain=domain,
        linkedin_company_url=company_page,
        parent_company=_parent(home, domain, called),
        instagram=pages.own(social_pages.instagram),
        tiktok=pages.own(social_pages.tiktok),
        aliases=tuple(_aliases(names, company_page, domain, name)),
        mail_domains=tuple(dict.fromkeys((domain, end) if moved else (domain,))),
    )


def _name(names: tuple[str, ...], domain: str, brand: str | None) -> str:
    """Return the one of *names* asked for, else the one *domain* is made of, else the first."""
    asked = (name for name in names if brand and best_likeness(name, [brand]) >= COMPANY)
    by_domain = (name for name in names if names_host(domain, name))
    return next(asked, None) or next(by_domain, None) or next(iter(names), brand or domain)


def _aliases(
    names: tuple[str, ...], company_page: str | None, domain: str, name: str
) -> Iterator[str]:
    """Yield the other names that *domain* is made of; people write them as employer.

    "Halden" at haldenoutdoor.test with the company page halden-outdoor is Halden Outdoor.
    """
    slug = company_page.rpartition("/")[2].replace("-", " ") if company_page else ""
    known = [name]
    for other in filter(None, (*names, slug)):
        if names_host(domain, other) and max(likeness(other, k) for k in known) < COMPANY:
            known.append(other)
            yield other


def _parent(home: HomePage, domain: str, called: Sequence[str]) -> str | None:
    """Return the owner that the page names: as such, or as the firm with the rights in it.

    Another holder of the "©" may have made the site, or be the brand's firm in one
    country: only a company that is known for its brands is taken for an owner there.  The
    brand itself is none, by a longer or shorter name: "Mars Incorporated".
    """
    holders = (name for text in home.copyright for name in _holders(text))
    for owner in (*home.parents, *filter(is_house, holders)):
        own = any(begins_with(owner, name) or begins_with(name, owner) for name in called)
        if not own and not names_host(domain, owner):
            return owner
    return None


def _holders(text: str) -> Iterator[str]:
    """Yield what may be the name at the beginning of *text*, which stands behind "©"."""
    name = _YEARS.sub("", text)
    yield from dict.fromkeys(part.strip(" .,") for part in (name, *_NAME_ENDS.split(name)[:1]))


class _Pages(msgspec.Struct, frozen=True):
    """The social pages that a home page names, and whose they are."""

    home: HomePage
    domain: str
    names: Sequence[str]

    def own(self, of: Callable[[str], str | None]) -> str | None:
        """Return the brand's page at the network whose pages *of* reads."""
        if stated := self._not_of_themes(map(of, self.home.stated)):
            return self._the_one(stated)
        linked = self._not_of_themes(map(of, self.home.links))
        if akin := list(filter(self._is_akin, linked)):
            return self._the_one(akin)
        if len(linked) == 1 and _called(linked[0]) in set(self._elsewhere(linked[0])):
            return linked[0]
        written = [] if linked else self._not_of_themes(map(of, self.home.scripted))
        return self._the_one(list(filter(self._is_akin, written)))

    def _not_of_themes(self, pages: Iterable[str | None]) -> list[str]:
        """Return the last `PAGES` of *pages*, each once, in their order."""
        own = self._keys()
        last = list(dict.fromkeys(page for page in pages if page is not None))[-PAGES:]
        return [page for page in last if _called(page) not in _THEMES - own]

    def _the_one(self, pages: Sequence[str]) -> str | None:
        """Return the only one of *pages*, or the one called as the whole brand is.

        Of several that are called otherwise none is: which of them is the brand's is unknown.
        """
        if len(pages) <= 1:
            return pages[0] if pages else None
        own = self._keys()
        if called := [page for page in pages if _called(page) in own]:
            return called[0]
        whole = [page for page in pages if not any(part in _called(page) for part in _PARTS)]
        akin = list(filter(self._is_akin, whole))
        return akin[0] if len(akin) == 1 else None

    def _is_akin(self, page: str) -> bool:
        """Say whether *page* is called after the brand: "acme.beauty", "bank-of-x" of box."""
        called = _called(page)
        words = [name.split()[0] for name in self.names if name.split()]
        firsts = {name_keys(word).spelling for word in words}
        short = {letters for name in self.names for letters in initials(name)}
        label = name_keys(self.domain.partition(".")[0]).spelling
        return (
            any(
                key in called if len(key) >= _TELLING else called.startswith(key)
                for key in self._keys()
            )
            or (len(called) >= _TELLING and any(called in key for key in self._keys()))
            or any(len(first) >= _TELLING_WORD and first in called for first in firsts)
            or any(len(each) >= _TELLING and called.startswith(each) for each in short)
            or (len(label) >= _TELLING and label in initials(_words(page)))
        )

    def _keys(self) -> set[str]:
        keys = [name_keys(name) for name in (self.domain.partition(".")[0], *self.names)]
        return {key for each in keys for key in (each.spelling, each.company)} - {""}

    def _elsewhere(self, page: str) -> Iterator[str]:
        """Yield what the pages at other networks than that of *page* are called."""
        here = _network(page)
        others = (link for link in self.home.links if _network(link) not in {None, here})
        for link in list(dict.fromkeys(others))[-PAGES:]:
            split = split_address(link)
            path = (split.path if split else "").rstrip("/")
            if len(path) <= social_pages.SLUG:
                yield _called(path)


def _called(page: str) -> str:
    return name_keys(_words(page)).spelling


def _words(page: str) -> str:
    return re.sub(r"[-_.]", " ", page.rpartition("/")[2].lstrip("@"))


def _network(url: str) -> str | None:
    split = split_address(url)
    host = (split.hostname or "") if split else ""
    return next((n for n in _NETWORKS if host == n or host.endswith(f".{n}")), None)
