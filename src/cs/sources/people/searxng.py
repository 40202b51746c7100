"""People as web search shows them: LinkedIn profiles, found through SearXNG."""

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cs.domain.headline.role import classify
from cs.domain.headline.search_result import SearchResult, read_title
from cs.domain.mail.syntax import is_mailbox
from cs.domain.names.employer import is_employer
from cs.domain.names.profile_url import person_page
from cs.plugins.sources import (
    BrandFacts,
    Fetcher,
    PeopleAnswer,
    Sighting,
    SourceContext,
    SourceStatus,
    takes,
)
from cs.sources.people.searxng_api import (
    SearxngApi,
    SearxngPage,
    SearxngRefused,
    SearxngResult,
    phrase,
)

#: What is searched for beside the brand, one question for each family of roles.
WORDS = (
    "influencer creator marketing",
    "social media",
    "brand partnerships",
    "brand marketing manager",
)
#: Questions asked at once, those about one name: a lookup waits for one answer instead of two.
#: More would come sooner to nobody, and the engines behind SearXNG shut out whoever hurries.
AT_ONCE = 4
#: Results read on the event loop: up to 1 ms each, so that nobody waits 20 ms for them.
READ_ON_THE_LOOP = 20

_BETWEEN_WORDS = re.compile(r"[\s<>()\[\],;:|·•\"“”]+")


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

        At most eight questions are asked.  A question refused ends the asking and is how
        the run ended, whoever was found before: who was not found is then not known.
        """
        if self._api is None:
            return PeopleAnswer(
                source=self.name, ended=SourceStatus.NOT_CONFIGURED, why=self.missing
            )
        pages, refused = await _ask(self._api, list(_questions(brand)))
        people = (await _read_people(pages, brand))[:limit]
        if refused is None and not people:
            refused = next(filter(None, (page.complaint for page in pages)), None)
        if refused is None:
            ended = SourceStatus.USED if people else SourceStatus.NO_RESULTS
            return PeopleAnswer(source=self.name, ended=ended, people=people)
        return PeopleAnswer(
            source=self.name,
            ended=refused.ended,
            people=people,
            why=refused.why,
            retry_in_s=refused.retry_in_s,
            permanent=refused.permanent,
        )


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


async def _ask(
    api: SearxngApi, questions: list[str]
) -> tuple[list[SearxngPage], SearxngRefused | None]:
    """Return the answers to *questions* up to the first refusal, and that."""
    pages: list[SearxngPage] = []
    for start in range(0, len(questions), AT_ONCE):
        batch = questions[start : start + AT_ONCE]
        answers = await asyncio.gather(*(_page_or_refusal(api, text) for text in batch))
        pages += [answer for answer in answers if isinstance(answer, SearxngPage)]
        for answer in answers:
            if isinstance(answer, SearxngRefused):
                return pages, answer
    return pages, None


async def _page_or_refusal(api: SearxngApi, text: str) -> SearxngPage | SearxngRefused:
    try:
        return await api.search(text)
    except SearxngRefused as refused:
        return refused


def _questions(brand: BrandFacts) -> Iterator[str]:
    for name in _names(brand)[: 2 if brand.parent_company else 1]:
        asked = phrase(name)
        if asked is None:
            continue
        for words in WORDS:
            yield f"site:linkedin.com/in {asked} {words}"


def _names(brand: BrandFacts) -> tuple[str, ...]:
    """Return what the employer may be called: brand, parent, other names."""
    parent = (brand.parent_company,) if brand.parent_company else ()
    return (brand.name, *parent, *brand.aliases)


async def _read_people(pages: list[SearxngPage], brand: BrandFacts) -> tuple[Sighting, ...]:
    """Return each person once, in the order found."""
    if sum(len(page.results) for page in pages) <= READ_ON_THE_LOOP:
        return tuple(_people(pages, brand))
    return await asyncio.to_thread(lambda: tuple(_people(pages, brand)))


def _people(pages: list[SearxngPage], brand: BrandFacts) -> Iterator[Sighting]:
    """Yield each person once, in the order found."""
    names = _names(brand)
    known: set[str] = set()
    # Each question finds much of what the others found, said in the same words.
    for result in dict.fromkeys(result for page in pages for result in page.results):
        address = person_page(result.url)
        if address is None or address in known:
            continue
        person = read_title(result.title, result.content or "")
        if person is not None and _works_at(person, names):
            known.add(address)
            yield Sighting(
                full_name=person.full_name,
                headline=person.headline,
                company=person.company,
                linkedin_url=address,
                location=person.location,
                addresses=_addresses(result),
                source=SearxngSource.name,
            )


def _addresses(result: SearxngResult) -> tuple[str, ...]:
    """Return the mailboxes that the text of *result* names; candidates, never proof."""
    words = (word.strip(".'") for word in _BETWEEN_WORDS.split(result.content or ""))
    return tuple(dict.fromkeys(word.lower() for word in words if is_mailbox(word)))


def _works_at(person: SearchResult, names: tuple[str, ...]) -> bool:
    """Say whether the result names one of *names* as the employer of today.

    The classifier leaves out what a headline marks as past ("ex-Acme"); who names no
    employer at all was found for another reason.
    """
    if person.company and is_employer(person.company, names):
        return True
    employer = classify(person.headline or "").company
    return employer is not None and is_employer(employer, names)
