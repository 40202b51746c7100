"""SearXNG's JSON search: one question, its results, and the ways there are none."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from cs.outside.body import parse_aside
from cs.outside.retry_after import retry_after_s
from cs.plugins.sources import Fetcher, Forbidden, Response, SourceStatus, Unreachable
from cs.sources.people.web_search import (
    RESULTS,
    SearchRefused,
    WebPage,
    WebQuestion,
    WebResult,
)

NO_JSON = "SearXNG answers no JSON: add json to search.formats in its settings.yml"
#: Characters of what a service says of itself that are passed on.
_SAID = 300
#: What engines say when they have had enough of the instance (searx/network, searx/search).
_ENOUGH = ("too many requests", "captcha", "suspended", "access denied")


class _SearxngPage(msgspec.Struct, frozen=True):
    """One page of results.

    Attributes:
        unresponsive_engines: Name and reason of each engine that gave nothing.
    """

    results: tuple[WebResult, ...] = ()
    unresponsive_engines: tuple[Any, ...] = ()


class SearxngApi:
    """Asks the instance at *base_url*, which stands without ``/search``."""

    def __init__(self, fetcher: Fetcher, base_url: str, *, now: Callable[[], datetime]) -> None:
        self._fetcher = fetcher
        self._url = f"{base_url.rstrip('/')}/search"
        self._now = now

    async def search(self, asked: WebQuestion) -> WebPage:
        """Return the first page of results for *asked*.

        Raises:
            SearchRefused: No answer, or one that is not a page of results.
        """
        params = {"q": asked.text, "format": "json", "categories": "general"}
        if asked.market is not None:
            params["language"] = asked.market.language
        try:
            answer = await self._fetcher.get(self._url, params=params)
        except (Unreachable, Forbidden) as error:
            raise SearchRefused(
                SourceStatus.FAILED, f"SearXNG does not answer: {error}"
            ) from error
        wait_s = retry_after_s(answer.headers, now=self._now())
        match answer.status:
            case 200:
                return await parse_aside(len(answer.body), _read, answer)
            case 403:
                raise SearchRefused(SourceStatus.FAILED, NO_JSON, permanent=True)
            case 401:
                raise SearchRefused(
                    SourceStatus.FAILED, "SearXNG asks for a password", permanent=True
                )
            case 429:
                raise SearchRefused(SourceStatus.RATE_LIMITED, "SearXNG answers 429", wait_s)
            case status:
                raise SearchRefused(SourceStatus.FAILED, f"SearXNG answers {status}", wait_s)


def _read(answer: Response) -> WebPage:
    try:
        page = msgspec.json.decode(answer.body, type=_SearxngPage)
        results = tuple(result.cut() for result in page.results[:RESULTS])
        return WebPage(results, _complaint(page))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = f"SearXNG answers something that is not its JSON: {error}"
        raise SearchRefused(SourceStatus.FAILED, why) from error


def _complaint(page: _SearxngPage) -> SearchRefused | None:
    """Return why "no results" means nothing here; ``None`` if it does mean something."""
    silent = page.unresponsive_engines[:RESULTS]
    if page.results or not silent:
        return None
    reasons = "; ".join(" ".join(map(str, _pair(one))) for one in silent)[:_SAID]
    enough = any(word in reasons.lower() for word in _ENOUGH)
    ended = SourceStatus.RATE_LIMITED if enough else SourceStatus.FAILED
    return SearchRefused(ended, f"no search engine answered: {reasons}")


def _pair(one: object) -> list[object]:
    return one if isinstance(one, list) else [one]
