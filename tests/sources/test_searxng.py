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
        "Location: Berlin · Experience: Acme · 500+ connections on LinkedIn.",
    ),
    result("Jane Doe – Acme | LinkedIn", "http://linkedin.com/in/jane-doe-1a/de", None),
    result(
        "José Núñez - Social Media Manager - Acme Germany GmbH | LinkedIn",
        "https://de.linkedin.com/in/jos%C3%A9-n",
    ),
)
OTHERS = (
    result(
        "Al Roe - Head of Social at Beta | ex-Acme | LinkedIn", "https://linkedin.com/in/al"
    ),
    result("Bo Roe - Former Head of Social at Acme | LinkedIn", "https://linkedin.com/in/bo"),
    result("Cy Roe - Influencer Lead - Acme Robotics | LinkedIn", "https://linkedin.com/in/cy"),
    result("Di Roe - Influencer Marketing Manager | LinkedIn", "https://linkedin.com/in/di"),
    result("Acme | LinkedIn", "https://www.linkedin.com/company/acme"),
    result("Ed Roe - Social Lead - Acme | LinkedIn", "https://rocketreach.example/ed-roe"),
    result("Fy Roe - Social Lead - Acme", "https://www.linkedin.com/posts/fy-roe_x"),
    result("10 best influencer campaigns by Acme", "https://www.linkedin.com/in/"),
    result("Gy Roe - Social Lead - Acme", "not a url"),
)

ENGINES = [["google", "Suspended: CAPTCHA"], ["brave", "too many requests"]]
OUT_OF_ORDER: list[tuple[Answer, SourceStatus, float | None, str]] = [
    (saying(b"<h1>Forbidden</h1>", status=403), SourceStatus.FAILED, None, NO_JSON),
    (
        saying(b"Too Many Requests", status=429, headers={"Retry-After": "60"}),
        SourceStatus.RATE_LIMITED,
        60.0,
        "429",
    ),
    (saying(b"", status=429), SourceStatus.RATE_LIMITED, 5.0, "429"),
    (saying(b"oops", status=500), SourceStatus.FAILED, None, "500"),
    (
        saying(b"", status=302, headers={"Location": "https://x.example"}),
        SourceStatus.FAILED,
        None,
        "",
    ),
    (
        saying(b"<!doctype html><title>SearXNG</title>"),
        SourceStatus.FAILED,
        None,
        "SearXNG answers",
    ),
    (
        saying(b'{"query": "q", "results": [{"url": "htt'),
        SourceStatus.FAILED,
        None,
        "SearXNG answers",
    ),
    (saying(b'{"results": {"url": 1}}'), SourceStatus.FAILED, None, "SearXNG answers"),
    (saying(b"\xff\xfe"), SourceStatus.FAILED, None, "SearXNG answers"),
    (results(silent=[["brave", "timeout"]]), SourceStatus.FAILED, None, "brave timeout"),
    (results(silent=ENGINES), SourceStatus.RATE_LIMITED, None, "google Suspended: CAPTCHA"),
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
                SearxngSource(client, base_url="http://127.0.0.1:9", now=lambda: NOW),
                SearxngSource(client, base_url=None, now=lambda: NOW),
            ]
            yield PeopleSourceCase(works, ACME, NOBODY, tuple(broken))


async def test_a_person_is_told_as_the_result_shows_them() -> None:
    answer = await find(results(*PEOPLE))

    assert answer.people[0] == Sighting(
        full_name="Jane Doe",
        headline="Head of Influencer Marketing - Acme",
        company="Acme",
        linkedin_url=JANE,
        location="Berlin",
        source="searxng",
    )
    assert [person.linkedin_url for person in answer.people] == [
        JANE,
        "https://www.linkedin.com/in/jos%C3%A9-n",
    ]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: str(other["title"]))
async def test_who_does_not_work_there_now_or_is_no_person_is_left_out(
    other: dict[str, Any],
) -> None:
    answer = await find(results(other))

    assert (answer.ended, answer.people) == (SourceStatus.NO_RESULTS, ())


async def test_one_who_works_at_the_parent_counts_when_the_parent_is_known() -> None:
    hugo = result(
        "Hugo Ba - Brand Manager - Globex Ltd | LinkedIn", "https://linkedin.com/in/h"
    )
    brand = BrandFacts(name="Acme", parent_company="Globex")

    with_parent = await find(results(hugo), brand)
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
    assert all(
        family in " ".join(asked) for family in ("influencer", "social", "partnership", "brand")
    )
    assert web.most_at_once <= 5
    assert all(one.path.startswith("/search?") for one in web.asked)


@pytest.mark.parametrize(("answer", "ended", "retry_in_s", "why"), OUT_OF_ORDER)
async def test_each_way_to_fail_is_told_as_what_it_is(
    answer: Answer, ended: SourceStatus, retry_in_s: float | None, why: str
) -> None:
    told = await find(answer)

    assert (told.ended, told.retry_in_s) == (ended, retry_in_s)
    assert why in (told.why or "")


async def test_after_a_refusal_no_more_is_asked() -> None:
    async with asking(saying(b"", status=429)) as (source, web):
        await source.find(ACME, limit=50)

    assert len(web.asked) == 4  # those asked at once, about one name


