"""SearXNG's JSON search over the pages of a world: profiles, company pages, articles."""

from cs.sandbox.drawing import mentions
from cs.sandbox.failing import failed, json_reply
from cs.sandbox.page_index import PageIndex
from cs.sandbox.shapes import Searxng, Unresponsive, World
from cs.sandbox.web import HttpReply, HttpRequest

_PER_PAGE = 10


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
        text = request.query.get("q", "").strip()
        state = self._state(text)
        if failure := failed(state):
            return failure.reply
        silent = state.failure.engines if isinstance(state.failure, Unresponsive) else ()
        pages = [] if silent else self._pages.find(text)[:_PER_PAGE]
        results = [{"url": p.url, "title": p.title, "content": p.content} for p in pages]
        answer = {"query": text, "results": results, "unresponsive_engines": silent}
        return json_reply(answer, after_s=state.latency_s)

    def _state(self, text: str) -> Searxng:
        for own, names in self._troubled:
            if any(mentions(text, name) for name in names):
                return own
        return self._usual
