"""What the description shows as messages is what the service answers, each and no other."""

import httpx
import pytest

from api.away import fragile
from api.openapi_document import RESTARTING, any_quota, faults, messages_of
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


def is_described(answers: list[httpx.Response]) -> set[str]:
    """Return the messages of *answers*, each as its call describes it."""
    for answer in answers:
        called = answer.request.url.path.removeprefix("/v1")
        assert faults(answer.request.method.lower(), called, answer) == []
    assert {answer.status_code for answer in answers} == {500}
    return {any_quota(answer.json()["error"]["message"]) for answer in answers}


async def test_every_failure_on_our_side() -> None:
    async with fragile() as service:
        service.log.go("fails")
        away = await service.posted(service.key)
        service.log.come()
        in_doubt = []
        for once in (True, False):
            service.log.go_at_admission("before", "hangs", readable=True)
            in_doubt.append(await service.posted(service.key, once=once))
            service.log.come()
        service.mistake_checks()
        mistaken = await service.call("GET", "/usage")

    anywhere = is_described([away, mistaken]) | {RESTARTING}
    assert anywhere == messages_of("ServerError")
    assert anywhere | is_described(in_doubt) == messages_of("SearchServerError")
