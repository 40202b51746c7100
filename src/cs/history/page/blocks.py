"""What pages are put together from, drawings aside."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from cs.history.page.markup import Html, Inside, el

#: What a badge or a note means: it looks so, and its words say it as well.
Tone = Literal["good", "bad", "warn", "plain"]


def section(heading: str, *inside: Inside, about: Inside = None) -> Html:
    """Return a section of the page; *about* is a line below its *heading*."""
    name = _name(heading)
    return el(
        "section",
        el("h2", heading, id=name),
        el("p", about, class_="about") if about else None,
        inside,
        aria_labelledby=name,
    )


def facts(pairs: Iterable[tuple[str, Inside]]) -> Html:
    """Return names and values side by side; a value of ``None`` is a dash."""
    return el(
        "dl",
        (
            el("div", el("dt", name), el("dd", "–" if value is None else value))
            for name, value in pairs
        ),
        class_="facts",
    )


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Inside]],
    *,
    numbers: Collection[str] = (),
) -> Html:
    """Return a table; on a phone its rows stand one below the other, a field a line.

    Args:
        caption: What it shows, for whoever does not see what stands around it.
        columns: Their names.
        rows: A cell each column.
        numbers: Names of columns that are set to the right.
    """
    sides = ["number" if name in numbers else None for name in columns]
    return el(
        "table",
        el("caption", caption),
        el(
            "thead",
            el(
                "tr",
                (
                    el("th", name, scope="col", class_=side)
                    for name, side in zip(columns, sides, strict=True)
                ),
            ),
        ),
        el(
            "tbody",
            (
                el(
                    "tr",
                    (
                        el("td", el("span", cell), data_label=name, class_=side)
                        for name, side, cell in zip(columns, sides, row, strict=True)
                    ),
                )
                for row in rows
            ),
        ),
    )


def badge(said: str, tone: Tone = "plain") -> Html:
    """Return a word or two that are seen first."""
    return el("span", said, class_=f"badge {tone}")


def note(*inside: Inside, tone: Tone = "plain") -> Html:
    """Return a paragraph that must not be missed."""
    return el("p", inside, class_=f"note {tone}")


def mono(said: str) -> Html:
    """Return an id or an address, broken wherever the line ends."""
    return el("code", said)


def fold(summary: Inside, *inside: Inside, is_open: bool = False) -> Html:
    """Return what is shown when its reader wants it; on paper it is shown."""
    return el("details", el("summary", summary), inside, open=is_open)


def _name(heading: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in heading.lower()).split())
