"""What a typed table is: its name, its columns, and the SQL that makes its rows of facts."""

from collections.abc import Sequence

import msgspec


class Column(msgspec.Struct, frozen=True):
    """One column.

    Attributes:
        type: As DuckDB has it.
        about: What it says, for people.
        personal: Empty unless people are revealed.
    """

    name: str
    type: str
    about: str
    personal: bool = False


class TypedTable(msgspec.Struct, frozen=True):
    """One typed table.

    Attributes:
        about: What a row is, for people.
        made: SQL that selects the columns of facts (`cs.history.export.facts`).
        order: SQL of the order of the rows.
        by_lookup: Those of its facts of which a row takes none but those of one lookup: with
            a portion of the lookups in them, it is made of these.  It needs all of the others.
    """

    name: str
    about: str
    columns: Sequence[Column]
    made: str
    order: str = "position"
    by_lookup: Sequence[str] = ()

    @property
    def selected(self) -> str:
        """Return SQL that selects its rows of facts, in no order."""
        columns = ", ".join(
            f"{column.name}::{column.type} AS {column.name}" for column in self.columns
        )
        return f"SELECT {columns} FROM ({self.made})"

    def ordered(self, rows: str) -> str:
        """Return SQL that selects *rows*, which is SQL too, in their order."""
        return f"SELECT * FROM ({rows}) ORDER BY {self.order}"

    def definition(self, place: str) -> str:
        """Return SQL that makes it in *place*, empty."""
        columns = ", ".join(f"{column.name} {column.type}" for column in self.columns)
        return f"CREATE TABLE {place}{self.name} ({columns})"


def columns(text: str) -> list[Column]:
    """Return the columns in *text*: a line each of name, type and what it says.

    A type with a ``*`` behind it is personal.
    """
    found: list[Column] = []
    for line in text.strip().splitlines():
        name, type_, about = line.split(maxsplit=2)
        found.append(Column(name, type_.rstrip("*"), about, type_.endswith("*")))
    return found
