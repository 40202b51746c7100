"""Write `docs/export-tables.md`: the tables and figures of an export.

``python dev/table_reference.py`` writes the page.  With ``--check`` it writes nothing, and
exits with 1 if the page is not what would be written.
"""

import sys
from pathlib import Path

from cs.history.report import FIGURES
from cs.history.tables import TABLES, Column

PAGE = Path(__file__).resolve().parent.parent / "docs" / "export-tables.md"
HEAD = """# Tables of an export

`cs events export --out history.duckdb` writes these tables; with `--format tables`, a folder of
Parquet files ([how to use them](analysts.md#in-your-own-tools)).  This page is generated
(`python dev/table_reference.py`).  For the type and meaning of every column ask the export:

```sql
SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = 'searches';
```

Times are UTC, without a zone in their type.  `position` is the place in the log of the event
that a row began with: `cs events show` shows it.  Columns in *italics* are about a person, and
empty unless people are revealed (`--reveal`).

## Tables

| Table | A row is | Columns |
| --- | --- | --- |
""".replace("  ", " ")
FIGURES_HEAD = """
## Figures

Each figure of `cs report` is a view of an export, of the period that was exported.  Its query
is a file in `src/cs/history/report`; copy it and change it.

| View | Title | How it counts |
| --- | --- | --- |
""".replace("  ", " ")


def page() -> str:
    """Return the page."""
    tables = [
        f"| `{name}` | {table.about} | {', '.join(map(_column, table.columns))} |"
        for name, table in TABLES.items()
    ]
    figures = [f"| `{each.name}` | {each.title} | {each.about} |" for each in FIGURES]
    return HEAD + "\n".join(tables) + "\n" + FIGURES_HEAD + "\n".join(figures) + "\n"


def _column(column: Column) -> str:
    return f"*{column.name}*" if column.personal else f"`{column.name}`"


def main() -> int:
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        print(f"docs/{PAGE.name} is not what is generated: make format")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
