"""The pages that a web search knows of a world: profiles, company pages, articles."""

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from cs.sandbox.drawing import drawn
from cs.sandbox.folding import fold, mentions, words_of
from cs.sandbox.search_query import QueryMatcher, bare_address, read_query
from cs.sandbox.shapes import Brand, Page, Person, World


class IndexedPage(NamedTuple):
    """A page and what it is found by, made once: a search compares thousands.

    Attributes:
        mark: Its place among pages that answer equally well.
    """

    page: Page
    address: str
    folded: str
    mark: int


class PageIndex:
    """What one search engine knows.

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
            _indexed(world.seed, page) for page in _pages(world, engine, coverage, outdated)
        ]
        # Of each word the pages with it: most queries name a brand, which few pages do.
        self._with_word: dict[str, list[int]] = {}
        for number, each in enumerate(self._index):
            for word in words_of(each.folded):
                self._with_word.setdefault(word, []).append(number)

    def find(self, text: str) -> list[Page]:
        """Return every page that answers *text*, best first; ties fall as the seed says."""
        matcher = QueryMatcher(read_query(text))
        pages = self._that_may_answer(matcher)
        scored = [(matcher.score(each.address, each.folded), each) for each in pages]
        found = [(score, each) for score, each in scored if score]
        found.sort(key=lambda one: (-one[0], one[1].mark, one[1].page.url))
        return [each.page for _, each in found]

    def _that_may_answer(self, matcher: QueryMatcher) -> Sequence[IndexedPage]:
        """Return the pages with a word of each phrase that *matcher* demands, or more."""
        fewest: Sequence[int] = range(len(self._index))
        for group in matcher.words_of_phrases:
            if not all(group):
                continue  # one of them has no word: any page may have it
            rarest = (
                min((self._with_word.get(word, ()) for word in words), key=len)
                for words in group
            )
            of_group = sorted({number for numbers in rarest for number in numbers})
            fewest = min(fewest, of_group, key=len)
        return [self._index[number] for number in fewest]


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


def mark(seed: int, text: str) -> int:
    """Return a number by which equals are put in order."""
    return zlib.crc32(f"{seed} {text}".encode())


def _indexed(seed: int, page: Page) -> IndexedPage:
    folded = fold(f"{page.title} {page.content} {page.url}")
    return IndexedPage(page, bare_address(page.url), folded, mark(seed, page.url))


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
