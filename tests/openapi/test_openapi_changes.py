"""Within ``/v1`` the API only grows, and what would break is found by its name."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.openapi_document import DOCUMENT
from openapi.openapi_changes import broken

#: The document as it was released; a new release adds its own, `-v1.1`, and keeps this one.
RELEASED = sorted((Path(__file__).parent / "golden").glob("openapi-v1*.json"))

Document = dict[str, Any]
Change = Callable[[Document], object]


def breakages(change: Change) -> list[str]:
    """Return what the differ finds *change* to break in the document of this version."""
    new = copy.deepcopy(DOCUMENT)
    change(new)
    return [str(each) for each in broken(DOCUMENT, new)]


def schema(document: Document, name: str) -> Document:
    found: Document = document["components"]["schemas"][name]
    return found


def field(document: Document, name: str, field: str) -> Document:
    found: Document = schema(document, name)["properties"][field]
    return found


def operation(document: Document, method: str, path: str) -> Document:
    found: Document = document["paths"][path][method]
    return found


def answer(document: Document, method: str, path: str, status: str) -> Document:
    found: Document = operation(document, method, path)["responses"][status]
    return found


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: str(path.stem))
def test_nothing_that_was_released_is_broken(released: Path) -> None:
    assert broken(json.loads(released.read_bytes()), DOCUMENT) == []


def test_there_is_a_release_to_compare_with() -> None:
    assert RELEASED


BREAKING: dict[str, Change] = {
    "servers: /v1 is gone": lambda d: d["servers"][0].update(url="/v2"),
    "GET /usage: the operation is gone": lambda d: d["paths"].pop("/usage"),
    "getUsage: is called usage now": lambda d: operation(d, "get", "/usage").update(
        operationId="usage"
    ),
    "getUsage: asks for another key": lambda d: d.update(security=[]),
    "findContacts header Idempotency-Key: the parameter is gone": lambda d: operation(
        d, "post", "/contacts"
    ).pop("parameters"),
    "findContacts header Idempotency-Key: is narrower: maxLength 64": lambda d: d["components"][
        "parameters"
    ]["IdempotencyKey"]["schema"].update(maxLength=64),
    "getUsage query since: the parameter is required now": lambda d: operation(
        d, "get", "/usage"
    ).update(
        parameters=[{"name": "since", "in": "query", "required": True, "schema": {}}],
    ),
    "findContacts body.brand: is narrower: maxLength 60": lambda d: field(
        d, "ContactsRequest", "brand"
    ).update(maxLength=60),
    "findContacts body.domain: the field is required now": lambda d: schema(
        d, "ContactsRequest"
    ).update(required=["domain"]),
    "findContacts 202: is no answer any more": lambda d: operation(d, "post", "/contacts")[
        "responses"
    ].pop("202"),
    "getUsage 409: is an answer that callers do not know": lambda d: operation(
        d, "get", "/usage"
    )["responses"].update({"409": {"$ref": "#/components/responses/NotFound"}}),
    "findContacts 202 Location: the header is gone": lambda d: answer(
        d, "post", "/contacts", "202"
    )["headers"].pop("Location"),
    "findContacts 429 Retry-After: the header may be missing now": lambda d: d["components"][
        "headers"
    ]["Retry-After"].update(required=False),
    "getUsage 200.remaining: the field is gone": lambda d: schema(d, "Usage")["properties"].pop(
        "remaining"
    ),
    "getSearch 200: the tag done is gone": lambda d: schema(d, "Search")["oneOf"].pop(1),
    "getSearch 200[done].domain: may be integer now": lambda d: field(
        d, "SearchDone", "domain"
    ).update(type=["string", "null", "integer"]),
    "findContacts 200[failed].reason: may be no_luck now": lambda d: schema(d, "Reason")[
        "enum"
    ].append("no_luck"),
}


@pytest.mark.parametrize("named", BREAKING)
def test_what_breaks_is_found_by_its_name(named: str) -> None:
    assert named in breakages(BREAKING[named])


GROWING: dict[str, Change] = {
    "a field of an answer": lambda d: schema(d, "Usage").update(
        properties=schema(d, "Usage")["properties"] | {"since": {"type": "string"}}
    ),
    "a field that may be sent": lambda d: schema(d, "ContactsRequest")["properties"].update(
        country={"type": "string"}
    ),
    "a longer brand": lambda d: field(d, "ContactsRequest", "brand").update(maxLength=200),
    "an operation": lambda d: d["paths"].update(
        {"/brands": {"get": {"operationId": "getBrands", "responses": {}}}}
    ),
    "a parameter that may be left out": lambda d: operation(d, "get", "/usage").update(
        parameters=[{"name": "since", "in": "query", "schema": {}}]
    ),
    "another description": lambda d: schema(d, "Usage").update(description="Told anew."),
}


@pytest.mark.parametrize("growing", GROWING)
def test_what_is_added_breaks_nothing(growing: str) -> None:
    assert breakages(GROWING[growing]) == []
