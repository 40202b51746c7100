"""People through Brave's search API (api.search.brave.com, ``/res/v1/web/search``).

Only answers are counted there, not errors.  Its limits come as two windows in each header,
a second and a month: ``X-RateLimit-Limit: 1, 15000``.
"""

import math
from typing import Annotated

import msgspec
from msgspec import Meta

from cs.plugins.hosted import HostedSource, PeopleAdapter
from cs.plugins.sources import (
    ORDINARY,
    Judgement,
    ProblemKind,
    Question,
    Response,
    ServiceSettings,
    problem,
)
from cs.sources.adapters import Url
from cs.sources.people.web_search import (
    RESULTS,
    Market,
    WebPage,
    WebQuestion,
    WebResult,
    most_questions,
    searching,
)

#: Results of a page, and characters and words of a question, at most.
COUNT = 20
CHARACTERS, WORDS = 400, 50
#: A window longer than this is that of the plan: nothing is left before it ends.
_PLAN_S = 3600.0
_PATH = "/res/v1/web/search"


class BraveSettings(ServiceSettings, frozen=True, kw_only=True):
    """Settings of ``[sources.brave]``; the price is $5 for 1,000 questions."""

    url: Url = "https://api.search.brave.com"
    usd_per_call: Annotated[float, Meta(ge=0, le=1000, description="of one question")] = 0.005


class _BraveResult(msgspec.Struct):
    title: str = ""
    url: str = ""
    description: str | None = None
    extra_snippets: tuple[str, ...] = ()


class _Web(msgspec.Struct):
    results: tuple[_BraveResult, ...] = ()


class _BraveAnswer(msgspec.Struct):
    web: _Web | None = None  # left out where nothing is found


def _windows(answer: Response, header: str) -> list[float]:
    """Return the numbers of *header*, one a window; none if it is not such a list."""
    try:
        found = [float(part) for part in answer.headers.get(header, "").split(",")]
    except ValueError:
        return []
    return found if all(math.isfinite(number) for number in found) else []


def judge(answer: Response) -> Judgement:
    """Read a 429: of the two windows the one with nothing left says when to come back."""
    if answer.status != 429:
        return ORDINARY
    remaining = _windows(answer, "x-ratelimit-remaining")
    resets = _windows(answer, "x-ratelimit-reset")
    empty = [reset for left, reset in zip(remaining, resets, strict=False) if left <= 0]
    if not empty:
        return ORDINARY
    if max(empty) > _PLAN_S:
        why = "brave has no questions left on this plan; wait for its month to end, or buy more"
        return problem(ProblemKind.NO_CREDITS, why)
    why = "brave asks us to come back later (429)"
    return problem(ProblemKind.RATE_LIMITED, why, max(empty))


async def search(source: HostedSource[BraveSettings], asked: WebQuestion) -> WebPage:
    """Return the results for *asked*."""
    words = asked.text[:CHARACTERS].split()[:WORDS]
    params = {"q": " ".join(words), "count": str(COUNT)}
    if asked.market is not None:
        params |= _known(asked.market)
    answer = await source.service.ask(Question(path=_PATH, params=params), _BraveAnswer)
    found = answer.web.results[:RESULTS] if answer.web else ()
    return WebPage(tuple(_read(result) for result in found))


def left(answer: Response) -> str | None:
    """Return the questions that *answer* says are left of the month's."""
    limits, remaining = (
        _windows(answer, name) for name in ("x-ratelimit-limit", "x-ratelimit-remaining")
    )
    if not limits or len(limits) != len(remaining):
        return None
    return f"{remaining[-1]:,.0f} of {limits[-1]:,.0f} questions"


#: Brave's codes of languages that differ from ISO 639-1; ``None``: it does not know it.
_LANGUAGES = {"ja": "jp", "no": "nb", "zh": "zh-hans", "pt": "pt-pt", "id": None}
_BY_COUNTRY = {("pt", "br"): "pt-br", ("zh", "tw"): "zh-hant", ("zh", "hk"): "zh-hant"}
#: Countries that it does not know.
_NO_COUNTRIES = frozenset({"cz", "pe", "co", "cr"})


def _known(market: Market) -> dict[str, str]:
    """Return the parameters for *market* that Brave knows; another is answered 422."""
    country, language = market.country, market.language
    named = _BY_COUNTRY.get((language, country), _LANGUAGES.get(language, language))
    params = {} if country in _NO_COUNTRIES else {"country": country}
    return params if named is None else params | {"search_lang": named}


def _read(result: _BraveResult) -> WebResult:
    texts = [text for text in (result.description, *result.extra_snippets) if text]
    return WebResult(result.url, result.title, " · ".join(texts)).cut()


ADAPTER = PeopleAdapter(
    name="brave",
    settings=BraveSettings,
    key_header="x-subscription-token",
    people=searching(search),
    units=lambda _: most_questions(),
    trial=Question(path=_PATH, params={"q": "linkedin", "count": "1"}),
    judged=judge,
    left=left,
)
from_context = ADAPTER.from_context
