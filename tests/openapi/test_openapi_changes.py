"""Within ``/v1`` the API only grows: what was released is described as it was.

Paths, fields and schemas may be added.  Any other change of the description, a wider limit or
a new status included, is named here: put it into the released document only once it is certain
that callers of the old one go on working.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.openapi_document import DOCUMENT

#: The document as it was released; a new release adds its own, `-v1.1`, and keeps this one.
RELEASED = sorted((Path(__file__).parent / "golden").glob("openapi-v1*.json"))
#: What may have further members.
GROWING = frozenset({"paths", "properties", "schemas"})
#: What is for people.
WORDS = frozenset({"description", "summary", "title", "example", "examples", "info", "tags"})

Document = dict[str, Any]


def changes(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Yield where *new* differs from *old*, but for words and what is added where it may be."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if old != new:
            yield where
        return
    is_map = where.rpartition("/")[2] in GROWING
    for name in sorted(old.keys() | ({} if is_map else new.keys())):
        if is_map or name not in WORDS:
            yield from changes(old.get(name), new.get(name), f"{where}/{name}")


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: str(path.stem))
def test_what_was_released_is_described_as_it_was(released: Path) -> None:
    assert list(changes(json.loads(released.read_bytes()), DOCUMENT)) == []


def test_a_change_is_named_and_an_addition_is_none() -> None:
    new = copy.deepcopy(DOCUMENT)
    schemas = new["components"]["schemas"]
    new["paths"]["/brands"] = {"get": {"operationId": "getBrands", "responses": {}}}
    schemas["Usage"]["properties"]["since"] = {"type": "string"}
    assert list(changes(DOCUMENT, new)) == []

    new["paths"].pop("/usage")
    schemas["Reason"]["enum"].append("no_luck")
    schemas["ContactsRequest"]["required"] = ["domain"]
    assert list(changes(DOCUMENT, new)) == [
        "/components/schemas/ContactsRequest/required",
        "/components/schemas/Reason/enum",
        "/paths//usage",
    ]
