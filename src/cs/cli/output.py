"""Output of commands: tables for people, one JSON value a line for programs.

Text from outside is shown with its control characters written out, and never obeyed by a
terminal or a spreadsheet; only `styled` reads markup.  Commands print through this module
alone.  A file for what was found is a new one, private to its owner.
"""

import csv
import io
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import msgspec
from msgspec.structs import asdict
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.status import Status
from rich.table import Table as RichTable
from rich.text import Text

from cs.domain.names.plain_text import escaped_controls
from cs.runtime.durations import in_words
from cs.runtime.private_files import open_private

if TYPE_CHECKING:  # most commands print no page
    from cs.history.pages import Section

#: Columns of the terminal between two columns of a table.
_GAP = 2
#: A cell that begins so is a formula to a spreadsheet, full-width forms included.
_FORMULA = "=+@＝＋－＠-"
#: Where a cell begins: its own beginning, and after a semicolon, where a spreadsheet of many
#: a country parts cells.
_CELL_BEGINS = re.compile(rf"(\A|;)(?=[\s\"']*[{_FORMULA}])")
#: Values that a list of facts leaves out.
_NOTHING: tuple[Any, ...] = (None, "", [], {}, ())
#: In JSON they stand in strings only, so they can be escaped wherever they are.
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def harmless(text: str) -> str:
    r"""Return *text* on one line, its control characters written out.

    >>> print(harmless("Acme\x1b[2J\tCo"))
    Acme\x1b[2J Co
    """
    return escaped_controls(text)


def harmless_lines(text: str) -> str:
    """Return *text*, lines that may quote text from outside, made harmless."""
    return escaped_controls(text, keep="\n")


def json_line(value: Any) -> bytes:
    r"""Return *value* as one line of JSON that a terminal shows and programs read as ever.

    >>> json_line({"brand": "Acme\u202e"})
    b'{"brand":"Acme\\u202e"}\n'
    """
    return _escaped(msgspec.json.encode(value, enc_hook=os.fspath)).encode() + b"\n"


def json_text(value: Any) -> str:
    """Return *value* as indented JSON, safe on a terminal as `json_line` is."""
    return _escaped(msgspec.json.format(msgspec.json.encode(value), indent=2))


def _escaped(json: bytes) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.decode())


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

    def on_broken_pipe(self) -> NoReturn:
        """Raise that the reader has gone, as any other output does (`cs.cli.errors.end`)."""
        raise  # noqa: PLE0704  rich calls this where it handles one


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


def csv_cell(value: Any) -> str:
    """Return *value* of a row as a cell of CSV; lists are separated by spaces."""
    plain = msgspec.to_builtins(value)
    match plain:
        case None:
            return ""
        case bool():
            return str(plain).lower()
        case list() | tuple():
            return " ".join(plain)
        case _:
            return str(plain)


def as_csv(table: Iterable[Sequence[str]]) -> bytes:
    """Return *table* as CSV: no cell is a formula to a spreadsheet, or two, or obeyed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([cell(text) for text in row] for row in table)
    return text.getvalue().encode()


class Table(msgspec.Struct, frozen=True):
    """Rows of text under the names of *columns*.

    Columns in *folds* are wrapped between words to fit the terminal.  A number, an id and a
    word are never cut.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Text]]
    folds: Sequence[str] = ()

    @classmethod
    def of(cls, rows: Iterable[Any], fields: str, folds: str = "") -> "Table":
        """Return a table of the named *fields* of *rows*, which are structs or mappings.

        >>> Table.of([{"key": "a", "issued_by": None}], "key issued_by")
        Table(columns=['Key', 'Issued by'], rows=[['a', '-']], folds=[])
        """
        plain = [row if isinstance(row, Mapping) else asdict(row) for row in rows]
        cells = [[as_text(row.get(name)) for name in fields.split()] for row in plain]
        return cls(_titles(fields), cells, _titles(folds))


def _titles(fields: str) -> Sequence[str]:
    return [name.replace("_", " ").capitalize() for name in fields.split()]


