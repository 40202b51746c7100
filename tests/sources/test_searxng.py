"""SearXNG as a people source: who is read of its results, and what it is asked."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.contact import BrandFacts, Sighting
from cs.plugins.contracts.people_source import PeopleSourceCase, PeopleSourceContract
from cs.plugins.contracts.stand_in import Answer, ServiceRequest, StandIn, source_context
from cs.plugins.entry_points import Group
from cs.plugins.sources import PeopleAnswer, SourceStatus
from harness.clients import plugin
from sources.played_services import away, saying

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ACME = BrandFacts(name="Acme", domain="acme.example")
NOBODY = BrandFacts(name="Nobody", domain="nobody.example")
JANE = "https://www.linkedin.com/in/jane-doe-1a"
#: Questions about one name.
QUESTIONS = 4


def source(client: StandIn, url: str = "http://127.0.0.1:9/") -> Any:
    return plugin(Group.PEOPLE_SOURCES, "searxng", source_context(client, url=url))


async def find(answer: Answer, brand: BrandFacts = ACME) -> PeopleAnswer:
    found: PeopleAnswer = await source(StandIn(answer)).find(brand, limit=50)
    return found


def result(title: str, url: str, content: str | None = "") -> dict[str, Any]:
    shown = {"title": title, "url": url, "content": content, "engine": "brave", "score": 1.0}
    return shown | {"engines": ["brave"], "positions": [1], "category": "general"}


def results(
    *found: dict[str, Any], silent: Sequence[Sequence[str]] = (), **more: object
) -> Answer:
    """Answer every question with the same page."""
    page = {"query": "q", "results": found, "answers": [], "corrections": [], "infoboxes": []}
    return lambda _: page | {"unresponsive_engines": silent} | more


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
NO_JSON = "SearXNG answers"
OUT_OF_ORDER: list[tuple[Answer, SourceStatus, float | None, str]] = [
    (saying(b"<h1>Forbidden</h1>", status=403), FAILED, None, "json"),
    (saying(b"Too Many", status=429, retry_after="60"), LIMITED, 60.0, "429"),
    (saying(b"", status=429), LIMITED, 5.0, "429"),
    (saying(b"oops", status=500), FAILED, None, "500"),
    (saying(b"<!doctype html><title>SearXNG</title>"), FAILED, None, NO_JSON),
    (saying(b'{"query": "q", "results": [{"url": "htt'), FAILED, None, NO_JSON),
    (saying(b'{"results": {"url": 1}}'), FAILED, None, NO_JSON),
    (saying(b"\xff\xfe"), FAILED, None, NO_JSON),
    (results(silent=[["brave", "timeout"]]), FAILED, None, "brave timeout"),
    (results(silent=ENGINES), LIMITED, None, "google Suspended: CAPTCHA"),
    (away, FAILED, None, "connect"),
]


def searxng(asked: ServiceRequest) -> object:
    return results(*OTHERS, *PEOPLE if '"Acme"' in asked.params["q"] else ())(asked)


class TestSearxngIsAPeopleSource(PeopleSourceContract):
    @pytest.fixture
    def case(self) -> PeopleSourceCase:
        broken = {str(n): source(StandIn(each[0])) for n, each in enumerate(OUT_OF_ORDER)}
        unset = plugin(Group.PEOPLE_SOURCES, "searxng", source_context(StandIn(searxng)))
        broken["without a URL"] = unset
        return PeopleSourceCase(source(StandIn(searxng)), ACME, NOBODY, broken)


async def test_current_staff_is_reported_as_the_result_shows_it() -> None:
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


async def test_staff_of_the_parent_counts_when_the_parent_is_known() -> None:
    title, url = "Hugo Ba - Brand Manager - Globex Ltd | LinkedIn", "https://linkedin.com/in/h"
    hugo = results(result(title, url))

    with_parent = await find(hugo, BrandFacts(name="Acme", parent_company="Globex"))

    assert [person.full_name for person in with_parent.people] == ["Hugo Ba"]
    assert (await find(hugo)).people == ()


async def test_questions_are_few_and_name_brand_and_parent() -> None:
    client = StandIn(results())
    brand = BrandFacts(name='Acme "Pro"', parent_company="Globex", aliases=("A", "B"))
    await source(client).find(brand, limit=50)

    asked = [one.params["q"] for one in client.asked]
    assert len(asked) == len(set(asked)) == 2 * QUESTIONS
    assert sum('site:linkedin.com/in "Acme Pro" ' in text for text in asked) == QUESTIONS
    assert sum('site:linkedin.com/in "Globex" ' in text for text in asked) == QUESTIONS
    assert {one.path for one in client.asked} == {"/search"}


async def test_each_way_to_fail_is_reported_and_after_it_no_more_is_asked() -> None:
    for answer, ended, retry_in_s, why in OUT_OF_ORDER:
        client = StandIn(answer)
        told = await source(client).find(ACME, limit=50)

        assert (told.ended, told.retry_in_s) == (ended, retry_in_s)
        assert why in (told.why or "")
        assert len(client.asked) == QUESTIONS, "those asked at once, about one name"


async def test_people_found_next_to_a_refusal_or_a_silent_engine_count() -> None:
    for other, ended in (
        (saying(b"", status=429), LIMITED),
        (results(silent=ENGINES), SourceStatus.USED),
    ):

        def tired(asked: ServiceRequest, other: Answer = other) -> object:
            return (results(*PEOPLE) if "influencer" in asked.params["q"] else other)(asked)

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


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from([*ORDERS, " ", '"', "a", "\t", "'", "“", "\x0b", "\x85", "\u2003"])
    ).map("".join)
)
async def test_whatever_a_name_is_its_letters_are_asked_for_and_nothing_is_obeyed(
    name: str,
) -> None:
    kept = "".join(char for char in name if char.isalnum())
    for brand in (BrandFacts(name=name), BrandFacts(name="Acme", parent_company=name)):
        client = StandIn(results())
        await source(client).find(brand, limit=5)

        questions = [one.params["q"] for one in client.asked]
        assert [obeyed(query) for query in questions] == [[]] * len(questions)
        if kept and brand.name == name:
            quoted = {query.split('"')[1] for query in questions}
            assert {"".join(filter(str.isalnum, each)) for each in quoted} == {kept}


async def test_names_with_such_signs_are_still_found() -> None:
    for name, asked in {
        "Yahoo!": '"Yahoo!"',
        "<3 Brand": '"3 Brand"',
        "Acme: Home": '"Acme: Home"',
        "H & M": '"H & M"',
        "!K7": '"K7"',
        "Guess?": '"Guess?"',
        "-acme": '"-acme"',
        "Big !images :fr Co": '"Big images fr Co"',
    }.items():
        person = result(f"Jane Doe - Head of Social at {name} | LinkedIn", JANE)

        def engine(
            got: ServiceRequest, asked: str = asked, person: dict[str, Any] = person
        ) -> object:
            return results(*[person] if asked in got.params["q"] else [])(got)

        answer = await find(engine, BrandFacts(name=name, domain="acme.example"))

        assert [seen.linkedin_url for seen in answer.people] == [JANE], name
