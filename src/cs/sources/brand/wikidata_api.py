"""Wikidata's API: what is asked of it, and the ways in which it gives no answer."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from cs.outside.body import parse_aside
from cs.outside.retry_after import retry_after_s
from cs.plugins.sources import Fetcher, Forbidden, Response, SourceStatus, Unreachable
from cs.sources.brand.wikibase import WikidataHit, WikidataHits, WikidataItem, WikidataItems

#: Items looked at for one name.
HITS = 10
#: Characters of what it says of itself that are passed on.
_SAID = 300
#: Wikidata's own advice to robots: be refused while its databases lag more (seconds).
MAX_LAG_S = "5"
#: How long to stay away when Wikidata lags and does not say for how long.
LAG_RETRY_S = 5.0

_Shape = TypeVar("_Shape", WikidataHits, WikidataItems)


class WikidataRefused(Exception):
    """Wikidata gave no answer; the attributes are those of a `BrandAnswer`."""

    def __init__(self, ended: SourceStatus, why: str, retry_in_s: float | None = None) -> None:
        super().__init__(why)
        self.ended, self.why, self.retry_in_s = ended, why, retry_in_s


class WikidataApi:
    """Asks ``api.php`` at *base_url*."""

    def __init__(self, fetcher: Fetcher, base_url: str, *, now: Callable[[], datetime]) -> None:
        self._fetcher = fetcher
        self._base_url = base_url
        self._now = now

    async def search(self, text: str) -> tuple[WikidataHit, ...]:
        """Return the items whose label or an alias begins with *text*.

        Raises:
            WikidataRefused: No answer.
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
            WikidataRefused: No answer.
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
        try:
            answer = await self._fetcher.get(self._base_url, params=query)
        except (Unreachable, Forbidden) as error:
            raise WikidataRefused(
                SourceStatus.FAILED, f"Wikidata does not answer: {error}"
            ) from error
        wait_s = retry_after_s(answer.headers, now=self._now())
        if answer.status == 429 or (answer.status == 503 and wait_s is not None):
            raise WikidataRefused(
                SourceStatus.RATE_LIMITED, f"Wikidata answers {answer.status}", wait_s
            )
        if answer.status != 200:
            raise WikidataRefused(
                SourceStatus.FAILED, f"Wikidata answers {answer.status}", wait_s
            )
        return await parse_aside(len(answer.body), _read, answer, shape, wait_s)


def _read(answer: Response, shape: type[_Shape], wait_s: float | None) -> _Shape:
    try:
        decoded = msgspec.json.decode(answer.body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = f"Wikidata answers something that is not its API: {error}"
        raise WikidataRefused(SourceStatus.FAILED, why) from error
    api_error = decoded.error
    if api_error is None:
        return decoded
    # Errors come with status 200 (MediaWiki, "API:Errors and warnings").
    why = f"Wikidata: {api_error.code}: {api_error.info}"[:_SAID]
    if api_error.code == "maxlag":
        raise WikidataRefused(SourceStatus.RATE_LIMITED, why, wait_s or LAG_RETRY_S)
    limited = api_error.code == "ratelimited"
    raise WikidataRefused(
        SourceStatus.RATE_LIMITED if limited else SourceStatus.FAILED, why, wait_s
    )
