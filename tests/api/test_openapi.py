"""The description itself: well formed, whole, and served to everybody."""

import json
import re
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from api.openapi_document import (
    DOCUMENT,
    Json,
    answer_schema,
    examples,
    operation,
    operations,
    request_schema,
    responses,
    undescribed,
)
from cs.domain.admission import LOOKUPS_RETRY_AFTER
from cs.domain.names.brand_names import BRAND_MAX, BRAND_MIN, BRAND_PATTERN, EMAIL_PATTERN
from harness.every_row import check_every
from harness.in_process import in_memory
from harness.on_port import memory_service
from harness.outside import tools

SCHEMAS: Json = DOCUMENT["components"]["schemas"]
#: The page for callers.
PAGE = (Path(__file__).parents[2] / "docs" / "http-api.md").read_text()
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
#: The tables of contract text 4; 500, and 429 on usage, are those of sections 7 and 8; 400
#: for the document is what the web server says of a request that is not even HTTP.
SPEC_STATUSES = {
    ("post", "/contacts"): {200, 202, 400, 401, 402, 429, 500, 503},
    ("get", "/searches/{id}"): {200, 401, 404, 429, 500},
    ("get", "/usage"): {200, 401, 429, 500},
    ("get", "/openapi.json"): {200, 304, 400},
}


def test_every_operation_and_status_of_the_specification_is_described_and_no_other() -> None:
    described = {(method, path): set(responses(each)) for method, path, each in operations()}

    assert described == SPEC_STATUSES


def test_every_error_code_has_an_example_at_its_status_and_nowhere_else() -> None:
    shown = {
        (value["error"]["code"], status)
        for _, _, described in operations()
        for status, response in responses(described).items()
        if status >= 400 and "application/json" in response["content"]
        for value in examples(response["content"]["application/json"])
    }

    codes = SCHEMAS["Error"]["properties"]["error"]["properties"]["code"]["enum"]
    assert sorted(code for code, _ in shown) == sorted(codes)
    in_the_page = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", PAGE, re.MULTILINE)
    of_no_operation = {("invalid_request", 405)}
    assert shown | of_no_operation == {(code, int(status)) for status, code in in_the_page}


def _bodies() -> list[tuple[str, Json, Any]]:
    return [
        (f"{path} {status} {n}", content["schema"], value)
        for _, path, described in operations()
        for status, response in responses(described).items()
        for content in response.get("content", {}).values()
        for n, value in enumerate(examples(content))
    ]


def test_every_example_of_an_answer_is_as_described() -> None:
    def check(body: tuple[str, Json, Any]) -> None:
        _, schema, value = body
        # Of the document itself, only the start is described.
        judge = request_schema if "openapi" in value else answer_schema

        assert [e.message for e in judge(schema).iter_errors(value)] == []

    check_every(_bodies(), check)


def _all_responses() -> list[Json]:
    return [r for _, _, o in operations() for r in responses(o).values()]


def test_every_answer_of_ours_carries_a_request_id() -> None:
    not_ours = DOCUMENT["components"]["responses"]["NotHttp"]

    for response in _all_responses():
        assert ("X-Request-Id" in response.get("headers", {})) == (response != not_ours)


def test_a_brand_is_described_by_the_rule_the_service_follows() -> None:
    brand = SCHEMAS["ContactsRequest"]["properties"]["brand"]

    assert (brand["minLength"], brand["maxLength"]) == (BRAND_MIN, BRAND_MAX)
    assert brand["pattern"] == BRAND_PATTERN
    assert brand["not"]["pattern"] == EMAIL_PATTERN


@pytest.mark.parametrize(
    ("example", "change"),
    [
        ("running", {"reason": "timeout"}),
        ("running", {"contacts": []}),
        ("running", {"retry_after": None}),
        ("running", {"status": "queued"}),
        ("done", {"charged": False}),
        ("done", {"reason": "no_emails"}),
        ("done", {"tiktok": 1}),
        ("done", {"searched_at": "2026-11-21T04:58:55.5Z"}),
        ("no_emails", {"charged": True}),
        ("no_emails", {"reason": None}),
        ("no_emails", {"usage": {"quota": 1, "used": 2, "remaining": -1}}),
    ],
)
def test_a_search_that_says_two_things_is_not_described(example: str, change: Json) -> None:
    search = DOCUMENT["components"]["examples"][example]["value"]
    schema = answer_schema({"$ref": "#/components/schemas/Search"})

    assert schema.is_valid(search)
    assert not schema.is_valid(search | change)


