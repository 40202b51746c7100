"""The views of a history with no, 20 and 2,000 searches: paged, bounded, found by name."""

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.contact import Query
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.port import Append
from docs.browser import Browser, running_browser
from harness.accessibility import look, violations
from harness.on_data import data_of
from harness.served import Served

pytestmark = pytest.mark.slow  # a service in a process of its own

LISTS = ("/", "/searches", "/brands", "/keys", "/mail-domains", "/sources", "/events")


class History(NamedTuple):
    """A service on *size* old searches, each of a brand of its own, made with one key."""

    service: Served
    client: httpx.Client
    size: int
    key: str

    def get(self, path: str) -> str:
        answer = self.client.get(f"/console{path}", follow_redirects=True)
        assert answer.status_code == 200, (path, answer.text)
        return unescape(answer.text)

    def walk(self, path: str, row: str) -> list[str]:
        """Return what *row* finds on the page and on all older ones."""
        found, older = list[str](), path
        for _ in range(200):
            page = self.get(older)
            found += re.findall(row, page)
            link = re.search(r'rel="next" href="/console([^"]+)"', page)
            if link is None:
                return found
            older = link[1]
        raise AssertionError("older pages have no end")


@pytest.fixture(scope="module", params=[0, 20, 2_000])
def history(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[History]:
    folder = tmp_path_factory.mktemp("rows") / "data"
    key = asyncio.run(filled(folder, request.param))
    with (
        Served(folder) as service,
        httpx.Client(base_url=service.admin_url, trust_env=False, timeout=30) as client,
    ):
        yield History(service, client, request.param, key)


async def filled(folder: Path, count: int) -> str:
    """Make the data, a day old; return the key."""
    at = datetime.now(UTC) - timedelta(days=1)
    async with data_of(folder) as data:
        await data.operator.choose_world("sandbox")
        key = (await data.operator.create_key("rows", 10**6)).id if count else ""
        for n in range(count):
            query = Query(f"Rows {n}")
            stream = brand_stream(query)
            search, lookup = f"srch_rows{n}", f"{stream}.1"
            began = LookupStarted(lookup=lookup, number=1, query=query, deadline_at=at, at=at)
            admitted = SearchAdmitted(
                search=search, brand=f"Rows {n}", query=query, lookup=lookup, at=at
            )
            ended = LookupFinished(
                lookup=lookup, outcome="no_contacts", reusable=True, verified=0, at=at
            )
            settled = SearchSettled(
                search=search,
                lookup=lookup,
                outcome="no_contacts",
                charged=False,
                cached=False,
                at=at,
            )
            await data.log.append(
                [
                    Append(f"key-{key}", 2 * n, [admitted, settled]),
                    Append(stream, -1, [began, ended]),
                ]
            )
        if count:  # the first brand is also the last one that was looked up
            query = Query("Rows 0")
            again = brand_stream(query)
            lookup = f"{again}.2"
            began = LookupStarted(lookup=lookup, at=at, number=2, query=query, deadline_at=at)
            ended = LookupFinished(
                lookup=lookup, at=at, outcome="no_contacts", reusable=True, verified=0
            )
            await data.log.append([Append(again, 1, [began, ended])])
    return key


def test_every_search_is_listed_once_over_all_pages(history: History) -> None:
    every = history.walk("/searches", r">(srch_rows\d+)<")

    assert len(every) == len(set(every)) == history.size
    if history.size:
        of_key = history.walk(f"/searches?key={history.key}", r">(srch_rows\d+)<")
        assert of_key == every
        assert history.get("/searches").count("srch_rows") <= 2 * 50


def test_every_event_of_a_stream_is_listed_once_over_all_pages(history: History) -> None:
    if not history.size:
        assert "No event matches" in history.get("/events?stream=key-none")
        return
    path = f"/events?stream=key-{history.key}"

    every = [int(each) for each in history.walk(path, r"/console/events/(\d+)")]
    settled = history.walk(f"{path}&type=search-settled", r"/console/events/(\d+)")
    movements = history.walk(f"/keys/{history.key}", r"/console/searches/(srch_rows\d+)")

    assert every == sorted(set(every), reverse=True)
    assert len(every) == 2 * history.size + 1
    assert len(settled) == history.size
    assert len(movements) == 2 * history.size


def test_events_are_jumped_to_by_position(history: History) -> None:
    page = history.get("/events?before=3")
    positions = re.findall(r"/console/events/(\d+)", page)

    assert positions == (["2", "1"] if history.size else ["1"])
    assert 'rel="prev"' in page, "back to the newest"


def test_an_old_search_of_a_long_key_is_shown(history: History) -> None:
    if history.size < 2_000:
        return
    page = history.get("/searches/srch_rows3")

    assert "Rows 3" in page
    assert "no_contacts" in page
    assert "not counted here: its key has many searches" in page


def test_brands_are_found_by_name(history: History) -> None:
    newest = history.walk("/brands", r">(Rows \d+)<")
    assert len(newest) == len(set(newest)) == history.size
    if history.size:
        assert newest[0] == "Rows 0", "it was looked up again"
        last = f"Rows {history.size - 1}"
        page = history.get(f"/brands?q={last.lower().replace(' ', '+')}")
        assert re.findall(r">(Rows \d+)<", page) == [last]
        every = history.walk("/brands?q=rows", r">(Rows \d+)<")
        assert len(every) == len(set(every)) == history.size


def test_what_came_of_a_call_is_told_on_both_ends(history: History) -> None:
    if not history.size:
        return
    (settled, *_) = re.findall(
        r"/console/events/(\d+)",
        history.get("/events?lookup=" + f"{brand_stream(Query('Rows 2'))}.1"),
    )

    page = history.get(f"/events/{settled}")

    assert "Why it came about" in page
    assert "What followed" in page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.mark.parametrize("width", [390, 1280])
def test_every_list_is_readable_however_long_it_is(
    browser: Browser, history: History, width: int
) -> None:
    for path in LISTS:
        url = f"{history.service.admin_url}/console{path}"
        look(browser, url, width=width, dark=width == 390)

        assert browser.errors == [], url
        assert browser.value("document.documentElement.scrollWidth") <= width, url
        assert violations(browser) == [], url
        if not history.size:
            assert browser.value("document.querySelector('.about, .facts, table') !== null")
    browser.open("about:blank")  # or it asks for live events of a service that has ended
