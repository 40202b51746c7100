"""Self-contained pages: one HTML file for a ticket or an audit, or text for a terminal.

A page is a list of sections of facts, a table and folded text.  The HTML loads nothing: no
script, no font, no picture, and a policy forbids them.  It is light or dark as the system of
its reader is.
"""

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from importlib.resources import files
from typing import Any

import msgspec

from cs.domain.names.plain_text import escaped_controls
from cs.projections.searches import instant


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a page.

    Attributes:
        heading, about: Its title, and a line below it.
        facts: Names and values; a value of ``None`` is a dash.
        columns, rows: A table.
        words: Its columns of words, which may be folded.
        numbers: Places of its columns that are set to the right, from 0.
        folded: Title and text of what is shown on demand; the page alone has it.
    """

    heading: str
    about: str = ""
    facts: Sequence[tuple[str, str | None]] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    words: Sequence[str] = ()
    numbers: Collection[int] = ()
    folded: Sequence[tuple[str, str]] = ()


def table(heading: str, rows: Iterable[Mapping[str, Any]], **rest: Any) -> Section:
    """Return a section with a table of *rows*, each by column; numbers are set to the right.

    A value of ``None`` is an empty cell, ``True`` and ``False`` are yes and no.
    """
    shown = [*rows]
    columns = [*shown[0]] if shown else []
    return Section(
        heading=heading,
        columns=columns,
        rows=[[text(value) or "" for value in row.values()] for row in shown],
        words=columns,
        numbers=[
            n
            for n, column in enumerate(columns)
            if any(type(row[column]) in {int, Decimal} for row in shown)
        ],
        **rest,
    )


def text(value: Any) -> str | None:
    """Return *value* as text; of a time as it is in answers, to the second.

    >>> text(None), text(True), text(Decimal("1E-3")), text(3)
    (None, 'yes', '0.001', '3')
    """
    match value:
        case None | str():
            return value
        case bool():
            return "yes" if value else "no"
        case Decimal():
            return f"{value:f}"
        case datetime():
            return instant(value)
        case _:
            return str(value)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page: its title, a line below it, notes, sections and small print."""

    title: str
    lead: str = ""
    notes: Sequence[str] = ()
    sections: Sequence[Section] = ()
    foot: str = ""


def page_html(page: Page) -> bytes:
    """Return *page* as HTML in UTF-8."""
    return _template()(page=page, css=_CSS, policy=policy()).encode()


def policy() -> str:
    """Return the Content-Security-Policy of every page: its own style sheet, nothing else."""
    digest = base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


_TEMPLATES = files("cs.history").joinpath("templates")
_CSS = _TEMPLATES.joinpath("page.css").read_text(encoding="utf-8")


def _template() -> Callable[..., str]:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  few commands need it

    environment = Environment(
        autoescape=True,
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_TEMPLATES.joinpath("page.html").read_text("utf-8")).render


def _finalized(value: Any) -> Any:
    """Return *value* of the template with controls written out: some turn what follows."""
    return escaped_controls(value, keep="\n") if type(value) is str else value
