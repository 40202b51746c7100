"""A search as rows of a table for spreadsheets: one row a person."""

from typing import Any

import msgspec

from cs.cli.output import as_csv
from cs.client import Contact, Running, Search

__all__ = ["COLUMNS", "as_csv", "rows"]  # `cs ledger` has its CSV from here, too
_SEARCH = ("id", "status", "reason", "cached", "charged", "searched_at")
_BRAND = ("domain", "linkedin_company_url", "parent_company", "instagram", "tiktok")
_PERSON = Contact.__struct_fields__
#: Matched fields are kept apart from what was asked.
COLUMNS = ("brand", *_SEARCH, *(f"brand_{field}" for field in _BRAND), *_PERSON)


def rows(search: Search) -> list[list[str]]:
    """Return a row for each contact; one without a person if there are none."""
    fields = msgspec.to_builtins(search)
    fields["status"] = search.status
    ahead = [_cell(fields.get(field)) for field in ("brand", *_SEARCH, *_BRAND)]
    people = () if isinstance(search, Running) else search.contacts
    found = [[_cell(getattr(person, field)) for field in _PERSON] for person in people]
    return [[*ahead, *cells] for cells in found or [[""] * len(_PERSON)]]


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)
