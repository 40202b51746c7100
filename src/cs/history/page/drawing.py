"""Drawings: spans of time to scale, and bars.

SVG in percentages, so that it fills what room there is and its letters keep their size.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Literal

import msgspec

from cs.history.page.markup import Html, Inside, el

#: How a span looks: `page.css` has a colour for each, in light and dark.
Look = Literal["good", "bad", "warn", "plain", "open", "wait"]

#: Pixels.
_HIGH = 18
#: Of a drawing's width; what is shorter is drawn two pixels wide.
_LEAST = 0.5
_TICKS = 5


class ValueRange(msgspec.Struct, frozen=True):
    """From one value to another, in the unit of its drawing.

    Attributes:
        said: What it is, shown when it is pointed at.
    """

    start: float
    end: float
    look: Look = "plain"
    said: str = ""


class Lane(msgspec.Struct, frozen=True):
    """One line of a drawing.

    Attributes:
        name: Before it.
        spans: In it.
        aside: Behind it: the same in words and numbers.
        marks: Moments in it.
    """

    name: Inside
    spans: Sequence[ValueRange]
    aside: Inside = None
    marks: Sequence[float] = ()


def seconds(value: float) -> str:
    """Return *value*, in seconds, as people say it.

    >>> seconds(0.0412), seconds(3.21), seconds(75), seconds(7200), seconds(200_000)
    ('41 ms', '3.2 s', '75 s', '2 h', '2.3 d')
    """
    if value < 1:
        return f"{value * 1000:.0f} ms" if value else "0 s"
    for least, unit, size in ((172_800, "d", 86_400), (7_200, "h", 3_600), (600, "min", 60)):
        if value >= least:
            return f"{round(value / size, 1):g} {unit}"
    return f"{value:.1f} s" if value < 10 and value % 1 else f"{value:.0f} s"


def lanes(
    lines: Iterable[Lane], *, until: float, said: Callable[[float], str] = seconds
) -> Html:
    """Return *lines* below each other on one scale from 0 to *until*.

    Args:
        lines: From top to bottom.
        until: The end of the scale, more than 0.
        said: A value of the scale in words.
    """
    ticks = [tick for tick in _ticks(until) if tick <= until]
    axis = el(
        "div",
        el("span", class_="name"),
        _svg((_tick(tick, until, said) for tick in ticks), class_="axis"),
        el("span", class_="aside"),
        class_="lane",
        aria_hidden="true",
    )
    return el("div", axis, (_lane(line, until, ticks) for line in lines), class_="lanes")


def bars(
    rows: Iterable[tuple[Inside, float]],
    *,
    said: Callable[[float], str] = lambda value: f"{value:g}",
    look: Look = "good",
) -> Html:
    """Return a bar for each (name, value), its number behind it; the longest is full."""
    values = list(rows)
    most = max((value for _, value in values), default=0) or 1.0
    drawn = (
        _lane(Lane(name, [ValueRange(0, value, look)] if value else [], said(value)), most, ())
        for name, value in values
    )
    return el("div", drawn, class_="lanes bars")


def legend(looks: Iterable[tuple[Look, str]]) -> Html:
    """Return what each look stands for."""
    return el("ul", (el("li", _swatch(look), said) for look, said in looks), class_="key")


def _swatch(look: Look) -> Html:
    low = look == "wait"
    drawn = el(
        "rect", y=5 if low else 0, width=11, height=2 if low else 11, class_=f"look-{look}"
    )
    return el("svg", drawn, width=11, height=11, aria_hidden="true")


def _lane(line: Lane, until: float, ticks: Sequence[float]) -> Html:
    grid = (
        el("line", x1=_share(t, until), x2=_share(t, until), y1="0", y2="100%", class_="grid")
        for t in ticks
    )
    marks = (
        el("line", x1=_share(m, until), x2=_share(m, until), y1="0", y2="100%", class_="mark")
        for m in line.marks
    )
    spans = (_span(span, until) for span in line.spans)
    return el(
        "div",
        el("span", line.name, class_="name"),
        _svg((grid, spans, marks)),
        el("span", line.aside, class_="aside"),
        class_="lane",
    )


def _svg(*inside: Inside, class_: str | None = None) -> Html:
    return el("svg", inside, width="100%", height=_HIGH, class_=class_, aria_hidden="true")


def _span(span: ValueRange, until: float) -> Html:
    share = 100 * (span.end - span.start) / until
    low = span.look == "wait"
    return el(
        "rect",
        el("title", span.said) if span.said else None,
        x=_share(span.start, until),
        width=f"{share:.3f}%" if share >= _LEAST else 2,
        y=_HIGH // 2 - 1 if low else 2,
        height=2 if low else _HIGH - 4,
        class_=f"look-{span.look}",
    )


def _tick(tick: float, until: float, said: Callable[[float], str]) -> Html:
    at = tick / until
    anchor = "start" if at < 0.05 else "end" if at > 0.9 else "middle"
    return el("text", said(tick), x=_share(tick, until), y=_HIGH - 5, text_anchor=anchor)


def _share(value: float, until: float) -> str:
    return f"{100 * value / until:.3f}%"


def _ticks(until: float) -> Iterator[float]:
    """Yield round values from 0 on, some `_TICKS` up to *until*."""
    size = 10.0 ** next(n for n in count(-6) if 10.0 ** (n + 1) > until / _TICKS)
    step = next(size * by for by in (1, 2, 5, 10) if size * by >= until / _TICKS)
    return (round(step * n, 9) for n in range(int(until / step) + 1))
