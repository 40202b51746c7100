"""Which of the social pages that a home page names are the brand's own.  Pure.

Footers name others, too: who made the site, who makes such sites, partners, people.  A page
that is stated to be the brand's (JSON-LD, ``rel=me``) is; of the others only what is called
alike.  Of the 8,032 pages that the bundled directory has 99 % are akin to name or domain of
their brand, and 0.1 % to those of another brand drawn by chance.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from cs.domain.names.brand_forms import initials
from cs.domain.names.brand_match import name_keys
from cs.domain.names.plain_text import word_set
from cs.domain.names.profile_url import split_address
from cs.sources import social_pages
from cs.sources.brand.home_page import HomePage

#: Pages of those who make sites, and what their themes have where the brand's are to stand.
_OF_THEMES = word_set(
    "shopify wix wixcom squarespace wordpress wordpresscom wordpressdotcom woocommerce "
    "elementor webflow weebly godaddy bigcommerce bigcartel prestashop magento shopware jimdo "
    "jimdocom duda framer strikingly ghost hubspot mailchimp klaviyo linktree instagram tiktok "
    "linkedin facebook youtube example yourname yourbrand yourcompany yourhandle yourpage "
    "yourprofile yourusername username user name brand brandname company companyname handle "
    "profile test"
)
#: Of pages called alike, those for a part of what the brand does.
_OF_A_PART = (
    *("career", "jobs", "karriere", "lifeat", "wearehiring", "talent", "alumni", "support"),
    *("help", "service", "press", "news", "foundation", "stiftung", "kids", "outlet"),
)
#: Pages of one network that are looked at, the last ones: footers are at the end.
PAGES = 100
#: So many letters in common are no chance.
_TELLING, _TELLING_WORD = 3, 4
#: Other networks: who has a page of the same name there, too, has it in this footer on purpose.
_NETWORKS = (
    *("instagram.com", "tiktok.com", "linkedin.com", "facebook.com", "x.com", "twitter.com"),
    *("youtube.com", "pinterest.com", "threads.net", "threads.com", "vk.com", "t.me"),
)


def own_page(
    home: HomePage, of: Callable[[str], str | None], domain: str, names: Sequence[str]
) -> str | None:
    """Return the brand's page at one network.

    Args:
        home: Where it may be named.
        of: The page of that network which an address leads to.
        domain: The brand's.
        names: What the brand is called.
    """
    stated = _not_of_themes(_last(map(of, home.stated)), domain, names)
    if stated:
        return _the_one(stated, domain, names)
    linked = _not_of_themes(_last(map(of, home.links)), domain, names)
    if akin := [page for page in linked if _is_akin(page, domain, names)]:
        return _the_one(akin, domain, names)
    if len(linked) == 1 and _called(linked[0]) in set(_elsewhere(home, linked[0])):
        return linked[0]
    if linked:
        return None
    written = _not_of_themes(_last(map(of, home.scripted)), domain, names)
    return _the_one([p for p in written if _is_akin(p, domain, names)], domain, names)


def _last(pages: Iterable[str | None]) -> list[str]:
    """Return the last `PAGES` of *pages*, each once, in their order."""
    return list(dict.fromkeys(page for page in pages if page is not None))[-PAGES:]


def _not_of_themes(pages: Iterable[str], domain: str, names: Sequence[str]) -> list[str]:
    own = _own_keys(domain, names)
    return [page for page in pages if _called(page) not in _OF_THEMES or _called(page) in own]


def _the_one(pages: Sequence[str], domain: str, names: Sequence[str]) -> str | None:
    """Return the only one of *pages*, or the one called as the brand is, or of the whole brand.

    Of several that are called otherwise none is: which of them is the brand's nobody says.
    """
    if len(pages) <= 1:
        return pages[0] if pages else None
    own = _own_keys(domain, names)
    called = [page for page in pages if _called(page) in own]
    if called:
        return called[0]
    whole = [page for page in pages if not any(part in _called(page) for part in _OF_A_PART)]
    akin = [page for page in whole if _is_akin(page, domain, names)]
    return akin[0] if len(akin) == 1 else None


def _is_akin(page: str, domain: str, names: Sequence[str]) -> bool:
    """Say whether *page* is called after the brand: "acme.beauty", "bank-of-x" of box.test."""
    called = _called(page)
    own = _own_keys(domain, names)
    if any(key in called if len(key) >= _TELLING else called.startswith(key) for key in own):
        return True
    if len(called) >= _TELLING and any(called in key for key in own):
        return True
    firsts = {name_keys(words[0]).spelling for name in names if (words := name.split())}
    if any(len(first) >= _TELLING_WORD and first in called for first in firsts):
        return True
    short = {letters for name in names for letters in initials(name)}
    if any(len(each) >= _TELLING and called.startswith(each) for each in short):
        return True
    label = name_keys(domain.partition(".")[0]).spelling
    return len(label) >= _TELLING and label in initials(_words(page))


def _own_keys(domain: str, names: Sequence[str]) -> set[str]:
    keys = [name_keys(name) for name in (domain.partition(".")[0], *names)]
    return {key for each in keys for key in (each.spelling, each.company)} - {""}


def _called(page: str) -> str:
    return name_keys(_words(page)).spelling


def _words(page: str) -> str:
    slug = page.rpartition("/")[2].lstrip("@")
    return slug.replace("-", " ").replace("_", " ").replace(".", " ")


def _elsewhere(home: HomePage, page: str) -> Iterator[str]:
    """Yield what the pages at other networks than that of *page* are called."""
    here = _network(page)
    others = (link for link in home.links if _network(link) not in {None, here})
    for link in _last(others):
        split = split_address(link)
        path = (split.path if split else "").rstrip("/")
        if len(path) <= social_pages.SLUG:
            yield _called(path)


def _network(url: str) -> str | None:
    split = split_address(url)
    host = (split.hostname or "") if split else ""
    return next((n for n in _NETWORKS if host == n or host.endswith(f".{n}")), None)
