"""The page in a real browser: it renders, under its policy, at every width, and asks nobody."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from api.openapi_document import operations
from cs.admin.docs_page import docs_routes, write
from docs.browser import Browser, running_browser
from harness.on_port import on_port

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "good-client.md"
HEADINGS = {line[3:] for line in GUIDE.read_text().splitlines() if line.startswith("## ")}
TITLES = {described["summary"] for _, _, described in operations()} | HEADINGS
#: A promise that is kept when the last section is on the page.
RENDERED = """new Promise((kept) => {
  const titles = () => [...document.querySelectorAll("h2")].map((each) => each.innerText);
  const look = () => titles().includes("Also") ? kept(titles()) :
    requestAnimationFrame(look);
  look();
})"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture(scope="module")
def admin() -> Iterator[str]:
    with on_port(Starlette(routes=docs_routes())) as url:
        yield url


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_every_operation_and_all_advice_is_on_the_page(
    browser: Browser, admin: str, width: int
) -> None:
    browser.open(f"{admin}/docs", width=width)

    assert set(browser.value(RENDERED)) >= TITLES
    assert browser.errors == []
    assert browser.value("document.documentElement.scrollWidth") <= width


def test_the_menu_and_every_link_lead_somewhere(browser: Browser, admin: str) -> None:
    browser.open(f"{admin}/docs")
    browser.value(RENDERED)

    links = set(
        browser.value(
            "[...document.querySelectorAll('a[href]')].map((each) => each.getAttribute('href'))"
        )
    )
    inside = {link for link in links if link.startswith("#")}
    assert "#tag/Being-a-good-client/Retries" in inside
    assert [link for link in links - inside if not link.startswith("https://")] == []
    for link in inside:
        assert browser.value(
            f"document.getElementById(decodeURIComponent({json.dumps(link[1:])})) !== null"
        ), link


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