def as_text(value: Any) -> str:
    """Return *value* of a row or setting as people read it."""
    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key}={as_text(inner)}" for key, inner in sorted(value.items()))
        case list() | tuple():
            return ", ".join(map(as_text, value)) or "-"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        case Enum():
            return str(value.value)
        case _:
            return str(value)


def sections_text(sections: "Iterable[Section]") -> Iterator[str | Text | Table]:
    """Yield *sections*, each under its heading; a fact without a value is left out."""
    for section in sections:
        yield from ("", styled("[bold]{}[/]", section.heading))
        if section.about:
            yield section.about
        yield from facts(section.facts)
        if section.rows:
            rows = [[str(cell) for cell in row] for row in section.rows]
            yield Table(section.columns, rows, section.words)


def facts(values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yield a line for each name and value; what is empty or not known is left out."""
    if isinstance(values, Mapping):
        values = [(name.replace("_", " "), value) for name, value in values.items()]
    named = [(name, as_text(value)) for name, value in values if value not in _NOTHING]
    width = max((len(name) for name, _ in named), default=0)
    yield from (f"{name:<{width}}  {harmless(value)}" for name, value in named)


def print_parts(parts: Iterable[str | Text | Table]) -> None:
    for part in parts:
        if isinstance(part, Table):
            _print_table(part)
        else:
            console.print(part)


def _print_table(table: Table) -> None:
    """Print *table*, as wide as the terminal; it is wider where words would have to be cut."""
    shown = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    rows = [
        [c if isinstance(c, Text) else Text(harmless(c)) for c in row] for row in table.rows
    ]
    width = 0
    for n, name in enumerate(table.columns):
        cells = [name, *(row[n].plain for row in rows)]
        folds = name in table.folds
        least = max(map(cell_len, " ".join(cells).split() if folds else cells))
        shown.add_column(name, no_wrap=not folds, min_width=least)
        width += least + _GAP
    for row in rows:
        shown.add_row(*row)
    shown.width = width if width > console.width else None
    for line in Segment.split_lines(console.render(shown)):
        text = Text.assemble(*((part.text, part.style or "") for part in line))
        text.rstrip()
        console.print(text)


def warn(message: str) -> None:
    errors.print(styled("[bold red]cs:[/] {}", message))


def stop(message: str, code: int = 1) -> NoReturn:
    """Print *message*, the problem and what to do, and end the command."""
    warn(message)
    raise SystemExit(code)


def write_new(file: Path, content: bytes) -> None:
    """Write *content* into *file*, mode 0600.

    Raises:
        SystemExit: It is there already, or cannot be written.
    """
    try:
        with open_private(file, "xb") as opened:
            opened.write(content)
    except FileExistsError:
        stop(f"{file} is there already: name another file", 2)
    except OSError as error:
        stop(f"{file} cannot be written: {error.strerror}")


#: A pause from which on it is shown.
SHOWN_S = 2.0
#: How often a line is printed where there is no terminal; a pause as long is printed.
LINE_EVERY_S = 10.0


class Progress(AbstractContextManager["Progress"]):
    """Use as ``with``; the line is gone afterwards."""

    def __init__(self) -> None:
        self._printed_at = time.monotonic()
        self._text = "calling"
        self._line = Status(self._text, console=errors)

    def __enter__(self) -> Self:
        if errors.is_terminal:
            self._line.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._line.stop()

    def show(self, text: str) -> None:
        """Show *text* from now on."""
        self._text = " ".join(harmless(text).split())
        self._print(self._text)

    def sleep(self, seconds: float) -> None:
        """Sleep for *seconds*, and show a longer pause."""
        if seconds >= SHOWN_S:
            self._print(f"{self._text}, next call in {in_words(seconds)}")
        time.sleep(seconds)
        self._line.update(Text(self._text))

    def _print(self, text: str) -> None:
        self._line.update(Text(text))
        now = time.monotonic()
        if not errors.is_terminal and now - self._printed_at >= LINE_EVERY_S:
            self._printed_at = now
            errors.print(text)


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what shows how far the log was read for *what*."""
    with Progress() as progress:
        yield lambda position, upto: progress.show(
            f"{what}: {position} of {upto} positions read"
        )
