"""DuckDB and pyarrow, which only exports need: the extra ``analytics``."""

from importlib.util import find_spec

#: What is imported, in the order in which it is missed.
NEEDED = ("duckdb", "pyarrow")


class ExtraMissing(Exception):
    """DuckDB or pyarrow is not installed; the message says what to do."""


def check_installed() -> None:
    """Return if all of the extra is installed.

    Raises:
        ExtraMissing: Something of it is not.
    """
    for name in NEEDED:
        try:
            there = find_spec(name) is not None
        except ValueError:  # somebody has put something else in its place
            there = False
        if not there:
            raise ExtraMissing(
                f"Parquet and DuckDB need {name}, which is not installed: "
                "pip install 'contact-search[analytics]'; --format ndjson needs nothing"
            )
