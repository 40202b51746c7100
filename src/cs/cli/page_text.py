"""Sections of a page on a terminal."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from cs.cli.output import Table, styled
from cs.history.pages import Section


def sections_text(
    sections: Iterable[Section], *, folded: bool = False, one_line: bool = False
) -> Iterator[str | Text | Table]:
    """Yield *sections*, each under its heading; a fact without a value is left out.

    Args:
        sections: What to print.
        folded: Whether to print what a page shows on demand.
        one_line: Whether a row of a table is shortened to a line (`Table`).
    """
    for section in sections:
        yield from ("", styled("[bold]{}[/]", section.heading))
        if section.about:
            yield section.about
        width = max((len(name) for name, _ in section.facts), default=0)
        for name, value in section.facts:
            if value is not None:
                yield f"{name:<{width}}  {value}"
        if section.rows:
            yield Table(section.columns, section.rows, section.words, one_line=one_line)
        for title, text in section.folded if folded else ():
            yield from (title, *(f"  {line}" for line in text.splitlines()))
