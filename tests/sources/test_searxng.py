"""SearXNG as a people source: who is read of its results, and what it is asked."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.contact import BrandFacts, Sighting
from cs.outside.http import TrustedClient
from cs.plugins.contracts.people_source import PeopleSourceCase, PeopleSourceContract
from cs.plugins.sources import PeopleAnswer, SourceStatus
from cs.sources.people.searxng import NO_JSON, SearxngSource
from cs.sources.people.web_search import WORDS, phrase
from outside.loopback_web import Answer, Web, WebRequest, reply, serve

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ACME = BrandFacts(name="Acme", domain="acme.example")
NOBODY = BrandFacts(name="Nobody", domain="nobody.example")
JANE = "https://www.linkedin.com/in/jane-doe-1a"


def result(title: str, url: str, content: str | None = "") -> dict[str, Any]:
    shown = {"title": title, "url": url, "content": content, "engine": "brave", "score": 1.0}
    return shown | {"engines": ["brave"], "positions": [1], "category": "general"}


def results(
    *found: dict[str, Any], silent: Sequence[Sequence[str]] = (), **more: object
) -> Answer:
    """Answers every question with the same page."""
    page = {"query": "q", "results": found, "answers": [], "corrections": [], "infoboxes": []}
    return saying(json.dumps(page | {"unresponsive_engines": silent} | more).encode())


def saying(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    async def answer(_: WebRequest, writer: asyncio.StreamWriter) -> None:
        reply(writer, body, status=status, headers=headers)

    return answer


def question(asked: WebRequest) -> str:
    return parse_qs(urlsplit(asked.path).query)["q"][0]


PEOPLE = (
    result(
        "Jane Doe - Head of Influencer Marketing - Acme | LinkedIn",
        "https://uk.linkedin.com/in/Jane-Doe-1a?trk=public",
        "Location: Berlin · Experience: Acme · <Jane.Doe@acme.example>, j@acme.example. @acme",
    ),
    result("Jane Doe – Acme | LinkedIn", "http://linkedin.com/in/jane-doe-1a/de", None),
    result(
        "José Núñez - Social Media Manager - Acme Germany GmbH | LinkedIn",
        "https://de.linkedin.com/in/jos%C3%A9-n",
    ),
)
OTHERS = [
    result(title, url)
    for title, url in (
        ("Al Roe - Head of Social at Beta | ex-Acme | LinkedIn", "https://linkedin.com/in/al"),
        ("Bo Roe - Former Head of Social at Acme | LinkedIn", "https://linkedin.com/in/bo"),
        ("Cy Roe - Influencer Lead - Acme Robotics | LinkedIn", "https://linkedin.com/in/cy"),
        ("Di Roe - Influencer Marketing Manager | LinkedIn", "https://linkedin.com/in/di"),
        ("Acme | LinkedIn", "https://www.linkedin.com/company/acme"),
        ("Ed Roe - Social Lead - Acme | LinkedIn", "https://rocketreach.example/ed-roe"),
        ("Fy Roe - Social Lead - Acme", "https://www.linkedin.com/posts/fy-roe_x"),
        ("10 best influencer campaigns by Acme", "https://www.linkedin.com/in/"),
        ("Gy Roe - Social Lead - Acme", "not a url"),
    )
]
ENGINES = [["google", "Suspended: CAPTCHA"], ["brave", "too many requests"]]
FAILED, LIMITED = SourceStatus.FAILED, SourceStatus.RATE_LIMITED
OUT_OF_ORDER: list[tuple[Answer, SourceStatus, float | None, str]] = [
    (saying(b"<h1>Forbidden</h1>", status=403), FAILED, None, NO_JSON),
    (saying(b"Too Many", status=429, headers={"Retry-After": "60"}), LIMITED, 60.0, "429"),
    (saying(b"", status=429), LIMITED, 5.0, "429"),
    (saying(b"oops", status=500), FAILED, None, "500"),
    (saying(b"", status=302, headers={"Location": "https://x.example"}), FAILED, None, ""),
    (saying(b"<!doctype html><title>SearXNG</title>"), FAILED, None, "SearXNG answers"),
    (saying(b'{"query": "q", "results": [{"url": "htt'), FAILED, None, "SearXNG answers"),
    (saying(b'{"results": {"url": 1}}'), FAILED, None, "SearXNG answers"),
    (saying(b"\xff\xfe"), FAILED, None, "SearXNG answers"),
    (results(silent=[["brave", "timeout"]]), FAILED, None, "brave timeout"),
    (results(silent=ENGINES), LIMITED, None, "google Suspended: CAPTCHA"),
]


@asynccontextmanager
async def asking(answer: Answer) -> AsyncIterator[tuple[SearxngSource, Web]]:
    async with serve(answer) as web, TrustedClient(user_agent="cs/test") as client:
        yield SearxngSource(client, base_url=f"{web.url}/", now=lambda: NOW), web


async def find(answer: Answer, brand: BrandFacts = ACME, limit: int = 50) -> PeopleAnswer:
    async with asking(answer) as (source, _):
        return await source.find(brand, limit=limit)


async def searxng(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
    known = '"Acme"' in question(asked)
    await results(*OTHERS, *PEOPLE if known else ())(asked, writer)


class TestSearxngIsAPeopleSource(PeopleSourceContract):
    @pytest.fixture
    async def case(self) -> AsyncIterator[PeopleSourceCase]:
        async with AsyncExitStack() as stack:
            works, _ = await stack.enter_async_context(asking(searxng))
            broken = [
                (await stack.enter_async_context(asking(answer)))[0]
                for answer, *_ in OUT_OF_ORDER
            ]
            client = await stack.enter_async_context(TrustedClient(user_agent="x"))
            broken += [
                SearxngSource(client, base_url=url, now=lambda: NOW)
                for url in ("http://127.0.0.1:9", None)
            ]
            yield PeopleSourceCase(works, ACME, NOBODY, tuple(broken))


async def test_who_works_there_now_is_reported_as_the_result_shows_them() -> None:
    answer = await find(results(*OTHERS, *PEOPLE, {"infobox": "Acme"}, number_of_results=0))

    assert answer.people[0] == Sighting(
        full_name="Jane Doe",
        headline="Head of Influencer Marketing - Acme",
        company="Acme",
        linkedin_url=JANE,
        location="Berlin",
        addresses=("jane.doe@acme.example", "j@acme.example"),
        source="searxng",
    )
    assert [person.linkedin_url for person in answer.people[1:]] == [
        "https://www.linkedin.com/in/jos%C3%A9-n"
    ]


async def test_one_who_works_at_the_parent_counts_when_the_parent_is_known() -> None:
    hugo = result(
        "Hugo Ba - Brand Manager - Globex Ltd | LinkedIn", "https://linkedin.com/in/h"
    )

    with_parent = await find(results(hugo), BrandFacts(name="Acme", parent_company="Globex"))
    without = await find(results(hugo))

    assert [person.full_name for person in with_parent.people] == ["Hugo Ba"]
    assert without.people == ()


async def test_questions_are_few_and_name_brand_and_parent() -> None:
    brand = BrandFacts(name='Acme "Pro"', parent_company="Globex", aliases=("A", "B"))
    async with asking(results()) as (source, web):
        await source.find(brand, limit=50)

    asked = [question(one) for one in web.asked]
    assert len(asked) == len(set(asked)) == 8
    assert sum('site:linkedin.com/in "Acme Pro" ' in text for text in asked) == 4
    assert sum('site:linkedin.com/in "Globex" ' in text for text in asked) == 4
    assert web.most_at_once <= 5
    assert all(one.path.startswith("/search?") for one in web.asked)


async def test_each_way_to_fail_is_reported_and_after_it_no_more_is_asked() -> None:
    for answer, ended, retry_in_s, why in OUT_OF_ORDER:
        async with asking(answer) as (source, web):
            told = await source.find(ACME, limit=50)

        assert (told.ended, told.retry_in_s) == (ended, retry_in_s)
        assert why in (told.why or "")
        assert len(web.asked) == 4, "those asked at once, about one name"


async def test_people_found_next_to_a_refusal_or_a_silent_engine_count() -> None:
    for other, ended in (
        (saying(b"", status=429), LIMITED),
        (results(silent=ENGINES), SourceStatus.USED),
    ):

        async def tired(
            asked: WebRequest, writer: asyncio.StreamWriter, other: Answer = other
        ) -> None:
            fresh = "influencer" in question(asked)
            await (results(*PEOPLE) if fresh else other)(asked, writer)

        answer = await find(tired)

        assert answer.ended is ended
        assert [person.full_name for person in answer.people] == ["Jane Doe", "José Núñez"]


# What a brand is called is searched for, never obeyed.

#: SearXNG's own words for what it obeys (docs.searxng.org/user/search-syntax): it parts a
#: query at white space, quoted or not, and takes words that begin so for commands.
OBEYED = ("!", ":", "<", "?")
ORDERS = ["!!g", "!!", "!images", "!wp", "<1", "<850", ":fr", ":en-US", ":auto", "?x", "!!!ddg"]


def obeyed(query: str) -> list[str]:
    """Return the words of *query* that SearXNG could take for commands."""
    return [word for word in re.split(r"\s+", query) if word.startswith(OBEYED)]


@pytest.mark.parametrize("brand", ["Big !images :fr Co", '"!!g" Acme', "Acme\u3000<1 Shoes"])
async def test_no_word_of_a_brand_or_its_parent_is_a_command_to_searxng(brand: str) -> None:
    async with asking(results()) as (source, web):
        await source.find(BrandFacts(name="Acme", parent_company=brand), limit=5)
        await source.find(BrandFacts(name=brand), limit=5)

    questions = [question(asked) for asked in web.asked]
    assert len(questions) == 3 * len(WORDS)
    assert [obeyed(query) for query in questions] == [[]] * len(questions)


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from([*ORDERS, " ", '"', "a", "\t", "'", "“", "\x0b", "\x85", "\u2003"])
    ).map("".join)
)
def test_whatever_a_name_is_its_letters_are_asked_for_and_nothing_is_obeyed(name: str) -> None:
    asked = phrase(name)

    assert asked is None or obeyed(f"site:linkedin.com/in {asked} social media") == []
    kept = [char for char in name if char.isalnum()]
    assert [char for char in asked or "" if char.isalnum()] == kept


async def test_names_with_such_signs_are_still_found() -> None:
    for name, asked in {
        "Yahoo!": '"Yahoo!"',
        "<3 Brand": '"3 Brand"',
        "Acme: Home": '"Acme: Home"',
        "H & M": '"H & M"',
        "!K7": '"K7"',
        "Guess?": '"Guess?"',
        "-acme": '"-acme"',
    }.items():
        person = result(f"Jane Doe - Head of Social at {name} | LinkedIn", JANE)

        async def engine(
            got: WebRequest,
            writer: asyncio.StreamWriter,
            asked: str = asked,
            person: dict[str, Any] = person,
        ) -> None:
            await results(*[person] if asked in question(got) else [])(got, writer)

        answer = await find(engine, BrandFacts(name=name, domain="acme.example"))

        assert [seen.linkedin_url for seen in answer.people] == [JANE]