async def test_people_found_before_a_refusal_are_told_with_it() -> None:
    async def tired(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
        fresh = "influencer" in question(asked)
        await (results(*PEOPLE) if fresh else saying(b"", status=429))(asked, writer)

    answer = await find(tired)

    assert answer.ended is SourceStatus.RATE_LIMITED
    assert [person.full_name for person in answer.people] == ["Jane Doe", "José Núñez"]


async def test_one_engine_that_is_silent_does_not_spoil_what_others_found() -> None:
    answer = await find(results(*PEOPLE, silent=[["google", "timeout"]]))

    assert (answer.ended, answer.why) == (SourceStatus.USED, None)


async def test_a_question_nobody_answered_does_not_spoil_the_others() -> None:
    async def searxng(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
        fresh = "influencer" in question(asked)
        await (results(*PEOPLE) if fresh else results(silent=ENGINES))(asked, writer)

    answer = await find(searxng)

    assert (answer.ended, len(answer.people)) == (SourceStatus.USED, 2)


async def test_an_address_in_the_text_is_a_candidate() -> None:
    text = "Experience: Acme · Contact: <Jane.Doe@acme.example>, j@acme.example. @acme a@b"
    found = result("Jane Doe - Social Lead - Acme | LinkedIn", JANE, text)

    answer = await find(results(found))

    assert answer.people[0].addresses == ("jane.doe@acme.example", "j@acme.example")


async def test_odd_but_harmless_shapes_are_read() -> None:
    answer = await find(results(*PEOPLE, {"infobox": "Acme"}, number_of_results=0, x=None))

    assert len(answer.people) == 2


# What a brand is called is searched for, never obeyed.

#: SearXNG's own words for what it obeys (docs.searxng.org/user/search-syntax): it parts a
#: query at white space, quoted or not, and takes words that begin so for commands.
OBEYED = ("!", ":", "<", "?")
ORDERS = ["!!g", "!!", "!images", "!wp", "<1", "<850", ":fr", ":en-US", ":auto", "?x", "!!!ddg"]


def obeyed(query: str) -> list[str]:
    """Return the words of *query* that SearXNG could take for commands."""
    return [word for word in re.split(r"\s+", query) if word.startswith(OBEYED)]


async def asked_for(*names: str) -> list[str]:
    brand = BrandFacts(name=names[0], domain="acme.example", aliases=names[1:])
    async with asking(results()) as (source, web):
        await source.find(brand, limit=5)
    return [question(asked) for asked in web.asked]


def written(order: str) -> list[str]:
    """Return names with *order* at each place and in each kind of quotation marks."""
    names = [f"{order} Acme Shoes", f"Acme {order} Shoes", f"Acme Shoes {order}", order]
    names += [f"Acme{blank}{order}{blank}Shoes" for blank in "\t\n\x0b\x1f\x85\xa0\u2003\u3000"]
    names += [f"Acme {q}{order}{q} Shoes" for q in ('"', "'", "“", '""', "` ", ' "', '" ')]
    return [*names, f'"{order}" Acme', f'Acme" {order} "Shoes', f"Acme {order}{order} {order}"]


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
async def test_no_word_of_a_name_is_a_command_to_searxng(order: str) -> None:
    async with asking(results()) as (source, web):
        for name in written(order):
            before = len(web.asked)
            await source.find(BrandFacts(name=name, domain="acme.example"), limit=5)

            questions = [question(asked) for asked in web.asked[before:]]
            assert [obeyed(query) for query in questions] == [[]] * len(questions), name
            assert len(questions) == (len(WORDS) if re.search(r"\w", name) else 0)


async def test_no_word_of_a_parent_is_one_either() -> None:
    brand = BrandFacts(name="Acme", domain="acme.example", parent_company="Big !images :fr Co")
    async with asking(results()) as (source, web):
        await source.find(brand, limit=5)

    questions = [question(asked) for asked in web.asked]
    assert any('"Big images fr Co"' in query for query in questions)
    assert [obeyed(query) for query in questions] == [[]] * len(questions)


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from([*ORDERS, " ", '"', "a", "\t"])).map("".join)
)
def test_whatever_a_name_is_its_letters_are_asked_for_and_nothing_is_obeyed(name: str) -> None:
    asked = phrase(name)

    assert asked is None or obeyed(f"site:linkedin.com/in {asked} social media") == []
    kept = [char for char in name if char.isalnum()]
    assert [char for char in asked or "" if char.isalnum()] == kept


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("Yahoo!", '"Yahoo!"'),
        ("<3 Brand", '"3 Brand"'),
        ("Acme: Home", '"Acme: Home"'),
        ("H & M", '"H & M"'),
        ("!K7", '"K7"'),
        ("Guess?", '"Guess?"'),
        ("C&A", '"C&A"'),
        ("-acme", '"-acme"'),
    ],
)
async def test_names_with_such_signs_are_still_found(name: str, asked: str) -> None:
    person = result(f"Jane Doe - Head of Social at {name} | LinkedIn", JANE)

    async def engine(got: WebRequest, writer: asyncio.StreamWriter) -> None:
        await results(*[person] if asked in question(got) else [])(got, writer)

    answer = await find(engine, BrandFacts(name=name, domain="acme.example"))

    assert [seen.linkedin_url for seen in answer.people] == [JANE]
