"""The typed tables of an export, read from `tables.sql`: their columns and how they are made.

The column lists are also the page docs/export-tables.md, which `make format` writes.
"""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

import msgspec

#: A column in `tables.sql`.
_COLUMN = re.compile(r" {4}(\w+) ([A-Z\[\]]+), -- (personal: |until erased: )?(.*)")


class Column(msgspec.Struct, frozen=True):
    """One column.

    Attributes:
        type: As DuckDB has it.
        about: Its meaning.
        personal: Empty unless people are revealed.
        is_erased: Empty once the person of its row is erased.
    """

    name: str
    type: str
    about: str
    personal: bool = False
    is_erased: bool = False


class TypedTable(msgspec.Struct, frozen=True):
    """One typed table.

    Attributes:
        about: The meaning of a row.
        rows: SQL that returns its rows, of those that were gathered.
    """

    name: str
    about: str
    columns: Sequence[Column]
    rows: str

    @property
    def definition(self) -> str:
        """Return SQL of its columns."""
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)

    @property
    def selected(self) -> str:
        """Return SQL that selects its rows in order."""
        columns = ", ".join(f"t.{c.name}::{c.type} AS {c.name}" for c in self.columns)
        has_position = any(column.name == "position" for column in self.columns)
        order = "t.position, t.row_n" if has_position else "t.row_n"
        return f"SELECT {columns} FROM ({self.rows}) t ORDER BY {order}"


def _table(block: str) -> TypedTable:
    before, _, rest = block.partition("CREATE TABLE ")
    name, _, rest = rest.partition(" (\n")
    columns, _, rows = rest.partition("\n);")
    return TypedTable(
        name,
        " ".join(line.removeprefix("-- ") for line in before.splitlines()),
        [
            Column(column, kind, about, mark == "personal: ", bool(mark))
            for column, kind, mark, about in _COLUMN.findall(columns)
        ],
        rows.strip().removesuffix(";") or f"FROM gathered.{name}",
    )


#: In the order of the page that describes them.
TABLES: Mapping[str, TypedTable] = {
    table.name: table
    for block in (files(__package__) / "tables.sql").read_text("utf-8").split("\n\n")[1:]
    for table in [_table(block)]
}
