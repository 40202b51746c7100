"""What commands print: tables for people, one JSON value a line for programs.

Text that came from anywhere is printed as it is, on one line however long: only
`styled` reads markup.
"""

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)

#: Exit codes of the commands that search (`cs search --help`).
FAILED, LIMITED, NO_QUOTA = 3, 4, 5


def styled(markup: str, *parts: object) -> Text:
    """Return *markup* with *parts* in its braces, none of them read as markup."""
    return Text.from_markup(markup.format(*(escape(str(part)) for part in parts)), emoji=False)


def print_json(value: Any) -> None:
    """Print *value* as one line of JSON, at once."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str | Text]], *, folds: Sequence[str]
) -> None:
    """Print a table that fits the terminal by folding the columns *folds*."""
    table = Table()
    for column in columns:
        table.add_column(column, no_wrap=column not in folds, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    console.print(table, soft_wrap=False)


def warn(message: str) -> None:
    """Say on standard error what is wrong."""
    errors.print(styled("[bold red]cs:[/] {}", message))


def stop(message: str, code: int = 1) -> NoReturn:
    """Say what went wrong and what to do, and end the command."""
    warn(message)
    raise SystemExit(code)
