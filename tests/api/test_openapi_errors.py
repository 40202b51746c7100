"""Every refusal and failure that the service really answers with is described."""

from typing import Any

import httpx
import pytest

from api.openapi_document import DOCUMENT, Json, faults, undescribed
from harness.in_process import in_memory
from harness.outside import tools

LIMIT_HEADERS = {
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "RateLimit-Policy",
    "RateLimit",
}
#: As the description's own text has it: no operation answers so, and each is its own method.
METHOD_NOT_ALLOWED: Json = {
    "headers": {
        "Allow": {"required": True, "schema": {"pattern": "^[A-Z]+(, ?[A-Z]+)*$"}},
        "X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"},
    },
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b"{}"),
        ({}, b""),
        ({}, b"nonsense"),
        ({}, b'{"brand":"\xff"}'),
        ({}, b'{"brand":"a"}'),
        ({}, b'{"brand":1}'),
        ({}, b'{"brand":"Acme","wait":"true"}'),
        ({}, b"[]"),
        ({}, b'{"domain":"127.0.0.1"}'),
        ({}, b"[" * 10_000),
        ({}, b" " * 20_000),
        ({"Content-Type": "text/plain"}, b'{"brand":"Acme"}'),
        ({"Content-Type": "application/json; charset=utf-16"}, b'{"brand":"Acme"}'),
        ({"Content-Encoding": "gzip"}, b'{"brand":"Acme"}'),
        ({"Idempotency-Key": "two words"}, b'{"brand":"Acme"}'),
    ],
)
async def test_a_request_that_is_wrong_is_refused_as_described(
    headers: dict[str, str], body: bytes
) -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        async with service.client(key) as client:
            answer = await client.post(
                "/contacts",
                content=body,
                headers={"Content-Type": "application/json", **headers},
            )

    assert code(answer) == (400, "invalid_request")
    assert faults("post", "/contacts", answer) == []
    assert told_in_our_style(answer.json()["error"]["message"])


@pytest.mark.parametrize(("path", "told"), [("/searches/srch_1", True), ("/nothing", False)])
async def test_limits_are_told_with_a_search_that_is_not_found_and_with_no_other_path(
    path: str, told: bool
) -> None:
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        answer = await client.get(path)

    assert code(answer) == (404, "not_found")
    assert [name for name in LIMIT_HEADERS if (name in answer.headers) != told] == []


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/contacts", {"POST"}),
        ("GET", "/contacts", {"POST"}),
        ("DELETE", "/searches/srch_1", {"GET", "HEAD"}),
        ("POST", "/usage", {"GET", "HEAD"}),
        ("OPTIONS", "/usage", {"GET", "HEAD"}),
        ("POST", "/openapi.json", {"GET", "HEAD"}),
    ],
)
async def test_a_method_that_is_not_taken_is_told_as_described(
    method: str, path: str, allow: set[str]
) -> None:
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        answer = await client.request(method, path)

    assert code(answer) == (405, "invalid_request")
    assert undescribed(METHOD_NOT_ALLOWED, answer) == []
    assert set(answer.headers["Allow"].split(", ")) == allow


def test_every_described_message_is_in_our_style() -> None:
    examples = [
        example["value"]["error"]["message"]
        for response in DOCUMENT["components"]["responses"].values()
        for example in response["content"]
        .get("application/json", {})
        .get("examples", {})
        .values()
    ]

    assert len(examples) > 10
    assert [message for message in examples if not told_in_our_style(message)] == []


def told_in_our_style(message: str) -> bool:
    """One clause or more, ``;`` between them: no capital to begin with and no full stop.

    Names keep their capitals.
    """
    begins = message.startswith("Idempotency-Key") or not message[0].isupper()
    return begins and message[-1] != "." and ". " not in message


def code(answer: httpx.Response) -> tuple[int, Any]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"brand": null}', "`brand` must be a string, not null"),
        (b'{"brand": 7}', "`brand` must be a string, not a number"),
        (b'{"brand": 7.5}', "`brand` must be a string, not a number"),
        (b'{"domain": ["acme.example"]}', "`domain` must be a string, not an array"),
        (b'{"domain": {}}', "`domain` must be a string, not an object"),
        (b'{"brand": "Acme", "wait": "true"}', "`wait` must be true or false, not a string"),
        (b'["Acme"]', "the body must be an object, not an array"),
        (b"null", "the body must be an object, not null"),
        (b'{"brand": ', "the body is not JSON (input data was truncated)"),
        (b"Acme", "the body is not JSON (invalid character (byte 0))"),
    ],
)
async def test_a_value_of_a_wrong_type_is_named_with_types_of_json(
    body: bytes, message: str
) -> None:
    headers = {"Content-Type": "application/json"}
    async with (
        in_memory(tools()) as service,
        service.client(await service.new_key()) as client,
    ):
        answer = await client.post("/contacts", content=body, headers=headers)

    assert answer.status_code == 400
    told = answer.json()["error"]["message"]
    assert told.partition(";")[0] == message
