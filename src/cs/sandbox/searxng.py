"""SearXNG's JSON search over the pages of a world: profiles, company pages, articles."""

from urllib.parse import urlsplit

from cs.sandbox.drawing import mark, mentions
from cs.sandbox.failing import failed, json_reply
from cs.sandbox.page_index import PageIndex
from cs.sandbox.shapes import Page, Searxng, Unresponsive, World
from cs.sandbox.web import HttpReply, HttpRequest

_PER_PAGE = 10
_ENGINES = ("duckduckgo", "brave", "startpage")


class SearxngServer:
    """The service; `respond` answers one request to ``/search``."""

    def __init__(self, world: World) -> None:
        self._usual = world.services.searxng
        self._pages = PageIndex(world, "searxng", coverage=self._usual.coverage)
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
            return json_reply({"error": "No query"}, 400)
        if isinstance(state.failure, Unresponsive):
            nothing = _body(text, [], state.failure.engines)
            return json_reply(nothing, after_s=state.latency_s)
        number = request.query.get("pageno", "1")
        page = int(number) if number.isascii() and number.isdigit() else 1
        known = self._pages.find(text)
        found = known[(max(page, 1) - 1) * _PER_PAGE :][:_PER_PAGE]
        results = [_result(place, one) for place, one in enumerate(found, start=1)]
        return json_reply(_body(text, results), after_s=state.latency_s)

    def _state(self, text: str) -> Searxng:
        for own, names in self._troubled:
            if any(mentions(text, name) for name in names):
                return own
        return self._usual


def _result(place: int, page: Page) -> dict[str, object]:
    engines = list(_ENGINES[: 1 + mark(0, page.url) % len(_ENGINES)])
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