@pytest.mark.parametrize("example", ["running", "done", "no_linkedin"])
def test_a_search_without_one_of_its_fields_is_not_described(example: str) -> None:
    search = DOCUMENT["components"]["examples"][example]["value"]
    schema = answer_schema({"$ref": "#/components/schemas/Search"})

    for name in search:
        less = {other: value for other, value in search.items() if other != name}
        assert not schema.is_valid(less), name


def test_every_field_of_a_contact_is_optional_but_in_a_done_search_present() -> None:
    """Contract text 2.2 has them optional in the schema; contract S3 sends them all."""
    assert "required" not in SCHEMAS["Contact"]
    done = SCHEMAS["SearchDone"]["properties"]["contacts"]["items"]
    assert [*SCHEMAS["Contact"]["properties"]] == [*done["required"], "extras"]


def test_no_description_limits_the_number_of_contacts() -> None:
    assert "maxItems" not in json.dumps(DOCUMENT)


def test_only_the_description_needs_no_key() -> None:
    open_to_all = [
        path for _, path, described in operations() if described.get("security") == []
    ]

    assert open_to_all == ["/openapi.json"]
    assert DOCUMENT["security"] == [{"bearer": []}]
    assert DOCUMENT["servers"][0]["url"] == "/v1"


async def test_the_description_is_served_and_a_named_copy_is_not_sent_again() -> None:
    """RFC 9110 section 13.1.2."""
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        answer = await client.get("/openapi.json")
        etag = answer.headers["ETag"]

        async def again(*named: str) -> httpx.Response:
            headers = httpx.Headers([("If-None-Match", each) for each in named])
            return await client.get("/openapi.json", headers=headers)

        unchanged = [await again(*each) for each in (["*"], ['"other"', f"W/{etag}"])]
        others = [await again(*each) for each in (['"other"', f"x{etag}"], [etag.strip('"')])]

    described = responses(operation("get", "/openapi.json"))
    assert answer.json() == DOCUMENT
    # Of the body only the start is described.
    assert [each for each in undescribed(described[200], answer) if each[0] != "$"] == []
    assert re.fullmatch('"[0-9a-f]{32}"', etag)
    for each in unchanged:
        assert (each.status_code, each.content) == (304, b"")
        assert undescribed(described[304], each) == []
    assert [(each.status_code, each.content) for each in others] == [(200, answer.content)] * 2


def test_a_request_that_is_not_http_is_reported_as_described() -> None:
    described = responses(operation("get", "/openapi.json"))[400]["content"]["text/plain"]
    with memory_service(keys=0) as service:
        url = urlsplit(service.base_url)
        with socket.create_connection((url.hostname, url.port), timeout=10) as connection:
            connection.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\nno header\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(4096), b""))

    head, _, body = answer.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 ")
    assert "content-type: text/plain" in head.lower()
    assert body == described["examples"]["uvicorn"]["value"]


# The page for callers says what the description says.


def test_every_reason_and_every_header_of_keyed_answers_is_named() -> None:
    assert [each for each in SCHEMAS["Reason"]["enum"] if f"| `{each}` |" not in PAGE] == []
    of_the_document = {"Access-Control-Allow-Origin"}
    missing = [name for name in DOCUMENT["components"]["headers"] if f"`{name}" not in PAGE]

    assert set(missing) == of_the_document
    assert "`Idempotency-Key`" in PAGE


@pytest.mark.parametrize("block", BLOCKS)
def test_every_answer_shown_is_as_described(block: Any) -> None:
    name = "Error" if "error" in block else "Search"

    assert answer_schema({"$ref": f"#/components/schemas/{name}"}).is_valid(block)


def test_both_meanings_of_at_capacity_are_reported_by_how_long_to_wait() -> None:
    soon = str(int(LOOKUPS_RETRY_AFTER.total_seconds()))
    (row,) = re.findall(r"^\| 503 \| `at_capacity` .*$", PAGE, re.MULTILINE)
    described = DOCUMENT["components"]["responses"]["Unavailable"]["description"]

    assert f"`Retry-After: {soon}`" in row
    assert f"`Retry-After` is {soon}" in described
    for each in (row, described):
        assert "24 hours" in each
        assert "Branch on `Retry-After`" in each
