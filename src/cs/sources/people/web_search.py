"""People as web search shows them: LinkedIn profiles, whichever engine is asked.

What is asked and how results are read is the same for every engine; how each is asked is in a
module of its own (`searxng`, `brave`, `serper`).
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from cs.domain.contact import CONTACTS
from cs.domain.mail.syntax import is_mailbox
from cs.domain.names.employer import is_employer
from cs.domain.names.profile_url import person_page
from cs.domain.roles.role import classify
from cs.domain.roles.search_result import SearchResult, read_title
from cs.plugins.hosted import AskForPeople, HostedSource, SettingsT
from cs.plugins.sources import BrandFacts, ProblemKind, ServiceProblem, Sighting

#: Words searched for with the brand, one question for each family of roles.
WORDS = (
    "influencer creator marketing",
    "social media",
    "brand partnerships",
    "brand marketing manager",
)
#: The same in two questions, for engines that know ``OR``.
JOINED = (
    '("influencer" OR "creator" OR "ambassador" OR "social media")',
    '("partnerships" OR "brand marketing" OR "brand manager")',
)
#: Results of one page that are read, and characters of each text.
RESULTS = 200
TEXT = 4_000
#: First characters of a word that an engine may take for a command.  SearXNG: an
#: engine or category (``!images``), another site (``!!g``), the first result (``!!``,
#: ``\\``), a language (``:fr``), a time-out (``<3``), and once more engines (``?``); quotation
#: marks make no difference to it (docs.searxng.org, user/search-syntax).
COMMANDS = "!:<?\\！：＜？＼"

_BETWEEN_WORDS = re.compile(r"[\s<>()\[\],;:|·•\"“”]+")


class Market(msgspec.Struct, frozen=True):
    """Where a brand is at home.

    Attributes:
        country: ISO 3166 alpha-2, lower case.
        language: ISO 639-1.
        words: Its words for influencer and social media marketing.
    """

    country: str
    language: str
    words: str


class _Markets(msgspec.Struct, frozen=True):
    """`markets.toml`."""

    words: dict[str, str]
    endings: dict[str, str]


_MARKETS = msgspec.toml.decode(
    Path(__file__).with_name("markets.toml").read_bytes(), type=_Markets
)
#: The language that the market of domains with an ending writes in.
_LANGUAGES = {
    ending: language
    for language in reversed(_MARKETS.words)
    for ending in _MARKETS.endings.get(language, language).split()
}


def market_of(domain: str | None) -> Market | None:
    """Return the market of *domain*, of those whose people write in another language.

    >>> market_of("shop.acme.de").language, market_of("acme.com.br").country
    ('de', 'br')
    >>> market_of("acme.com"), market_of("acme.co.uk"), market_of(None)
    (None, None, None)
    """
    labels = (domain or "").lower().split(".")
    country = labels[-1]
    language = _LANGUAGES.get(".".join(labels[-2:])) or _LANGUAGES.get(country)
    if len(labels) < 2 or language is None:
        return None
    return Market(country, language, _MARKETS.words[language])


class WebQuestion(msgspec.Struct, frozen=True):
    """One question to an engine.

    Attributes:
        market: Where the brand is at home, of the question in that language; else ``None``.
    """

    text: str
    market: Market | None = None


class WebResult(msgspec.Struct, frozen=True):
    url: str = ""
    title: str = ""
    content: str | None = None

    def cut(self) -> "WebResult":
        """Return this with texts no longer than are read."""
        content = None if self.content is None else self.content[:TEXT]
        return WebResult(self.url[:TEXT], self.title[:TEXT], content)


class WebPage(msgspec.Struct, frozen=True):
    """An engine's answer; *complaint*: why "nothing found" means nothing here."""

    results: tuple[WebResult, ...] = ()
    complaint: ServiceProblem | None = None


#: Asks one question; raises `ServiceProblem`.
AskEngine = Callable[[WebQuestion], Awaitable[WebPage]]


def questions(brand: BrandFacts, *, joined: bool = False) -> Iterator[WebQuestion]:
    """Yield what is asked about *brand*, the likeliest to find people first.

    About the brand and then its parent, whose marketing team may be the brand's: one question
    a family of roles, or two with *joined*, for engines that know ``OR``; about the brand one
    more, in the language of its home market.
    """
    market = market_of(brand.domain)
    for name in names_of(brand)[: 2 if brand.parent_company else 1]:
        asked = phrase(name)
        if asked is None:
            continue
        for words in JOINED if joined else WORDS:
            yield WebQuestion(f"site:linkedin.com/in {asked} {words}")
        if market is not None and name == brand.name:
            yield WebQuestion(f"site:linkedin.com/in {asked} {market.words}", market)


def phrase(name: str) -> str | None:
    """Return *name* as a phrase to search for, none of whose words is a command.

    ``None`` if nothing else is in it.  Engines do not look at the punctuation that goes.

    >>> phrase('Yahoo! "Mail" !images'), phrase("<3 Acme :fr !!g !! ?")
    ('"Yahoo! Mail images"', '"3 Acme fr g"')
    """
    words = (word.lstrip(COMMANDS) for word in name.replace('"', " ").split())
    searchable = " ".join(filter(None, words))
    return f'"{searchable}"' if searchable else None


