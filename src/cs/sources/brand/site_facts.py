"""From what a home page says to what is known of the brand it belongs to.  Pure."""

import re
from collections.abc import Callable, Iterable, Iterator

from cs.domain.contact import BrandFacts
from cs.domain.names.brand_match import COMPANY, best_likeness, likeness, name_keys, names_host
from cs.sources import social_pages
from cs.sources.brand.home_page import HomePage

_BETWEEN_NAMES = re.compile(r"\s+[|\-–—·•:]\s+|\s*[|•]\s*|:\s+")
_MAX_TITLE = 60  # a longer part of a title is a sentence, not a name


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

    def page(of: Callable[[str], str | None]) -> str | None:
        stated = _the_one(filter(None, map(of, home.same_as)), domain, name)
        return stated or _the_one(filter(None, map(of, home.links)), domain, name)

    company_page = page(social_pages.company_page)
    moved = end.partition(".")[0] == domain.partition(".")[0]
    return BrandFacts(
        name=name,
        domain=domain,
        linkedin_company_url=company_page,
        instagram=page(social_pages.instagram),
        tiktok=page(social_pages.tiktok),
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


def _the_one(pages: Iterable[str], domain: str, name: str) -> str | None:
    """Return the page that is the brand's: the only one, or the one called like it.

    Of several called otherwise none is: clients, partners and sister brands have places in
    footers, too.
    """
    each = list(dict.fromkeys(pages))
    if len(each) <= 1:
        return each[0] if each else None
    own = {name_keys(domain.partition(".")[0]).spelling, name_keys(name).spelling} - {""}
    called = [page for page in each if _called(page) in own]
    return called[0] if called else None


def _called(page: str) -> str:
    return name_keys(page.rpartition("/")[2].lstrip("@").replace(".", " ")).spelling
