"""Pages: text stays text, nothing is asked for, and a real browser shows them everywhere."""

import base64
import hashlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.domain.names.plain_text import escaped_controls
from cs.history.pages import Bar, Page, Section, page_html, policy
from docs.browser import Browser, running_browser
from harness.accessibility import look, violations

#: What would do something if it were not text.
HOSTILE = st.text(min_size=1) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "</style><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "' onmouseover='alert(1)",
        "<!--",
        "]]>",
        "{{ 7 * 7 }}",
        "&lt;b&gt;",
        "\u202egnp.exe\x00\x1b[2J",
        "javascript:alert(1)",
        "B",  # the other column of the table
    ]
)


class Parsed(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[str]]] = []
        self.said: list[str] = []
        self.feed(html.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, [name for name, _ in attrs]))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def sample(said: str) -> bytes:
    """Return a page of everything that there is, *said* wherever text can be."""
    section = Section(
        heading=said,
        about=said,
        facts=[(said, said), ("empty", None)],
        bars=[Bar(said, [(0, 15, "failed"), (15, 45, "waiting")], said)],
        mark=(60, said),
        columns=(said, "B"),
        rows=[(said, "1"), (said, "")],
        numbers=[1],
        folded=[(said, said)],
    )
    return page_html(Page(title=said, lead=said, notes=[said], sections=[section], foot=said))


PLAIN = Parsed(sample("word"))


@settings(max_examples=settings().max_examples // 3)
@given(HOSTILE)
def test_whatever_is_said_stays_text(said: str) -> None:
    shown = Parsed(sample(said))

    assert shown.elements == PLAIN.elements
    times = sum(each.count("word") for each in PLAIN.said)
    assert sum(each.count(escaped_controls(said, keep="\n")) for each in shown.said) >= times


def test_a_page_asks_for_nothing_and_its_policy_allows_its_own_looks_alone() -> None:
    html = sample("word").decode()
    (sent,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    (css,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)

    assert not re.search(r"https?:|//|url\(|@import|<script|<link|<img| src=| href=", html)
    assert " style=" not in html, "the policy forbids it"
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert sent.replace("&#39;", "'") == policy()
    assert f"'sha256-{digest}'" in policy()
    assert policy().startswith("default-src 'none'; ")
    assert "unsafe" not in policy()


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


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(360, True), (1400, False)])
def test_a_page_is_readable_and_asks_for_nothing(
    browser: Browser, written: str, width: int, *, dark: bool
) -> None:
    look(browser, written, width=width, dark=dark)

    assert browser.errors == []
    assert browser.asked_for() == [written]
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("window.ran === undefined")
    assert violations(browser) == []
    back = browser.value("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(16, 19, 23)" if dark else "rgb(244, 245, 247)")


#: What somebody may get into a page, by element: what is set on it.
PLANTED = {
    "script": "e.textContent = 'window.ran = true'",
    "style": "e.textContent = 'body { color: red }'",
    "img": "e.src = 'http://127.0.0.1:9/a.png'",
    "p": "e.setAttribute('style', 'color: red')",
}


@pytest.mark.slow
def test_the_policy_stops_whatever_gets_in(browser: Browser, written: str) -> None:
    look(browser, written, width=800, dark=False)

    for element, planted in PLANTED.items():
        stopped = browser.value(
            "new Promise((kept) => { document.addEventListener('securitypolicyviolation',"
            " (each) => kept(each.disposition));"
            f" const e = document.createElement('{element}'); {planted};"
            " document.body.append(e); })"
        )
        assert stopped == "enforce", element
    assert browser.value("window.ran === undefined")


@pytest.mark.slow
def test_what_is_folded_is_on_paper(browser: Browser, written: str) -> None:
    look(browser, written, width=800, dark=True)
    shown = "document.querySelector('details pre').checkVisibility()"
    assert browser.value(shown) is False

    browser.ask("Emulation.setEmulatedMedia", media="print")

    try:
        assert browser.value(shown) is True
        back = browser.value("getComputedStyle(document.body).backgroundColor")
        assert back == "rgb(255, 255, 255)"
    finally:
        browser.ask("Emulation.setEmulatedMedia", media="")
