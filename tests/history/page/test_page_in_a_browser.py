"""Every block of pages in a real browser: at three widths, light and dark, asking nobody."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.browser import Browser, running_browser
from harness.accessibility import look, violations
from history.page.test_page import sample

pytestmark = pytest.mark.slow

LONG = "A brand called <script>window.ran = true</script> & " + "Donaudampfschifffahrts" * 6


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: Path = tmp_path_factory.mktemp("page") / "page.html"
    file.write_bytes(sample(LONG))
    return file.as_uri()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_a_page_is_readable_and_asks_nobody(
    browser: Browser, written: str, width: int, *, dark: bool
) -> None:
    look(browser, written, width=width, dark=dark)

    assert browser.errors == []
    assert browser.asked_for() == [written]
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert violations(browser) == []
    assert browser.errors == []


def test_the_checker_finds_what_cannot_be_read(browser: Browser, written: str) -> None:
    look(browser, written, width=800, dark=False)
    browser.value("document.querySelector('h1').setAttribute('role', 'nothing')")

    assert any("aria-roles" in each for each in violations(browser))


@pytest.mark.parametrize(
    "planted",
    [
        "const e = document.createElement('script'); e.textContent = 'window.ran = true'",
        "const e = document.createElement('style'); e.textContent = 'body { color: red }'",
        "const e = document.createElement('img'); e.src = 'http://127.0.0.1:9/a.png'",
        "const e = document.createElement('p'); e.setAttribute('style', 'color: red')",
    ],
)
def test_the_policy_stops_whatever_gets_in(
    browser: Browser, written: str, planted: str
) -> None:
    look(browser, written, width=800, dark=False)

    stopped = browser.value(
        "new Promise((kept) => { document.addEventListener('securitypolicyviolation', (each) =>"
        f" kept(each.disposition)); {planted}; document.body.append(e); }})"
    )

    assert stopped == "enforce"
    assert browser.value("window.ran === undefined")


def test_what_is_folded_is_on_paper(browser: Browser, written: str) -> None:
    look(browser, written, width=800, dark=True)
    browser.value("document.querySelector('details').open = false")
    shown = "document.querySelector('details pre').checkVisibility()"
    assert browser.value(shown) is False

    browser.ask("Emulation.setEmulatedMedia", media="print")

    try:
        assert browser.value(shown) is True
        back = browser.value("getComputedStyle(document.body).backgroundColor")
        assert back == "rgb(255, 255, 255)"
    finally:
        browser.ask("Emulation.setEmulatedMedia", media="")
