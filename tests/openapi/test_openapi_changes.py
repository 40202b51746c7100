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
    "POST /contacts: the operation is gone": lambda d: d["paths"]["/contacts"].pop("post"),
    "getUsage: is called usage now": lambda d: operation(d, "get", "/usage").update(
        operationId="usage"
    ),
    "getDescription: asks for another key": lambda d: operation(d, "get", "/openapi.json").pop(
        "security"
    ),
    "getUsage: asks for another key": lambda d: d.update(security=[]),
    "findContacts header Idempotency-Key: the parameter is gone": lambda d: operation(
        d, "post", "/contacts"
    ).pop("parameters"),
    "findContacts header Idempotency-Key: the parameter is required now": lambda d: d[
        "components"
    ]["parameters"]["IdempotencyKey"].update(required=True),
    "findContacts header Idempotency-Key: is narrower: maxLength 64": lambda d: d["components"][
        "parameters"
    ]["IdempotencyKey"]["schema"].update(maxLength=64),
    "getUsage query since: the parameter is required now": lambda d: operation(
        d, "get", "/usage"
    ).update(
        parameters=[{"name": "since", "in": "query", "required": True, "schema": {}}],
    ),
    "findContacts body: is no application/json any more": lambda d: operation(
        d, "post", "/contacts"
    )["requestBody"]["content"].pop("application/json"),
    "findContacts body.brand: is narrower: maxLength 60": lambda d: field(
        d, "ContactsRequest", "brand"
    ).update(maxLength=60),
    "findContacts body.brand: is narrower: minLength 3": lambda d: field(
        d, "ContactsRequest", "brand"
    ).update(minLength=3),
    "findContacts body.brand: is narrower: pattern ^[a-z]+$": lambda d: field(
        d, "ContactsRequest", "brand"
    ).update(pattern="^[a-z]+$"),
    "findContacts body.wait: can no longer be boolean": lambda d: field(
        d, "ContactsRequest", "wait"
    ).update(type="string"),
    "findContacts body.wait: can no longer be any other": lambda d: field(
        d, "ContactsRequest", "wait"
    ).update(enum=[True]),
    "findContacts body.wait: the field is gone": lambda d: schema(d, "ContactsRequest")[
        "properties"
    ].pop("wait"),
    "findContacts body.domain: the field is required now": lambda d: schema(
        d, "ContactsRequest"
    ).update(required=["domain"]),
    "findContacts body: takes no unknown fields any more": lambda d: schema(
        d, "ContactsRequest"
    ).update(additionalProperties=False),
    "findContacts body: is narrower: anyOf [{'required': ['brand']}]": lambda d: schema(
        d, "ContactsRequest"
    ).update(anyOf=[{"required": ["brand"]}]),
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
    "getUsage 200 RateLimit-Limit: may be string now": lambda d: d["components"]["headers"][
        "RateLimit-Limit"
    ]["schema"].update(type="string"),
    "getUsage 200: is no application/json any more": lambda d: answer(
        d, "get", "/usage", "200"
    )["content"].pop("application/json"),
    "getUsage 200.remaining: the field is gone": lambda d: schema(d, "Usage")["properties"].pop(
        "remaining"
    ),
    "getUsage 200.remaining: the field may be missing now": lambda d: schema(d, "Usage")[
        "required"
    ].remove("remaining"),
    "getUsage 200.used: is wider: minimum was 0": lambda d: field(d, "Usage", "used").update(
        minimum=-1
    ),
    "getSearch 200: the tag done is gone": lambda d: schema(d, "Search")["oneOf"].pop(1),
    "getSearch 200: the tag queued is new": lambda d: schema(d, "Search")["oneOf"].append(
        {"type": "object", "properties": {"status": {"const": "queued"}}}
    ),
    "getSearch 200[done].domain: may be integer now": lambda d: field(
        d, "SearchDone", "domain"
    ).update(type=["string", "null", "integer"]),
    "getSearch 200[running].poll_url: may be null now": lambda d: field(
        d, "SearchRunning", "poll_url"
    ).update(type=["string", "null"]),
    "getSearch 200[done].contacts[].location: the field may be missing now": lambda d: field(
        d, "SearchDone", "contacts"
    )["items"]["required"].remove("location"),
    "findContacts 200[failed].contacts[].email: the field is gone": lambda d: schema(
        d, "Contact"
    )["properties"].pop("email"),
    "findContacts 200[failed].reason: may be no_luck now": lambda d: schema(d, "Reason")[
        "enum"
    ].append("no_luck"),
    "getSearch 404.error.code: may be gone now": lambda d: schema(d, "Error")["properties"][
        "error"
    ]["properties"]["code"]["enum"].append("gone"),
    "getSearch 200[done].charged: is wider: const was True": lambda d: field(
        d, "SearchDone", "charged"
    ).pop("const"),
    "findContacts 200[done].searched_at: is wider: format was date-time": lambda d: schema(
        d, "SearchedAt"
    ).pop("format"),
}


@pytest.mark.parametrize("named", BREAKING)
def test_what_breaks_is_found_by_its_name(named: str) -> None:
    assert named in breakages(BREAKING[named])


GROWING: dict[str, Change] = {
    "a field of an answer": lambda d: schema(d, "Usage").update(
        properties=schema(d, "Usage")["properties"] | {"since": {"type": "string"}}
    ),
    "a field of an answer that is always there": lambda d: schema(d, "SearchFailed").update(
        required=[*schema(d, "SearchFailed")["required"], "domain"]
    ),
    "a field that may be sent": lambda d: schema(d, "ContactsRequest")["properties"].update(
        country={"type": "string"}
    ),
    "a longer brand": lambda d: field(d, "ContactsRequest", "brand").update(maxLength=200),
    "a shorter brand": lambda d: field(d, "ContactsRequest", "brand").update(minLength=1),
    "any brand": lambda d: field(d, "ContactsRequest", "brand").pop("pattern"),
    "null that may be sent": lambda d: field(d, "ContactsRequest", "wait").update(
        type=["boolean", "null"]
    ),
    "an answer that says less": lambda d: field(d, "SearchDone", "domain").update(
        type="string"
    ),
    "a reason that is never given": lambda d: schema(d, "Reason")["enum"].remove("timeout"),
    "a header": lambda d: answer(d, "get", "/usage", "200")["headers"].update(
        Warning={"schema": {"type": "string"}}
    ),
    "an operation": lambda d: d["paths"].update(
        {"/brands": {"get": {"operationId": "getBrands", "responses": {}}}}
    ),
    "a parameter that may be left out": lambda d: operation(d, "get", "/usage").update(
        parameters=[{"name": "since", "in": "query", "schema": {}}]
    ),
    "a server": lambda d: d["servers"].append({"url": "https://api.example/v1"}),
    "an example less": lambda d: d["components"]["examples"].pop("cached"),
    "another description": lambda d: schema(d, "Usage").update(description="Told anew."),
}


@pytest.mark.parametrize("growing", GROWING)
def test_what_is_added_breaks_nothing(growing: str) -> None:
    assert breakages(GROWING[growing]) == []
