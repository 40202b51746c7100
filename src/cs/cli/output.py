"""What commands print: tables for people, one JSON value for programs."""

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
from rich.console import Console
from rich.table import Table

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

#: Exit codes of the commands that search (`cs search --help`).
FAILED, LIMITED, NO_QUOTA = 3, 4, 5


def print_json(value: Any) -> None:
    """Print *value* as one line of JSON."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    table = Table(title=title or None, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def stop(message: str, code: int = 1) -> NoReturn:
    """Say what went wrong and what to do, and end the command."""
    errors.print(f"[bold red]cs:[/] {_escaped(message)}")
    raise SystemExit(code)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
