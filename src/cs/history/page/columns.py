"""A drawing of what happened when: columns side by side, of parts one upon the other."""

from collections.abc import Sequence

import msgspec

from cs.history.page.drawing import Look
from cs.history.page.markup import Html, el

#: Pixels: of the columns, and of the names below them.
_HIGH, _NAMES = 140, 20
#: Of a column's room, so much is left beside it.
_GAP = 0.15
#: Names below the columns, at most.
_NAMED = 3


class ChartColumn(msgspec.Struct, frozen=True):
    """One column.

    Attributes:
        name: What it is of; below some of the columns.
        parts: From the bottom on: how each looks, and how much of it there is.
        said: All of it in words, shown when it is pointed at.
    """

    name: str
    parts: Sequence[tuple[Look, int]]
    said: str = ""


def columns(each: Sequence[ChartColumn]) -> Html:
    """Return *each*, at least one, from left to right; the highest fills the drawing."""
    most = max(sum(many for _, many in column.parts) for column in each) or 1
    room = 100 / len(each)
    drawn = (_column(column, n * room, room, most) for n, column in enumerate(each))
    step = -(-len(each) // _NAMED)
    names = (
        el(
            "text",
            column.name,
            x=f"{(n + 0.5) * room if len(each) == 1 else n * room:.3f}%",
            y=_HIGH + _NAMES - 5,
            text_anchor="middle" if len(each) == 1 else "start",
        )
        for n, column in enumerate(each)
        if n % step == 0 and (n * room < 85 or n == 0)
    )
    lines = (
        el("line", x1=0, x2="100%", y1=y, y2=y, class_="grid") for y in (0, _HIGH // 2, _HIGH)
    )
    svg = el(
        "svg",
        lines,
        drawn,
        el("g", names, class_="axis"),
        width="100%",
        height=_HIGH + _NAMES,
        aria_hidden="true",
    )
    return el("div", el("p", f"{most} at most", class_="about"), svg, class_="columns")


def _column(column: ChartColumn, left: float, room: float, most: int) -> Html:
    parts, below = [], 0
    for look, many in column.parts:
        top = _HIGH * (1 - (below + many) / most)
        high = _HIGH * many / most
        below += many
        if many:
            parts.append(
                el(
                    "rect",
                    x=f"{left + room * _GAP / 2:.3f}%",
                    width=f"{room * (1 - _GAP):.3f}%",
                    y=f"{top:.2f}",
                    height=f"{high:.2f}",
                    class_=f"look-{look}",
                )
            )
    return el("g", el("title", column.said) if column.said else None, parts)
