"""A search as rows of a table for spreadsheets: one row a person."""

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from cs.client import Contact, Running, Search

_SEARCH = ("id", "status", "reason", "cached", "charged", "searched_at")
_BRAND = ("domain", "linkedin_company_url", "parent_company", "instagram", "tiktok")
_PERSON = Contact.__struct_fields__
#: Matched fields are told apart from what was asked.
COLUMNS = ("brand", *_SEARCH, *(f"brand_{field}" for field in _BRAND), *_PERSON)
#: A cell that begins so is a formula to a spreadsheet, full-width forms included.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def print_csv(search: Search) -> None:
    """Print *search* on standard output."""
    sys.stdout.buffer.write(as_csv([COLUMNS, *rows(search)]))
    sys.stdout.buffer.flush()


def rows(search: Search) -> list[list[str]]:
    """Return a row for each contact; one without a person if there are none."""
    told = msgspec.to_builtins(search)
    told["status"] = search.status
    ahead = [_cell(told.get(field)) for field in ("brand", *_SEARCH, *_BRAND)]
    people = () if isinstance(search, Running) else search.contacts
    found = [[_cell(getattr(person, field)) for field in _PERSON] for person in people]
    return [[*ahead, *cells] for cells in found or [[""] * len(_PERSON)]]


def as_csv(table: Iterable[Sequence[str]]) -> bytes:
    """Return *table* as CSV, no cell of which a spreadsheet takes for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([harmless(cell) for cell in row] for row in table)
    return text.getvalue().encode()


def harmless(cell: str) -> str:
    """Return *cell* as text: what would be a formula gets an apostrophe in front.

    >>> harmless("=1+1"), harmless(" @x"), harmless("Acme - Co")
    ("'=1+1", "' @x", 'Acme - Co')
    """
    begins = cell.startswith(_FORMULA) or cell.lstrip().startswith(_FORMULA)
    return f"'{cell}" if begins else cell


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)
