"""People as web search shows them, through an instance of SearXNG."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cs.paid_calls.service import NOT_CONFIGURED, WORKS
from cs.plugins.sources import (
    BrandFacts,
    Fetcher,
    PeopleAnswer,
    ServiceCheck,
    SourceContext,
    SourceStatus,
    takes,
)
from cs.sources.people.searxng_api import SearxngApi
from cs.sources.people.web_search import (
    SearchRefused,
    WebQuestion,
    find_people,
    questions,
)

#: Questions asked at once, those about one name: a lookup waits for one answer instead of two.
#: More would come sooner to nobody, and the engines behind SearXNG shut out whoever hurries.
AT_ONCE = 5


class SearxngSource:
    """A people source over an instance of SearXNG with its JSON format switched on.

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
        self._api = SearxngApi(fetcher, base_url, now=now) if base_url else None
        self.missing = None if base_url else "set searxng_url, the base URL of a SearXNG"

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find people who say that they work for *brand* or its parent now.

        At most nine questions are asked (`questions`), four at a time.
        """
        if self._api is None:
            return PeopleAnswer(
                source=self.name, ended=SourceStatus.NOT_CONFIGURED, why=self.missing
            )
        asked = list(questions(brand))
        return await find_people(
            self.name, self._api.search, asked, brand, limit=limit, at_once=AT_ONCE
        )

    async def check(self) -> ServiceCheck:
        """Ask one question, and say whether the instance answers with results."""
        if self._api is None:
            return ServiceCheck(ended=NOT_CONFIGURED, why=self.missing)
        try:
            page = await self._api.search(WebQuestion("linkedin"))
        except SearchRefused as refused:
            return ServiceCheck(ended=refused.ended.value, why=refused.why)
        if page.complaint is not None:
            return ServiceCheck(ended=page.complaint.ended.value, why=page.complaint.why)
        return ServiceCheck(ended=WORKS)


class SearxngSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What ``[sources.searxng]`` takes."""

    url: Annotated[
        str, Meta(pattern=r"^(https?://\S+)?$", description="base, without /search")
    ] = ""


@takes(SearxngSettings)
def from_context(context: SourceContext) -> SearxngSource:
    """Make the source; without a ``url`` it is not configured."""
    settings = msgspec.convert(context.settings, SearxngSettings)
    return SearxngSource(context.trusted, base_url=settings.url or None, now=context.now)
