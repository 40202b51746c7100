"""The page of a search: hostile words stay words, and it is read by everybody everywhere."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings

from cs.domain.names.plain_text import written_out
from cs.history.shown.page import search_page
from cs.history.shown.phrases import cause_words
from cs.history.shown.search import ShownSearch, people_of, shown_search
from docs.browser import Browser, running_browser
from harness.accessibility import look, violations
from history.eventful_search import LOOKUP, brand_events, eventful
from history.page.test_page import HOSTILE, Parsed

#: A brand that a terminal, a page and a reader must not obey.
ATTACK = (
    '"><script>window.ran = true</script><img src=http://127.0.0.1:9/x onerror=alert(1)>\u202e'
)


async def shown(said: str, *, reveal: bool, upto: int | None = None) -> ShownSearch:
    then = await eventful(said, upto)
    names = {name: f"person_{n:016}" for n, name in enumerate(people_of(then))}
    return shown_search(then, head=99, pseudonyms=names, reveal=reveal)


@settings(max_examples=settings().max_examples // 2)
@given(HOSTILE)
async def test_whatever_is_said_stays_text(said: str) -> None:
    plain = Parsed(search_page(await shown("word", reveal=True)))
    page = Parsed(search_page(await shown(said, reveal=True)))

    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
    assert not [name for _, each in page.elements for name, _ in each if name.startswith("on")]
    assert written_out(said, keep="\n") in "\0".join(page.said)


async def test_the_timeline_is_told() -> None:
    run = (await shown("Acme", reveal=False)).run
    assert run is not None

    told = [
        (
            stage.stage,
            stage.item,
            [(attempt.end, attempt.took_s) for attempt in stage.attempts],
            (stage.retries, stage.silences, stage.restarts),
            (stage.took_s, stage.working_s),
        )
        for stage in run.stages
    ]
    one, other = "acme.test", "acme-mail.test"
    assert told == [
        ("brand-resolution", "", [("failed", 3), ("answered", 3)], (1, 0, 0), (8, 6)),
        ("contact-discovery", "", [("replaced", 20), ("answered", 6)], (0, 1, 0), (26, 26)),
        ("ranking", "", [("answered", 0.2)], (0, 0, 0), (0.2, 0.2)),
        ("verification", one, [("failed", 7.8), ("answered", 16)], (1, 0, 0), (41.8, 23.8)),
        ("verification", other, [("replaced", 35.8), ("cut-off", 50)], (0, 0, 1), (85.8, 85.8)),
    ]
    assert [(a.name, a.ended, a.why) for a in run.stages[0].asked] == [
        ("wikidata", "used", None),
        ("website", "failed", "Acme"),
    ]
    assert [(a.name, a.questions) for a in run.stages[3].asked] == [("smtp", 3)]
    assert run.stages[3].learned is not None
    assert run.stages[3].learned.greylists
    assert [(p.person, p.why, p.is_shown) for p in run.people] == [
        ("p1", "verified", True),
        ("p2", "not-verified", True),
        ("p3", "not-eligible", False),
        ("p4", "other-company", False),
    ]
    assert run.took_s == 120
    assert run.cut_off


async def test_each_attempt_says_what_caused_it_and_its_end() -> None:
    search = await shown("Acme", reveal=False)
    run = search.run
    assert run is not None

    told = {
        (stage.stage, stage.item, attempt.attempt): (
            cause_words(attempt.caused_by),
            cause_words(attempt.end_caused_by),
        )
        for stage in run.stages
        for attempt in stage.attempts
    }

    answer = "message result, attempt 2"
    assert told["brand-resolution", "", 2] == ("timer: retry", answer)
    assert told["contact-discovery", "", 1] == ("not recorded", "timer: silence")
    assert told["verification", "acme-mail.test", 2] == (
        "start of a process",
        "timer: deadline",
    )
    assert cause_words(run.caused_by) == cause_words(search.admitted_caused_by) == "call req_1"
    page = "\0".join(Parsed(search_page(search)).said)
    assert {"call req_1", "timer: deadline", answer} <= set(page.split("\0"))


async def test_money_is_by_the_prices_that_are_given() -> None:
    then = await eventful("Acme")
    prices = {"smtp": Decimal("0.004"), "searxng": Decimal("0.5"), "website": Decimal(9)}

    priced = shown_search(then, head=99, pseudonyms={}, reveal=False, prices=prices).run
    unpriced = shown_search(then, head=99, pseudonyms={}, reveal=False).run

    assert priced is not None
    assert unpriced is not None
    costs = {asked.name: asked.cost for stage in priced.stages for asked in stage.asked}
    # Three addresses, one answer, none from a source that failed.
    assert costs == {
        "wikidata": None,
        "website": 0,
        "searxng": Decimal("0.5"),
        "smtp": Decimal("0.012"),
    }
    assert priced.cost == Decimal("0.512")
    assert priced.cost_said.startswith("0.512 by the prices given")
    assert priced.cost_said.endswith("; without a price: wikidata")
    assert (unpriced.cost, unpriced.cost_said[:12]) == (None, "not recorded")


async def test_a_run_is_shown_as_far_as_it_had_come() -> None:
    for upto in range(2, 3 + len(brand_events("Acme"))):
        before = await shown("Acme", reveal=False, upto=upto)

        assert before.run is None or before.run.took_s is None or upto >= 22
        assert search_page(before).endswith(b"</html>\n")
        if before.run is not None:
            begun = [attempt for stage in before.run.stages for attempt in stage.attempts]
            assert all(attempt.position <= upto for attempt in begun)
            assert all(p.position <= upto for p in before.run.people)


async def test_it_says_that_people_were_erased_since() -> None:
    now = await shown("Acme", reveal=False)

    assert [(each.people, each.aged_out) for each in now.erased_since] == [(1, False)]
    assert b"Of this run 1 person was erased since, on 2026-03-01T11:30:00Z" in search_page(now)


async def test_who_was_left_out_is_shown_with_what_was_read_of_them() -> None:
    page = search_page(await shown("Acme", reveal=True)).decode()

    table = page[page.index(">Everybody considered</h2>") :]
    assert table.count("<small>Acme · Acme</small>") == 4


async def test_sealed_it_names_nobody() -> None:
    word = "Xyzzyword"
    sealed = search_page(await shown(word, reveal=False)).decode()

    assert "a@acme.test" not in sealed
    assert "RCPT TO" not in sealed
    # A brand and why a source failed are open; who was considered is not.
    people = sealed[sealed.index(">Everybody considered</h2>") :]
    assert word not in people
    assert f"{LOOKUP}#p1" not in sealed
    assert "person_0000000000000000" in sealed


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("reveal", [False, True], ids=["sealed", "revealed"])
async def test_the_page_is_readable_runs_nothing_and_asks_nobody(
    browser: Browser, tmp_path: Path, width: int, *, dark: bool, reveal: bool
) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(search_page(await shown(ATTACK, reveal=reveal)))

    look(browser, file.as_uri(), width=width, dark=dark)
    browser.value("document.querySelectorAll('details').forEach((each) => each.open = true)")

    assert browser.errors == []
    assert browser.asked_for() == [file.as_uri()]
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("window.ran === undefined")
    assert violations(browser) == []
