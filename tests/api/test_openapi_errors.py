"""Every refusal and failure that the service really answers with is described."""

import pytest

from harness.in_process import in_memory
from harness.outside import tools


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
