"""What commands print: tables for people, one JSON value a line for programs.

Text from outside is shown with its control characters written out, and never obeyed by a
terminal or a spreadsheet; only `styled` reads markup.  Commands print through this module
alone.  A file for what was found is a new one, private to its owner.
"""

import csv
import io
import os
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cs.domain.names.plain_text import written_out

#: Columns of the terminal between two columns of a table.
_GAP = 2
#: A cell that begins so is a formula to a spreadsheet, full-width forms included.
_FORMULA = "=+@＝＋－＠-"
#: Where a cell begins: its own beginning, and after a semicolon, where a spreadsheet of many
#: a country parts cells.
_CELL_BEGINS = re.compile(rf"(\A|;)(?=[\s\"']*[{_FORMULA}])")
#: In JSON they stand in strings only, so they can be escaped wherever they are.
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def harmless(text: str) -> str:
    r"""Return *text* on one line, its control characters written out.

    >>> print(harmless("Acme\x1b[2J\tCo"))
    Acme\x1b[2J Co
    """
    return written_out(text)


def harmless_lines(text: str) -> str:
    """Return *text*, lines that may quote text from outside, made harmless."""
    return written_out(text, keep="\n")


def all_harmless(value: Any) -> Any:
    """Return *value*, of JSON's types, with each text in it harmless; keys stay."""
    match value:
        case str():
            return harmless(value)
        case dict():
            return {key: all_harmless(inner) for key, inner in value.items()}
        case list() | tuple():
            return [all_harmless(inner) for inner in value]
        case _:
            return value


def json_line(value: Any) -> bytes:
    r"""Return *value* as one line of JSON that a terminal shows and programs read as ever.

    >>> json_line({"brand": "Acme\u202e"})
    b'{"brand":"Acme\\u202e"}\n'
    """
    text = msgspec.json.encode(value).decode()
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def cell(text: str) -> str:
    """Return *text* on one line, with an apostrophe before what would be a formula.

    >>> cell("=1+1"), cell(" @x"), cell("Acme - Co"), cell("Acme; =1+1")
    ("'=1+1", "' @x", 'Acme - Co', "Acme;' =1+1")
    """
    return _CELL_BEGINS.sub(r"\1'", harmless(text))


class HarmlessConsole(Console):
    """A console that shows control characters instead of sending them to the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print *objects*; a string may have lines, and quote text from outside."""
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


def as_csv(table: Iterable[Sequence[str]]) -> bytes:
    """Return *table* as CSV: no cell is a formula to a spreadsheet, or two, or obeyed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([cell(text) for text in row] for row in table)
    return text.getvalue().encode()


class Table(msgspec.Struct, frozen=True):
    """Rows of text under the names of *columns*; those in *folds* give way if need be.

    With *one_line* these are shortened, so that a row is one line, instead of wrapped.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Text]]
    folds: Sequence[str] = ()
    one_line: bool = False


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    folds: Collection[str],
    one_line: bool = False,
) -> None:
    """Print a table; the columns *folds* are wrapped between words to fit the terminal.

    A number, an id and a word are never cut: a table that cannot fit is wider.  With
    *one_line* the columns *folds* are shortened instead, down to the width of their names.
    """
    cells = [
        [cell if isinstance(cell, Text) else Text(harmless(cell)) for cell in row]
        for row in rows
    ]
    texts = [[column, *(row[n].plain for row in cells)] for n, column in enumerate(columns)]
    widths = [max(map(cell_len, each)) for each in texts]
    measured = [each[:1] if one_line else each for each in texts]
    least = [
        max((cell_len(word) for text in each for word in text.split()), default=0)
        if column in folds
        else width
        for column, each, width in zip(columns, measured, widths, strict=True)
    ]
    gaps = _GAP * (len(columns) - 1)
    while sum(widths) + gaps > console.width:
        spare = [n for n, width in enumerate(widths) if width > least[n]]
        if not spare:
            break
        widths[max(spare, key=widths.__getitem__)] -= 1
    for row in [[Text(column, "bold") for column in columns], *cells]:
        for cell, width in zip(row, widths, strict=True) if one_line else ():
            cell.truncate(max(width, 1), overflow="ellipsis")
        parts = [cell.wrap(console, max(w, 1)) for cell, w in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=Text()):
            shown = Text()
            for part, width in zip(line, widths, strict=True):
                part.rstrip()
                shown.append_text(part)
                shown.append(" " * (width - part.cell_len + _GAP))
            shown.rstrip()
            console.print(shown)


def print_parts(parts: Iterable[str | Text | Table]) -> None:
    """Print *parts* one after the other."""
    for part in parts:
        if isinstance(part, Table):
            print_table(part.columns, part.rows, folds=part.folds, one_line=part.one_line)
        else:
            console.print(part)


def warn(message: str) -> None:
    """Print *message* on standard error."""
    errors.print(styled("[bold red]cs:[/] {}", message))


def stop(message: str, code: int = 1) -> NoReturn:
    """Print *message*, the problem and what to do, and end the command."""
    warn(message)
    raise SystemExit(code)


def check_new(file: Path) -> None:
    """End the command if *file* is there, or its folder is not: before anything is read."""
    if file.exists():
        stop(f"{file} is there already: name another file", 2)
    if not file.parent.is_dir():
        stop(f"{file} cannot be written: there is no folder {file.parent}", 2)


def write_new(file: Path, content: bytes) -> None:
    """Write *content* into *file*, mode 0600.

    Raises:
        SystemExit: It is there already, or cannot be written.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
    except FileExistsError:
        stop(f"{file} is there already: name another file", 2)
    except OSError as error:
        stop(f"{file} cannot be written: {error.strerror}")
