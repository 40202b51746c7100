"""The page in a real browser: it renders, under its policy, at every width, and asks nobody."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from api.openapi_document import operations
from cs.admin.docs_page import docs_routes, write
from docs_page.browser import Browser, running_browser
from docs_page.on_port import on_port
from servers.fixtures import or_skipped

pytestmark = pytest.mark.slow

TITLES = {described["summary"] for _, _, described in operations()}
#: A promise that is kept when the last operation is on the page.
RENDERED = """new Promise((kept) => {
  const titles = () => [...document.querySelectorAll("h2")].map((each) => each.innerText);
  const look = () => titles().includes("Read this document") ? kept(titles()) :
    requestAnimationFrame(look);
  look();
})"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with or_skipped(running_browser(tmp_path_factory.mktemp("browser"))) as running:
        yield running


@pytest.fixture(scope="module")
def admin() -> Iterator[str]:
    with on_port(Starlette(routes=docs_routes())) as url:
        yield url


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_every_operation_is_on_the_page(browser: Browser, admin: str, width: int) -> None:
    browser.open(f"{admin}/docs", width=width)

    assert set(browser.value(RENDERED)) >= TITLES
    assert browser.errors == []
    assert browser.value("document.documentElement.scrollWidth") <= width


def test_the_page_asks_nobody_else(browser: Browser, admin: str) -> None:
    browser.open(f"{admin}/docs")
    browser.value(RENDERED)

    asked = [url for url in browser.asked_for() if not url.startswith("data:")]
    assert asked == [f"{admin}/docs", f"{admin}/docs/redoc.standalone.js"]


@pytest.mark.parametrize(
    "planted",
    [
        "const e = document.createElement('script'); e.textContent = 'window.ran = true'",
        "const e = document.createElement('style'); e.textContent = 'body { color: red }'",
        "const e = document.createElement('img'); e.src = 'http://127.0.0.1:9/a.png'",
        "const e = document.createElement('iframe'); e.src = 'http://127.0.0.1:9/'",
    ],
)
def test_the_policy_stops_what_is_not_ours(browser: Browser, admin: str, planted: str) -> None:
    browser.open(f"{admin}/docs")
    browser.value(RENDERED)

    stopped = browser.value(
        "new Promise((kept) => { document.addEventListener('securitypolicyviolation', (each) =>"
        f" kept(each.disposition)); {planted}; document.body.append(e); }})"
    )

    assert stopped == "enforce"
    assert browser.value("window.ran === undefined")


def test_the_files_work_on_any_web_server(browser: Browser, tmp_path: Path) -> None:
    write(tmp_path)
    with on_port(
        Starlette(routes=[Mount("/", StaticFiles(directory=tmp_path, html=True))])
    ) as url:
        browser.open(f"{url}/")

        assert set(browser.value(RENDERED)) >= TITLES
        assert browser.errors == []


def test_the_files_work_without_a_web_server(browser: Browser, tmp_path: Path) -> None:
    write(tmp_path)
    browser.open((tmp_path / "index.html").as_uri())

    assert set(browser.value(RENDERED)) >= TITLES
    assert browser.errors == []


def test_a_picture_can_be_taken_of_it(browser: Browser, admin: str, tmp_path: Path) -> None:
    browser.open(f"{admin}/docs")
    browser.value(RENDERED)
    browser.picture(tmp_path / "page.png")

    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