def names_of(brand: BrandFacts) -> tuple[str, ...]:
    """Return what the employer may be called: brand, parent, other names."""
    parent = (brand.parent_company,) if brand.parent_company else ()
    return (brand.name, *parent, *brand.aliases)


async def find_people(
    source: str,
    ask: AskEngine,
    brand: BrandFacts,
    *,
    joined: bool = False,
    at_once: int = 1,
    enough: int | None = None,
) -> AsyncIterator[Sighting]:
    """Ask all `questions` about *brand*, and yield who was found.

    A refusal ends the asking and is raised after the people found before: those not found
    is then not known.

    Args:
        source: Its name.
        ask: Asks the engine.
        brand: The employer people must have.
        joined: The engine knows ``OR``.
        at_once: Questions together; engines block clients that ask too fast.
        enough: With so many people in a role that is looked for no more is asked.

    Raises:
        ServiceProblem: A question was refused, or none was found where that means nothing.
    """
    pages: list[WebPage] = []
    refused: ServiceProblem | None = None
    people: list[Sighting] = []
    asked = list(questions(brand, joined=joined))
    for start in range(0, len(asked), at_once):
        batch = asked[start : start + at_once]
        answers = await asyncio.gather(*(_page_or_refusal(ask, each) for each in batch))
        pages += [answer for answer in answers if isinstance(answer, WebPage)]
        refused = next((each for each in answers if isinstance(each, ServiceProblem)), None)
        last = refused is not None or start + at_once >= len(asked)
        if last or enough is not None:
            people = await asyncio.to_thread(people_in, pages, brand, source)
        if last or (enough is not None and _in_role(people) >= enough):
            break
    for person in people:
        yield person
    if refused is None and not people:
        refused = next(filter(None, (page.complaint for page in pages)), None)
    if refused is not None:
        raise refused


def searching(
    search: Callable[[HostedSource[SettingsT], WebQuestion], Awaitable[WebPage]],
    *,
    joined: bool = False,
) -> AskForPeople[SettingsT]:
    """Return what asks an engine with a key one question after the other, until it is enough.

    That is as many people in a role as a search shows: another question would be wasted.

    Args:
        search: Returns the results for a question; may raise `ServiceProblem`.
        joined: As `find_people` has it.
    """

    def people(
        source: HostedSource[SettingsT], brand: BrandFacts, limit: int, _: Sequence[Sighting]
    ) -> AsyncIterator[Sighting]:
        enough = min(limit, CONTACTS)
        return find_people(
            source.name, partial(search, source), brand, joined=joined, enough=enough
        )

    return people


def most_questions(*, joined: bool = False) -> int:
    """Return how many questions are asked of a brand with a parent and a home market."""
    return 2 * len(JOINED if joined else WORDS) + 1


def _in_role(people: Sequence[Sighting]) -> int:
    """Return how many of *people* are in a role that is looked for."""
    return sum(classify(each.headline or "").eligible for each in people)


async def _page_or_refusal(ask: AskEngine, asked: WebQuestion) -> WebPage | ServiceProblem:
    try:
        return await ask(asked)
    except ServiceProblem as problem:
        return WebPage() if problem.kind is ProblemKind.NOTHING else problem


def people_in(pages: Sequence[WebPage], brand: BrandFacts, source: str) -> list[Sighting]:
    """Return each person of *pages* who works for *brand* once, in the order found."""
    names = names_of(brand)
    found: dict[str, Sighting] = {}
    # Each question finds much of what the others found, said in the same words.
    for result in dict.fromkeys(result for page in pages for result in page.results):
        address = person_page(result.url)
        if address is None or address in found:
            continue
        person = read_title(result.title, result.content or "")
        if person is not None and _works_at(person, names):
            found[address] = Sighting(
                full_name=person.full_name,
                headline=person.headline,
                company=person.company,
                linkedin_url=address,
                location=person.location,
                addresses=_addresses(result),
                source=source,
            )
    return list(found.values())


def _addresses(result: WebResult) -> tuple[str, ...]:
    """Return the mailboxes that the text of *result* names; candidates, never proof."""
    words = (word.strip(".'") for word in _BETWEEN_WORDS.split(result.content or ""))
    return tuple(dict.fromkeys(word.lower() for word in words if is_mailbox(word)))


def _works_at(person: SearchResult, names: tuple[str, ...]) -> bool:
    """Say whether the result names one of *names* as the employer of today.

    The classifier leaves out what a headline marks as past ("ex-Acme"); who names no
    employer at all was found for another reason.
    """
    if person.company and is_employer(person.company, names):
        return True  # most are; a headline takes 0.3 ms to classify
    employer = classify(person.headline or "").company
    return employer is not None and is_employer(employer, names)
