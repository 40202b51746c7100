"""What a benchmark has measured, as tables for people or as JSON for `bench/goals.py`."""

import argparse
import json
from collections.abc import Mapping
from typing import Any


def command(about: str | None) -> argparse.ArgumentParser:
    """Return the parser of a benchmark, with ``--json``."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    return parser


def show(found: Mapping[str, Any], *, as_json: bool) -> None:
    """Print *found*: figures by name, and tables of rows that have the same figures."""
    if as_json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        if isinstance(value, Mapping):
            _print_table(
                {k: v if isinstance(v, Mapping) else {name: v} for k, v in value.items()}
            )
        else:
            print(f"{name}: {value}")


def _print_table(rows: Mapping[str, Mapping[str, Any]]) -> None:
    head = ["", *next(iter(rows.values()), {})]
    lines = [head, *([name, *map(_text, row.values())] for name, row in rows.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *cells in lines:
        shown = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        print("  ".join([name.ljust(widths[0]), *shown]))


def _text(figure: Any) -> str:
    return f"{figure:,}" if isinstance(figure, int | float) else str(figure)
