"""People through Serper, which asks Google (google.serper.dev, ``POST /search``).

A question for up to 100 results costs two credits; the answer says what it cost.
"""

import msgspec

from cs.plugins.hosted import HostedSource, PeopleAdapter, Question, ServiceSettings
from cs.sources.adapters import Burst, CallsPerS, Url, UsdPerCredit
from cs.sources.people.web_search import (
    RESULTS,
    WebPage,
    WebQuestion,
    WebResult,
    most_questions,
    searching,
)

#: Results asked for; with 100 a question costs two credits.
NUM = 100
CREDITS = 2


class SerperSettings(ServiceSettings, frozen=True, kw_only=True):
    """Settings of ``[sources.serper]``."""

    url: Url = "https://google.serper.dev"
    calls_per_s: CallsPerS = 10.0
    burst: Burst = 10
    usd_per_call: UsdPerCredit = 0.001


class _SerperResult(msgspec.Struct):
    title: str = ""
    link: str = ""
    snippet: str | None = None


class _SerperAnswer(msgspec.Struct):
    organic: tuple[_SerperResult, ...] = ()
    credits: int | None = None


async def search(source: HostedSource[SerperSettings], asked: WebQuestion) -> WebPage:
    """Return the results for *asked*."""
    body: dict[str, str | int] = {"q": asked.text, "num": NUM}
    if asked.market is not None:
        body |= {"gl": asked.market.country, "hl": asked.market.language}
    question = Question(path="/search", json=body, units=CREDITS)
    answer = await source.service.ask(question, _SerperAnswer, charged=_charged)
    return WebPage(
        tuple(
            WebResult(result.link, result.title, result.snippet).cut()
            for result in answer.organic[:RESULTS]
        )
    )


def _charged(answer: _SerperAnswer) -> int:
    return CREDITS if answer.credits is None else max(answer.credits, 0)


ADAPTER = PeopleAdapter(
    name="serper",
    settings=SerperSettings,
    key_header="x-api-key",
    people=searching(search, joined=True),
    units=lambda _: CREDITS * most_questions(joined=True),
    trial=Question(path="/search", json={"q": "linkedin", "num": 10}),
)
from_context = ADAPTER.from_context
