"""The page of a search: hostile words stay words, and it is read by everybody everywhere."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from cs.history.pages import Section, page_html
from cs.history.redacting import redact_search, with_pseudonyms
from cs.history.search_page import search_page
from cs.history.searches import SearchAt
from cs.history.words import cause_in_words
from docs.browser import Browser, running_browser
from harness.accessibility import look, violations
from history.eventful_search import LOOKUP, brand_events, eventful
from history.test_pages import Parsed

#: A brand that a terminal, a page and a reader must not obey.
ATTACK = (
    '"><script>window.ran = true</script><img src=http://127.0.0.1:9/x onerror=alert(1)>\u202e'
)


async def shown(said: str, *, reveal: bool, upto: int | None = None) -> SearchAt:
    then = await eventful(said, upto)
    if then.run is not None:
        names = {name: f"person_{n:016}" for n, name in enumerate(then.run.names())}
        then = replace(then, run=with_pseudonyms(then.run, names))
    return then if reveal else redact_search(then)


def html(search: SearchAt) -> bytes:
    return page_html(search_page(search))


def sections(search: SearchAt) -> Mapping[str, Section]:
    return {each.heading: each for each in search_page(search).sections}


async def test_the_timeline_is_told() -> None:
    found = await shown("Acme", reveal=False)
    assert found.run is not None
    told = sections(found)

    one, other = "acme.test", "acme-mail.test"
    away, later = "failed, sources-away", "failed, try-later"
    again = "replaced"
    assert [tuple(row[:5]) for row in told["Stages and attempts"].rows] == [
        ("brand-resolution", "1", "+0 s", "3 s", away),
        ("brand-resolution", "2", "+5 s", "3 s", "answered"),
        ("contact-discovery", "1", "+8 s", "20 s", again),
        ("contact-discovery", "2", "+28 s", "6 s", "answered, after silence"),
        ("ranking", "1", "+34 s", "200 ms", "answered"),
        (f"verification {one}", "1", "+34 s", "7.8 s", later),
        (f"verification {other}", "1", "+34 s", "36 s", again),
        (f"verification {one}", "2", "+60 s", "16 s", "answered"),
        (f"verification {other}", "2", "+70 s", "50 s", END),
    ]
    assert [tuple(row[2:4]) for row in told["Sources and verifiers asked"].rows] == [
        ("wikidata", "used"),
        ("website", "failed"),
        ("searxng", "used"),
        ("smtp", ""),
    ]
    assert [(p.person, p.why) for p in found.run.people] == [
        ("p1", "verified"),
        ("p2", "not-verified"),
        ("p3", "not-eligible"),
        ("p4", "other-company"),
    ]
    run = dict(told["The run"].facts)
    assert (run["Took"], run["Cut off"]) == ("120 s", "yes")


END = "cut-off, after a restart"


async def test_each_attempt_says_what_caused_it_and_its_end() -> None:
    search = await shown("Acme", reveal=False)
    assert search.run is not None

    told = {
        (row[0], row[1]): (row[5], row[6])
        for row in sections(search)["Stages and attempts"].rows
    }

    answer = "message result, attempt 2"
    assert told["brand-resolution", "2"] == ("timer: retry", answer)
    assert told["contact-discovery", "1"] == ("not recorded", "timer: silence")
    assert told["verification acme-mail.test", "2"] == (
        "start of a process",
        "timer: deadline",
    )
    assert cause_in_words(search.run.caused_by) == "call req_1"
    assert cause_in_words(search.admitted_caused_by) == "call req_1"
    page = "\0".join(Parsed(html(search)).said)
    assert {"call req_1", "timer: deadline", answer} <= set(page.split("\0"))


async def test_a_run_is_shown_as_far_as_it_had_come() -> None:
    for upto in range(2, 3 + len(brand_events("Acme"))):
        before = await shown("Acme", reveal=False, upto=upto)

        assert before.run is None or before.run.finished_at is None or upto >= 22
        assert html(before).endswith(b"</html>")
        if before.run is not None:
            assert all(attempt.position <= upto for attempt in before.run.attempts)
            assert all(p.position <= upto for p in before.run.people)


async def test_it_says_that_people_were_erased_since() -> None:
    now = await shown("Acme", reveal=False)

    assert [(each.people, each.aged_out) for each in now.erased_since] == [(1, False)]
    assert b"who were erased since, on 2026-03-01T11:30:00Z (position" in html(now)


async def test_sealed_it_names_nobody() -> None:
    word = "Xyzzyword"
    sealed = html(await shown(word, reveal=False)).decode()

    assert "a@acme.test" not in sealed
    assert "RCPT TO:&lt;(hidden)&gt;" in sealed
    # A brand and why a source failed are open; who was considered is not.
    people = sealed[sealed.index(">People considered</h2>") :]
    assert word not in people
    assert f"{LOOKUP}#p1" not in sealed
    assert "person_0000000000000000" in sealed


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.mark.slow
async def test_the_page_is_readable_runs_nothing_and_asks_nobody(
    browser: Browser, tmp_path: Path
) -> None:
    width, dark = 360, True  # other widths and colours: test_pages
    file = tmp_path / "page.html"
    file.write_bytes(html(await shown(ATTACK, reveal=True)))

    look(browser, file.as_uri(), width=width, dark=dark)
    browser.value("document.querySelectorAll('details').forEach((each) => each.open = true)")

    assert browser.errors == []
    assert browser.asked_for() == [file.as_uri()]
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("window.ran === undefined")
    assert violations(browser) == []
