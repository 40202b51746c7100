"""Every refusal and failure that the service really answers with is described."""

from typing import Any

import httpx
import pytest

from api.openapi_document import DOCUMENT
from harness.in_process import in_memory
from harness.outside import tools


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
