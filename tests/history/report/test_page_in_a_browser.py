"""The page of a report in a real browser: full, of a day, and empty."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cs.eventlog.memory import MemoryEventLog
from cs.history.report.page import report_page
from cs.history.report.period import Period
from cs.history.report.reading import make_report
from cs.keystore.memory import MemoryKeyStore
from docs.browser import Browser, running_browser
from harness.accessibility import look, violations
from history.report.a_year import AT, write_year

pytestmark = pytest.mark.slow

PERIODS = {
    "year": Period(AT, AT + timedelta(days=365)),
    "day": Period(AT + timedelta(days=40), AT + timedelta(days=41)),
    "empty": Period(AT - timedelta(days=9), AT - timedelta(days=8)),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")

    async def write() -> None:
        keys = MemoryKeyStore()
        log = MemoryEventLog(keys)
        await write_year(log)
        for name, period in PERIODS.items():
            report = await make_report(log, keys, period)
            (folder / f"{name}.html").write_bytes(report_page(report))

    asyncio.run(write())
    return folder


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_a_report_is_readable_and_asks_nobody(
    browser: Browser, pages: Path, width: int, period: str, *, dark: bool
) -> None:
    url = (pages / f"{period}.html").as_uri()

    look(browser, url, width=width, dark=dark)

    assert browser.errors == []
    assert browser.asked_for() == [url]
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert violations(browser) == []
    assert browser.errors == []
    assert browser.value("window.ran === undefined")
