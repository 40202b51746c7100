"""People as web search shows them, through an instance of SearXNG with its JSON switched on."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cs.plugins.hosted import collected
from cs.plugins.sources import (
    ORDINARY,
    BrandFacts,
    Fetcher,
    Judgement,
    PeopleAnswer,
    ProblemKind,
    Response,
    ServiceCheck,
    ServiceProblem,
    SourceContext,
    problem,
    takes,
)
from cs.sources.adapters import FreeService, checked
from cs.sources.people.web_search import (
    RESULTS,
    WebPage,
    WebQuestion,
    WebResult,
    find_people,
)

#: Questions asked at once, those about one name: a lookup waits for one answer instead of two.
#: More would not be faster, and the engines behind SearXNG block clients that hurry.
AT_ONCE = 5
NO_JSON = "SearXNG answers no JSON: add json to search.formats in its settings.yml"
#: Characters of what a service says of itself that are passed on.
_SAID = 300
#: Words of engines that refuse the instance for a time (searx/network, searx/search).
_ENOUGH = ("too many requests", "captcha", "suspended", "access denied")


class _SearxngPage(msgspec.Struct, frozen=True):
    """One page of results.

    Attributes:
        unresponsive_engines: Name and reason of each engine that gave nothing.
    """

    results: tuple[WebResult, ...] = ()
    unresponsive_engines: tuple[Any, ...] = ()


class SearxngSource:
    """A people source over an instance of SearXNG.

    Args:
        fetcher: For configured addresses.
        base_url: Of the instance, without ``/search``; ``None`` is not configured.
    """

    name = "searxng"

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        base_url: str | None,
        now: Callable[[], datetime],
    ) -> None:
        url = f"{(base_url or '').rstrip('/')}/search"
        self._service = FreeService("SearXNG", url, fetcher, now, _judge)
        self.missing = None if base_url else "set searxng_url, the base URL of a SearXNG"

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find people who say that they work for *brand* or its parent now.

        At most nine questions are asked (`questions`), `AT_ONCE` at a time.
        """
        found = find_people(self.name, self._search, brand, at_once=AT_ONCE)
        return await collected(self.name, found, limit, missing=self.missing)

    async def check(self) -> ServiceCheck:
        """Ask one question, and say whether the instance answers with results."""

        async def trial() -> None:
            if complaint := (await self._search(WebQuestion("linkedin"))).complaint:
                raise complaint

        return await checked(self.missing, trial())

    async def _search(self, asked: WebQuestion) -> WebPage:
        """Return the first page of results for *asked*; may raise `ServiceProblem`."""
        params = {"q": asked.text, "format": "json", "categories": "general"}
        if asked.market is not None:
            params["language"] = asked.market.language
        page = await self._service.ask(params, _SearxngPage)
        results = tuple(result.cut() for result in page.results[:RESULTS])
        return WebPage(results, _complaint(page))


class SearxngSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of ``[sources.searxng]``."""

    url: Annotated[
        str, Meta(pattern=r"^(https?://\S+)?$", description="base, without /search")
    ] = ""


@takes(SearxngSettings)
def from_context(context: SourceContext) -> SearxngSource:
    """Make the source; without a ``url`` it is not configured."""
    settings = msgspec.convert(context.settings, SearxngSettings)
    return SearxngSource(context.trusted, base_url=settings.url or None, now=context.now)


def _judge(answer: Response) -> Judgement:
    match answer.status:
        case 403:
            return problem(ProblemKind.KEY_REFUSED, NO_JSON)
        case 401:
            return problem(ProblemKind.KEY_REFUSED, "SearXNG asks for a password")
        case _:
            return ORDINARY


def _complaint(page: _SearxngPage) -> ServiceProblem | None:
    """Return why "no results" means nothing here; ``None`` if it does mean something."""
    silent = page.unresponsive_engines[:RESULTS]
    if page.results or not silent:
        return None
    pairs = (one if isinstance(one, list) else [one] for one in silent)
    reasons = "; ".join(" ".join(map(str, pair)) for pair in pairs)[:_SAID]
    enough = any(word in reasons.lower() for word in _ENOUGH)
    kind = ProblemKind.RATE_LIMITED if enough else ProblemKind.OUT_OF_ORDER
    return problem(kind, f"no search engine answered: {reasons}")
