"""Brave's and Serper's web search, over the pages of a world."""

from typing import Any

from cs.sandbox.drawing import drawn, mentions
from cs.sandbox.page_index import PageIndex, read_query
from cs.sandbox.providers import Provider, ProviderAnswer, body_of
from cs.sandbox.servers import HttpReply, HttpRequest, json_reply
from cs.sandbox.shapes import SearchEngine, World

_BRAVE_CHARACTERS, _BRAVE_WORDS, _BRAVE_COUNT = 400, 50, 20
#: Results of one credit.
_OF_A_CREDIT = 10
#: Share of the brands with a site that Google has a panel for.
_PANELS = 0.8


def brave(world: World, engine: SearchEngine) -> Provider:
    """Return Brave: every answer counts, and headers state its limits."""
    pages = PageIndex(world, "brave", coverage=engine.coverage, outdated=engine.outdated)
    windows = {
        "X-RateLimit-Limit": f"50, {engine.credits}",
        "X-RateLimit-Policy": f"50;w=1, {engine.credits};w=2592000",
        "X-RateLimit-Reset": "1, 1234567",
    }

    def search(request: HttpRequest) -> ProviderAnswer:
        text = request.query.get("q", "")
        count = int(request.query.get("count", "20"))
        too_long = len(text) > _BRAVE_CHARACTERS or len(text.split()) > _BRAVE_WORDS
        if not text or too_long or not 1 <= count <= _BRAVE_COUNT:
            refused = _brave_error(422, "Unable to validate request")
            return ProviderAnswer(reply=refused, line="brave")
        results = [
            {"title": page.title, "url": page.url, "description": page.content}
            for page in pages.find(text)[:count]
        ]
        query = {"original": text, "more_results_available": False}
        body: dict[str, Any] = {"type": "search", "query": query}
        if results:
            body["web"] = {"type": "search", "results": results}
        headers = {**windows, "X-RateLimit-Remaining": f"49, {engine.credits}"}
        return ProviderAnswer(reply=json_reply(body, headers=headers), line="brave", units=1)

    empty = {**windows, "X-RateLimit-Remaining": "49, 0"}
    return Provider(
        name="brave",
        key=("header", "x-subscription-token"),
        refused=_brave_error(401, "The provided subscription token is invalid."),
        empty=_brave_error(429, "Request rate limit exceeded for plan.", empty),
        routes={"/res/v1/web/search": search},
    )


def _brave_error(status: int, detail: str, headers: dict[str, str] | None = None) -> HttpReply:
    error = {"id": "sandbox", "status": status, "code": "ERROR", "detail": detail}
    return json_reply({"type": "ErrorResponse", "error": error}, status, headers=headers)


def serper(world: World, engine: SearchEngine) -> Provider:
    """Return Serper: Google's results and its panel; more than ten results cost twice."""
    pages = PageIndex(world, "serper", coverage=engine.coverage, outdated=engine.outdated)

    def panel(text: str) -> dict[str, Any] | None:
        for brand in world.brands:
            if any(mentions(text, name) for name in (brand.name, *brand.aliases)):
                if drawn(world.seed, "serper", "panel", brand.domain) >= _PANELS:
                    return None
                site = f"https://{brand.domain}/"
                return {"title": brand.name, "type": brand.description, "website": site}
        return None

    def search(request: HttpRequest) -> ProviderAnswer:
        asked = body_of(request)
        text, num = str(asked.get("q", "")), int(asked.get("num", 10))
        units = 1 if num <= _OF_A_CREDIT else 2
        found = [
            {"title": page.title, "link": page.url, "snippet": page.content, "position": place}
            for place, page in enumerate(pages.find(text)[:num], 1)
        ]
        body: dict[str, Any] = {"searchParameters": asked, "organic": found, "credits": units}
        if not read_query(text).sites and (graph := panel(text)) is not None:
            body["knowledgeGraph"] = graph
        return ProviderAnswer(reply=json_reply(body), line="serper", units=units)

    return Provider(
        name="serper",
        key=("header", "x-api-key"),
        refused=json_reply({"message": "Unauthorized.", "statusCode": 403}, 403),
        empty=json_reply({"message": "Not enough credits", "statusCode": 400}, 400),
        routes={"/search": search},
    )
