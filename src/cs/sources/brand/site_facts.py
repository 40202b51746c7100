"""From what a home page says to what is known of the brand it belongs to.  Pure."""

import re
from collections.abc import Iterator, Sequence

from cs.domain.contact import BrandFacts
from cs.domain.names.brand_match import (
    COMPANY,
    begins_with,
    best_likeness,
    is_house,
    likeness,
    names_host,
)
from cs.sources import social_pages
from cs.sources.brand.home_page import HomePage
from cs.sources.brand.own_pages import own_page

_BETWEEN_NAMES = re.compile(r"\s+[|\-–—·•:]\s+|\s*[|•]\s*|:\s+")
_MAX_TITLE = 60  # a longer part of a title is a sentence, not a name
_YEARS = re.compile(r"^(?:copyright|©|\(c\)|[\s,.]|by\b|\d{4}|[-–—])+", re.IGNORECASE)
_NAME_ENDS = re.compile(
    r"[.,|•·–—/]|\s-\s|\b(?:all rights|alle rechte|tous droits|todos|tutti|\d{4})\b",
    re.IGNORECASE,
)


def site_facts(home: HomePage, domain: str, *, brand: str | None, end: str) -> BrandFacts:
    """Return the facts of the brand whose home page is *home*.

    Args:
        home: The page.
        domain: Where it was looked for; stays the brand's domain.
        brand: What the brand is called as far as is known.
        end: The domain where the page was found, after redirects.
    """
    names = _names(home)
    name = _name(names, domain, brand)

    # The first words of a title may be anybody's: "Home", "Welcome".
    by_domain = name if names_host(domain, name) else None
    called = tuple(filter(None, (brand, home.organization, home.site_name, by_domain)))
    company_page = own_page(home, social_pages.company_page, domain, called)
    moved = end.partition(".")[0] == domain.partition(".")[0]
    return BrandFacts(
        name=name,
        domain=domain,
        linkedin_company_url=company_page,
        parent_company=_parent(home, domain, called),
        instagram=own_page(home, social_pages.instagram, domain, called),
        tiktok=own_page(home, social_pages.tiktok, domain, called),
        aliases=tuple(_aliases(names, company_page, domain, name)),
        mail_domains=tuple(dict.fromkeys((domain, end) if moved else (domain,))),
    )


def _names(home: HomePage) -> tuple[str, ...]:
    """Return what the page calls the brand, its most deliberate words first."""
    parts = _BETWEEN_NAMES.split(home.title or "")
    fitting = [part for part in parts if 0 < len(part) <= _MAX_TITLE]
    return tuple(name for name in (home.organization, home.site_name, *fitting) if name)


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
    for other in (*names, slug):
        if (
            other
            and names_host(domain, other)
            and max(likeness(other, k) for k in known) < COMPANY
        ):
            known.append(other)
            yield other


def _parent(home: HomePage, domain: str, called: Sequence[str]) -> str | None:
    """Return the owner that the page names: as such, or as the firm with the rights in it.

    Whoever else stands behind "©" may have made the site, or be the brand's firm in one
    country: only a company that is known for its brands is taken for an owner there.
    """
    holders = (name for text in home.copyright for name in _holders(text))
    owners = (*home.parents, *filter(is_house, holders))
    others = (name for name in owners if not _is_its_own(name, domain, called))
    return next(others, None)


def _holders(text: str) -> Iterator[str]:
    """Yield what may be the name at the beginning of *text*, which stands behind "©"."""
    name = _YEARS.sub("", text)
    yield from dict.fromkeys(part.strip(" .,") for part in (name, *_NAME_ENDS.split(name)[:1]))


def _is_its_own(owner: str, domain: str, called: Sequence[str]) -> bool:
    """Say whether *owner* is the brand, by a longer or shorter name: "Mars Incorporated"."""
    return names_host(domain, owner) or any(
        begins_with(owner, name) or begins_with(name, owner) for name in called
    )
