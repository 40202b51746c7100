"""What commands print: tables for people, one JSON value a line for programs.

Text that came from anywhere is shown and not obeyed (`cs.cli.foreign_text`), on one line
however long: only `styled` reads markup.  Nothing is printed past this module.
"""

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cs.cli.foreign_text import harmless, harmless_lines, json_line
from cs.cli.tables import fitting


class HarmlessConsole(Console):
    """A console that shows control characters instead of sending them to the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print *objects*, a string as lines of our own about what came from anywhere."""
        shown = (harmless_lines(each) if isinstance(each, str) else each for each in objects)
        super().print(*shown, **options)


console = HarmlessConsole(highlight=False, markup=False, emoji=False, soft_wrap=True)
errors = HarmlessConsole(
    stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True
)


def styled(markup: str, *parts: object) -> Text:
    """Return *markup* with *parts* in its braces, none of them read as markup or obeyed."""
    shown = (escape(harmless(str(part))) for part in parts)
    return Text.from_markup(markup.format(*shown), emoji=False)


def print_json(value: Any) -> None:
    """Print *value* as one line of JSON, at once."""
    print_bytes(json_line(value))


def print_bytes(data: bytes) -> None:
    """Print *data*, which a terminal may have to show, at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str | Text]], *, folds: Sequence[str]
) -> None:
    """Print a table that fits the terminal by folding the columns *folds*.

    Where it does not fit even so, one field a line (`cs.cli.tables`).
    """
    cells = [
        [cell if isinstance(cell, Text) else Text(harmless(cell)) for cell in row]
        for row in rows
    ]
    table = fitting(columns, cells, folds=folds, width=console.width)
    console.print(table, soft_wrap=False, crop=False, overflow="ignore")


def warn(message: str) -> None:
    """Say on standard error what is wrong."""
    errors.print(styled("[bold red]cs:[/] {}", message))


def stop(message: str, code: int = 1) -> NoReturn:
    """Say what went wrong and what to do, and end the command."""
    warn(message)
    raise SystemExit(code)
