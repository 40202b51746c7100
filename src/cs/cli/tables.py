"""Tables that fit a terminal without cutting a word, a number or an id."""

from collections.abc import Collection, Sequence
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

#: What a column takes besides its text, and a table besides its columns.
_COLUMN, _TABLE = 3, 1


def fitting(
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    *,
    folds: Collection[str],
    width: int,
) -> Table | Group:
    """Return *rows* as a table at most *width* columns wide.

    Cells of the columns *folds* are folded between words.  What does not fit even so is one
    field a line instead: a word longer than *width* is the terminal's to wrap.
    """
    cells = [[column, *(row[n].plain for row in rows)] for n, column in enumerate(columns)]
    widest = [max(map(cell_len, each)) for each in cells]
    least = [
        max((cell_len(word) for cell in each for word in cell.split()), default=0)
        if column in folds
        else full
        for column, each, full in zip(columns, cells, widest, strict=True)
    ]
    room = width - _TABLE - _COLUMN * len(columns)
    if sum(least) > room:
        return _fields(columns, rows, width)
    table = Table()
    for column, size in zip(columns, _narrowed(widest, least, room), strict=True):
        table.add_column(column, width=size, no_wrap=column not in folds)
    for row in rows:
        table.add_row(*row)
    return table


def _narrowed(widest: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return widths of *room* in all, taken from the widest that can be narrower."""
    sizes = list(widest)
    while sum(sizes) > room:
        spare = [n for n, size in enumerate(sizes) if size > least[n]]
        sizes[max(spare, key=sizes.__getitem__)] -= 1
    return sizes


def _fields(columns: Sequence[str], rows: Sequence[Sequence[Text]], width: int) -> Group:
    """Return *rows* as a field a line, with a line between them."""
    label = max(map(len, columns)) + 2
    lines = []
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            room = max(width - label, 20)
            wrapped = wrap(cell.plain, room, break_long_words=False, break_on_hyphens=False)
            for n, part in enumerate(wrapped or [""]):
                head = f"{column if n == 0 else '':<{label}}"
                lines.append(Text(f"{head}{part}".rstrip(), cell.style, no_wrap=True))
        lines.append(Text(""))
    return Group(*lines)
