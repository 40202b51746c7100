"""Write `docs/export-tables.md`: every table and figure that `cs events export` makes.

``python dev/table_reference.py`` writes the page.  With ``--check`` it writes nothing, and
exits with 1 if the page is not what would be written.
"""

import sys
from pathlib import Path

from generated_page import write_or_check

from cs.history.report import FIGURES, MACROS, Figure
from cs.history.tables import TABLES, Column, TypedTable

PAGE = Path(__file__).resolve().parent.parent / "docs" / "export-tables.md"
HEAD = (
    "# Tables of an export",
    (
        "What `cs events export --out history.duckdb` makes; with `--format tables`, a folder "
        "of Parquet files. How, and what to do with it, is in "
        "[in your own tools](analysts.md#in-your-own-tools). This page is generated "
        "(`python dev/table_reference.py`); in a DuckDB file `FROM duckdb_columns()` says the "
        "same in the column `comment`."
    ),
    (
        "Times are UTC, without a zone in their type. `position` is the place in the log of "
        "the event that a row began with: `cs events show` shows it. Columns marked *personal* "
        "are empty unless people are revealed (`--reveal`)."
    ),
    "## Tables",
)
FIGURES_HEAD = (
    "## Figures",
    (
        "Each figure of `cs report` is a view of an export, of the period that was exported. "
        "Its query stands in a file of `src/cs/history/report`; copy and change it. "
        "All of them use:"
    ),
)


def page() -> str:
    """Return the page."""
    macros = "".join(f"{macro.strip()};\n" for macro in MACROS)
    figures = map(_figure, FIGURES)
    parts = [*HEAD, *map(_table, TABLES.values()), *FIGURES_HEAD, _sql(macros), *figures]
    return "\n\n".join(parts) + "\n"


def _table(table: TypedTable) -> str:
    rows = [f"| `{c.name}` | {c.type} | {_about(c)} |" for c in table.columns]
    lines = ["| Column | Type | |", "| --- | --- | --- |", *rows]
    return f"### {table.name}\n\n{table.about}\n\n" + "\n".join(lines)


def _about(column: Column) -> str:
    return f"{column.about} (*personal*)" if column.personal else column.about


def _figure(figure: Figure) -> str:
    return f"### {figure.name}\n\n{figure.title}. {figure.about}\n\n{_sql(figure.sql)}"


def _sql(text: str) -> str:
    return f"```sql\n{text.strip()}\n```"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page, __doc__))
