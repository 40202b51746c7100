"""Self-contained pages: one HTML file for a ticket or an audit, or text for a terminal.

A page is a list of sections of facts, a drawing, a table and folded text.  The HTML loads
nothing: no script, no font, no picture, and a policy forbids them.  It is light or dark as the
system of its reader is.
"""

import base64
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import asdict

from cs.domain.names.plain_text import escaped_controls
from cs.projections.searches import instant

if TYPE_CHECKING:
    from jinja2 import Environment

#: Names and values; a value of ``None`` is a dash.
Facts = Sequence[tuple[str, "str | Link | None"]]


#: The colour of a part of a bar: `page.css` has one for each, in light and dark.
Look = Literal["answered", "failed", "replaced", "cut-off", "open", "waiting"]


class Bar(msgspec.Struct, frozen=True):
    """One line of a drawing.

    Attributes:
        name: The text before the line.
        spans: Start, end and colour of each part, in per cent of the drawing.
        words: The text after the line, which says the same.
    """

    name: str
    spans: Sequence[tuple[float, float, Look]]
    words: str


class Link(msgspec.Struct, frozen=True):
    """A cell that leads to another page; only pages of the console have some."""

    text: str
    href: str

    def __str__(self) -> str:
        return self.text


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a page.

    Attributes:
        heading, about: Its title, and a line below it.
        facts: Above the table.
        bars: A drawing, only on the HTML page.
        mark: Where a dashed line crosses its bars, in per cent, and what the line means.
        columns, rows: A table.
        words: Its columns of words, which may be folded.
        numbers: Places of its columns that are set to the right, from 0.
        folded: Title and text of what is shown on demand; the page alone has it.
    """

    heading: str
    about: str = ""
    facts: Facts = ()
    bars: Sequence[Bar] = ()
    mark: tuple[float, str] | None = None
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str | Link]] = ()
    words: Sequence[str] = ()
    numbers: Collection[int] = ()
    folded: Sequence[tuple[str, str]] = ()


def head(field: str) -> str:
    """Return *field* as a heading.

    >>> head("emails_per_run"), head("linkedin_url")
    ('E-mails per run', 'Linkedin')
    """
    words = field.removesuffix("_url").replace("_", " ").replace("email", "e-mail")
    return words[:1].upper() + words[1:]


def facts(values: Mapping[str, Any]) -> Facts:
    """Return *values* as facts, each under its name as a heading."""
    return [(head(name), text(value)) for name, value in values.items()]


def table(
    heading: str, rows: Iterable[Any], fields: str = "", *, none: str = "", **rest: Any
) -> Section:
    """Return a section with a table of *rows*, structs or mappings.

    Numbers are set to the right.

    Args:
        heading: Of the section.
        rows: In order.
        fields: The columns, with `head` of them as headings; else all, under their own names.
        none: What the line below the heading says if there are no rows.
        rest: Of the section.
    """
    shown = [row if isinstance(row, Mapping) else asdict(row) for row in rows]
    columns = fields.split() or ([*shown[0]] if shown else [])
    headings = [*map(head, columns)] if fields else columns
    if none and not shown:
        rest["about"] = none
    return Section(
        heading=heading,
        columns=headings,
        rows=[[text(row[column]) or "" for column in columns] for row in shown],
        words=headings,
        numbers=[
            n
            for n, column in enumerate(columns)
            if any(type(row[column]) in {int, Decimal} for row in shown)
        ],
        **rest,
    )


def listed(heading: str, rows: Sequence[Mapping[str, Any]], **rest: Any) -> Section:
    """Return a section with a table of *rows*, whose names are its columns."""
    return table(heading, rows, " ".join(rows[0]) if rows else "", **rest)


def text(value: Any) -> str | Link | None:
    """Return *value* as text; of a time as it is in answers, to the second.

    >>> text(None), text(True), text(Decimal("1E-3")), text(3), text(("a", "b"))
    (None, 'yes', '0.001', '3', 'a, b')
    """
    match value:
        case None | str() | Link():
            return value
        case bool():
            return "yes" if value else "no"
        case Decimal():
            return f"{value:f}"
        case datetime():
            return instant(value)
        case list() | tuple():
            return ", ".join(map(str, value))
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
    template = environment("cs.history").get_template("page.html")
    return template.render(page=page, css=_CSS, policy=policy()).encode()


def policy() -> str:
    """Return the Content-Security-Policy of every page: its own style sheet, nothing else."""
    digest = base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


_TEMPLATES = files("cs.history").joinpath("templates")
_CSS = _TEMPLATES.joinpath("page.css").read_text(encoding="utf-8")


def environment(*packages: str) -> "Environment":
    """Return what renders the templates of *packages*, looked for in this order."""
    from jinja2 import (  # noqa: PLC0415  few commands need it
        ChoiceLoader,
        Environment,
        PackageLoader,
        StrictUndefined,
    )

    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _finalized(value: Any) -> Any:
    """Return *value* of the template with controls written out: some turn what follows."""
    return escaped_controls(value, keep="\n") if type(value) is str else value
