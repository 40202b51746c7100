"""SearXNG's JSON search over the pages of a world: profiles, company pages, articles."""

import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from cs.sandbox.failing import failed, json_reply
from cs.sandbox.folding import fold, mentions
from cs.sandbox.search_query import (
    QueryMatcher,
    bare_address,
    read_commands,
    read_query,
)
from cs.sandbox.shapes import Brand, Page, Person, Searxng, Unresponsive, World
from cs.sandbox.web import HttpReply, HttpRequest

_PER_PAGE = 10
_ENGINES = ("duckduckgo", "brave", "startpage")


class IndexedPage(NamedTuple):
    """A page and what it is found by, made once: a search compares thousands.

    Attributes:
        mark: Its place among pages that answer equally well.
    """

    page: Page
    address: str
    folded: str
    mark: int


class SearxngServer:
    """The service; `respond` answers one request to ``/search``."""

    def __init__(self, world: World) -> None:
        self._usual = world.services.searxng
        self._index = [_indexed(world.seed, page) for page in _pages(world)]
        self._troubled = [
            (brand.trouble.searxng, (brand.name, *brand.aliases, brand.domain))
            for brand in world.brands
            if brand.trouble.searxng
        ]

    async def respond(self, request: HttpRequest) -> HttpReply | None:
        if request.path.rstrip("/").rpartition("/")[2] not in {"", "search"}:
            return HttpReply(status=404, body=b"<h1>404 Not Found</h1>")
        text = request.query.get("q", "").strip()
        state = self._state(text)
        if failure := failed(state):
            return failure.reply
        if request.query.get("format") != "json":
            return HttpReply(
                body=b"<!doctype html><title>SearXNG</title>", after_s=state.latency_s
            )
        if not text:
            error = json_reply({"error": "No query"})
            return msgspec.structs.replace(error, status=400)
        if isinstance(state.failure, Unresponsive):
            nothing = _body(text, [], state.failure.engines)
            return json_reply(nothing, after_s=state.latency_s)
        asked = read_commands(text)
        if asked.away:
            return HttpReply(status=302, headers={"Location": "https://elsewhere.invalid/"})
        number = request.query.get("pageno", "1")
        page = int(number) if number.isascii() and number.isdigit() else 1
        known = [] if asked.elsewhere else self._find(asked.text)
        found = known[(max(page, 1) - 1) * _PER_PAGE :][:_PER_PAGE]
        results = [_result(place, one) for place, one in enumerate(found, start=1)]
        return json_reply(_body(text, results), after_s=state.latency_s)

    def _state(self, text: str) -> Searxng:
        for own, names in self._troubled:
            if any(mentions(text, name) for name in names):
                return own
        return self._usual

    def _find(self, text: str) -> list[Page]:
        """Return every page that answers *text*, best first; ties fall as the seed says."""
        matcher = QueryMatcher(read_query(text))
        scored = [(matcher.score(each.address, each.folded), each) for each in self._index]
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
    return f"{name or 'member'}-{_mark(seed, f'{brand.domain}/{person.name}'):08x}"


def _indexed(seed: int, page: Page) -> IndexedPage:
    folded = fold(f"{page.title} {page.content} {page.url}")
    return IndexedPage(page, bare_address(page.url), folded, _mark(seed, page.url))


def _pages(world: World) -> Iterator[Page]:
    for brand in world.brands:
        for person in brand.people:
            yield _profile(world.seed, brand, person)
        if "searxng" in brand.known_by:
            yield from _company(brand)
    yield from world.pages


def _profile(seed: int, brand: Brand, person: Person) -> Page:
    company = person.company or brand.name
    shown = person.headline
    if not mentions(shown, company):
        shown = f"{shown} - {company}"
    parts = [f"Location: {person.location}"] if person.location else []
    parts += [f"Experience: {company}", "500+ connections on LinkedIn"]
    parts += [person.snippet] if person.snippet else []
    return Page(
        title=f"{person.name} - {shown} | LinkedIn",
        url=f"https://www.linkedin.com/in/{profile_slug(seed, brand, person)}",
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


def _mark(seed: int, text: str) -> int:
    return zlib.crc32(f"{seed} {text}".encode())


def _result(place: int, page: Page) -> dict[str, object]:
    engines = list(_ENGINES[: 1 + _mark(0, page.url) % len(_ENGINES)])
    split = urlsplit(page.url)
    return {
        "url": page.url,
        "title": page.title,
        "content": page.content,
        "publishedDate": None,
        "thumbnail": "",
        "engine": engines[0],
        "template": "default.html",
        "parsed_url": [split.scheme, split.netloc, split.path, "", split.query, split.fragment],
        "img_src": "",
        "priority": "",
        "engines": engines,
        "positions": [place] * len(engines),
        "score": round(len(engines) / place, 4),
        "category": "general",
    }


def _body(
    query: str, results: list[dict[str, object]], silent: tuple[tuple[str, str], ...] = ()
) -> dict[str, object]:
    return {
        "query": query,
        "number_of_results": 0,
        "results": results,
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": silent,
    }
