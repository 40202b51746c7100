"""The pages that a web search knows of a world, and which of them answer a query."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cs.sandbox.drawing import drawn, fold, mark, mentions, stands_in
from cs.sandbox.shapes import Brand, Page, Person, World

_TERM = re.compile(r'(?:site:(?P<site>\S+)|"(?P<phrase>[^"]*)"|(?P<word>\S+))')
_MAX_TERMS = 64
_STEM = 6


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query read leniently, as search engines do; texts are folded.

    ``phrases`` must all be met; each is a group of which one phrase is enough (``OR``).
    Of ``words`` one is enough; of ``sites`` too.
    """

    sites: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, ...] = ()

    def score(self, address: str, folded: str) -> int:
        """Return how well the page at *address* answers; 0 is not at all.

        Args:
            address: Without a scheme and ``www.``.
            folded: The text of the page, folded.
        """
        host, _, path = address.partition("/")
        if self.sites and not any(_under(host, path, site) for site in self.sites):
            return 0
        if not all(any(stands_in(folded, one) for one in group) for group in self.phrases):
            return 0
        met = sum(word[:_STEM] in folded for word in self.words)
        return 0 if self.words and not met else 1 + met


def read_query(text: str) -> SearchQuery:
    """Read *text*; only its first 64 terms count.

    >>> query = read_query('site:linkedin.com/in "Acme" (influencer OR "social media")')
    >>> query.sites, query.phrases, query.words
    (('linkedin.com/in',), (('acme',),), ('influencer', 'social media'))
    """
    sites: list[str] = []
    groups: list[list[tuple[str, bool]]] = []
    joined = False
    # Brackets group; OR between terms says the same, so they are only separators here.
    for term in list(_TERM.finditer(text.replace("(", " ").replace(")", " ")))[:_MAX_TERMS]:
        value = fold(term["phrase"] if term["phrase"] is not None else term["word"] or "")
        if term["site"]:
            sites.append(bare_address(term["site"].strip('"').rstrip("/")))
        elif term["word"] == "OR":
            joined = True
            continue
        elif not value:
            continue
        elif joined and groups:
            groups[-1].append((value, term["phrase"] is not None))
        else:
            groups.append([(value, term["phrase"] is not None)])
        joined = False
    firm = [group for group in groups if all(quoted for _, quoted in group)]
    loose = [value for group in groups if group not in firm for value, _ in group]
    return SearchQuery(
        sites=tuple(sites),
        phrases=tuple(tuple(value for value, _ in group) for group in firm),
        words=tuple(loose),
    )


def bare_address(url: str) -> str:
    """Return *url* without its scheme and ``www.``."""
    return re.sub(r"^(https?://)?(www\.)?", "", url)


def _under(host: str, path: str, site: str) -> bool:
    """Return whether an address is of a site's host, or below it, and under its path."""
    wanted, _, start = site.partition("/")
    of_host = host == wanted or host.endswith(f".{wanted}")
    return of_host and (not start or path == start or path.startswith(f"{start}/"))


class _IndexedPage(NamedTuple):
    """A page and what it is found by; ``mark`` orders pages that answer equally well."""

    page: Page
    address: str
    folded: str
    mark: int


class PageIndex:
    """The pages that one search engine knows.

    Args:
        world: Whose pages.
        engine: Its name: another one knows other profiles.
        coverage: Which share of the profiles it knows.
        outdated: Of the profiles of people who worked elsewhere before, the share that it
            shows as they were then.
    """

    def __init__(
        self, world: World, engine: str, *, coverage: float = 1, outdated: float = 0
    ) -> None:
        self._index = [
            _IndexedPage(
                page,
                bare_address(page.url),
                fold(f"{page.title} {page.content} {page.url}"),
                mark(world.seed, page.url),
            )
            for page in _pages(world, engine, coverage, outdated)
        ]

    def find(self, text: str) -> list[Page]:
        """Return every page that answers *text*, best first; ties fall as the seed says."""
        query = read_query(text)
        scored = [(query.score(each.address, each.folded), each) for each in self._index]
        found = [(score, each) for score, each in scored if score]
        found.sort(key=lambda one: (-one[0], one[1].mark, one[1].page.url))
        return [each.page for _, each in found]


def profile_slug(seed: int, brand: Brand, person: Person) -> str:
    """Return the last part of *person*'s profile address.

    >>> from cs.sandbox.shapes import IntendedResult
    >>> result = IntendedResult(outcome="no_emails")
    >>> acme = Brand(name="Acme", domain="acme.test", intends=result)
    >>> profile_slug(1, acme, Person(name="Zoë Ruiz", headline="Buyer")).rpartition("-")[0]
    'zoe-ruiz'
    """
    if person.slug:
        return person.slug
    name = re.sub(r"[^a-z0-9]+", "-", fold(person.name)).strip("-")
    return f"{name or 'member'}-{mark(seed, f'{brand.domain}/{person.name}'):08x}"


def _pages(world: World, engine: str, coverage: float, outdated: float) -> Iterator[Page]:
    for brand in world.brands:
        for person in brand.people:
            slug = profile_slug(world.seed, brand, person)
            if drawn(world.seed, engine, "knows", slug) < coverage:
                is_old = drawn(world.seed, engine, "outdated", slug) < outdated
                yield _profile(brand, person, slug, as_before=is_old)
        if "searxng" in brand.known_by:
            yield from _company(brand)
    yield from world.pages


def _profile(brand: Brand, person: Person, slug: str, *, as_before: bool) -> Page:
    company = person.company or brand.name
    if as_before and person.before is not None:
        company = person.before.brand
        person = replace(person, headline=person.before.headline)
    shown = person.headline
    if not mentions(shown, company):
        shown = f"{shown} - {company}"
    parts = [f"Location: {person.location}"] if person.location else []
    parts += [f"Experience: {company}", "500+ connections on LinkedIn"]
    parts += [person.snippet] if person.snippet else []
    return Page(
        title=f"{person.name} - {shown} | LinkedIn",
        url=f"https://www.linkedin.com/in/{slug}",
        content=" · ".join(parts) + f". View {person.name}’s profile on LinkedIn.",
    )


def _company(brand: Brand) -> Iterator[Page]:
    host = f"www.{brand.domain}" if brand.site.home == "www" else brand.domain
    if brand.linkedin:
        yield Page(
            title=f"{brand.name} | LinkedIn",
            url=f"https://www.linkedin.com/company/{brand.linkedin}",
            content=f"{brand.name} | {brand.description}. Website: https://{host}",
        )
    yield Page(
        title=f"{brand.name} – Official site",
        url=f"https://{host}/",
        content=f"{brand.name}: {brand.description}. Shop and stories on {host}.",
    )
