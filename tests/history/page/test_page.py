"""Pages: text stays text, nothing is asked for, drawings are to scale."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.names.plain_text import written_out
from cs.history.page.blocks import badge, facts, fold, mono, note, section, table
from cs.history.page.drawing import Lane, ValueRange, bars, lanes, legend
from cs.history.page.markup import Html, el
from cs.history.page.shell import page, policy

#: What would do something if it were not text.
HOSTILE = st.text(min_size=1) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "</style><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "' onmouseover='alert(1)",
        "<!--",
        "]]>",
        "&lt;b&gt;",
        "\u202egnp.exe\x00\x1b[2J",
        "javascript:alert(1)",
    ]
)


class Parsed(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.said: list[str] = []
        self.feed(html.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, attrs))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def sample(said: str) -> bytes:
    """Return a page of every block, *said* wherever text can be."""
    return page(
        said,
        section(
            "Section",
            facts([(said, said), ("empty", None)]),
            note(said, badge(said, "bad"), tone="warn"),
            about=said,
        ),
        section(
            "Drawings",
            lanes(
                [
                    Lane(
                        said,
                        [ValueRange(0, 3, "good", said), ValueRange(3, 9, "wait")],
                        said,
                        [12],
                    )
                ],
                until=20,
            ),
            legend([("good", said)]),
            bars([(said, 3), ("none", 0)]),
        ),
        section(
            "Table",
            table(said, ("A", "B"), [(said, 1), (mono(said), 2)], numbers=["B"]),
            fold(said, el("pre", said), is_open=True),
        ),
        lead=said,
        foot=said,
    )


PLAIN = Parsed(sample("word"))


@given(HOSTILE)
def test_whatever_is_said_stays_text(said: str) -> None:
    shown = Parsed(sample(said))

    assert [tag for tag, _ in shown.elements] == [tag for tag, _ in PLAIN.elements]
    names = [[name for name, _ in attributes] for _, attributes in shown.elements]
    assert names == [[name for name, _ in attributes] for _, attributes in PLAIN.elements]
    times = sum(each.count("word") for each in PLAIN.said)
    shown_said = written_out(said, keep="\n")
    assert sum(each.count(shown_said) for each in shown.said) >= times


def test_a_page_asks_nobody_and_runs_nothing() -> None:
    html = sample("word").decode()

    assert not re.search(r"https?:|//|url\(|@import|<script|<link|<img| src=| href=", html)
    assert " style=" not in html, "the policy forbids it"
    assert [tag for tag, _ in PLAIN.elements].count("style") == 1


def test_the_policy_allows_the_pages_own_looks_and_nothing_else() -> None:
    html = sample("word").decode()
    (told,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    (css,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)

    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert Parsed(html.encode()).elements  # the policy is read as it is written
    assert told.replace("&#x27;", "'") == policy()
    assert f"'sha256-{digest}'" in policy()
    assert policy().startswith("default-src 'none'; ")
    assert "unsafe" not in policy()


def test_markup_is_made_by_el_alone() -> None:
    assert el("p", "<b>", el("b", "x")) == "<p>&lt;b&gt;<b>x</b></p>"
    assert el("p", [1, None, ["a", 2.5]], class_="x", hidden=True, open=False) == (
        '<p class="x" hidden>1a2.5</p>'
    )
    assert isinstance(el("p"), Html)


@given(st.floats(0.001, 1e7), st.floats(0, 1), st.floats(0, 1))
def test_a_span_is_drawn_to_scale(until: float, one: float, other: float) -> None:
    start, end = sorted((one * until, other * until))

    drawn = lanes([Lane("it", [ValueRange(start, end)])], until=until)

    ((x, width),) = re.findall(r'<rect x="([\d.]+)%" width="([\d.]+%?)"', drawn)
    share = 100 * (end - start) / until
    assert float(x) == pytest.approx(100 * start / until, abs=0.001)
    if width.endswith("%"):
        assert float(width[:-1]) == pytest.approx(share, abs=0.001)
    else:
        assert (width, share < 0.5) == ("2", True)


@given(st.floats(1e-5, 1e9))
def test_a_scale_has_a_few_round_marks(until: float) -> None:
    drawn = lanes([], until=until, said=repr)

    marks = [float(said) for said in re.findall(r"<text [^>]*>([^<]*)</text>", drawn)]
    assert marks[0] == 0
    assert 3 <= len(marks) <= 6
    assert marks[-1] <= until
