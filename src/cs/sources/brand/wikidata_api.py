"""Wikidata's API: what is asked of it, and the ways in which it gives no answer."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from cs.outside.retry_after import retry_after_s
from cs.plugins.sources import (
    ORDINARY,
    Fetcher,
    Judgement,
    ProblemKind,
    Response,
    problem,
)
from cs.sources.brand.wikibase import WikidataHit, WikidataHits, WikidataItem, WikidataItems
from cs.sources.free_service import FreeService

#: Items looked at for one name.
HITS = 10
#: Characters of what it says of itself that are passed on.
_SAID = 300
#: Wikidata's own advice to robots: be refused while its databases lag more (seconds).
MAX_LAG_S = "5"
#: How long to stay away when Wikidata lags.
LAG_RETRY_S = 5.0

_Shape = TypeVar("_Shape", WikidataHits, WikidataItems)


class WikidataApi:
    """Asks ``api.php`` at *base_url*."""

    def __init__(self, fetcher: Fetcher, base_url: str, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._service = FreeService("Wikidata", base_url, fetcher, now, self._judge)

    async def search(self, text: str) -> tuple[WikidataHit, ...]:
        """Return the items whose label or an alias begins with *text*.

        Raises:
            ServiceProblem: No answer.
        """
        params = {
            "action": "wbsearchentities",
            "search": text,
            "language": "en",
            "uselang": "en",
            "type": "item",
            "limit": str(HITS),
        }
        return (await self._ask(params, WikidataHits)).search

    async def items(self, numbers: Iterable[str]) -> Mapping[str, WikidataItem]:
        """Return the items with these ids, at most 50; asks nothing for none.

        Raises:
            ServiceProblem: No answer.
        """
        if not (ids := sorted(numbers)):
            return {}
        params = {
            "action": "wbgetentities",
            "ids": "|".join(ids),
            "props": "labels|aliases|claims|sitelinks",
            "languages": "en|mul",
        }
        items = (await self._ask(params, WikidataItems)).entities
        return items if isinstance(items, Mapping) else {}

    async def _ask(self, params: Mapping[str, str], shape: type[_Shape]) -> _Shape:
        query = {**params, "format": "json", "maxlag": MAX_LAG_S}
        decoded = await self._service.ask(query, shape)
        if decoded.error is None:
            return decoded
        # Errors come with status 200 (MediaWiki, "API:Errors and warnings").
        code = decoded.error.code
        why = f"Wikidata: {code}: {decoded.error.info}"[:_SAID]
        if code == "maxlag":
            raise problem(ProblemKind.RATE_LIMITED, why, LAG_RETRY_S)
        limited = code == "ratelimited"
        raise problem(ProblemKind.RATE_LIMITED if limited else ProblemKind.OUT_OF_ORDER, why)

    def _judge(self, answer: Response) -> Judgement:
        wait_s = retry_after_s(answer.headers, now=self._now())
        if answer.status in {200, 503} and wait_s is not None:  # its databases lag
            why = f"Wikidata asks us to come back later ({answer.status})"
            return problem(ProblemKind.RATE_LIMITED, why, wait_s)
        return ORDINARY
