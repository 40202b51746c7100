"""Every refusal and failure that the service really answers with is described."""

from typing import Any

import httpx
import pytest

from api.failing import NEVER, Unwritable
from api.openapi_document import DOCUMENT, Json, faults, undescribed
from cs.eventlog.errors import LogUnavailable
from harness.in_process import Service, in_memory
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


@pytest.mark.parametrize("authorization", [None, "Bearer cs_live_wrong", "Basic x", "Bearer"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("post", "/contacts"), ("get", "/searches/{id}"), ("get", "/usage")],
)
async def test_without_a_key_every_path_is_refused_as_described(
    method: str, path: str, authorization: str | None
) -> None:
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        del client.headers["Authorization"]
        if authorization is not None:
            client.headers["Authorization"] = authorization
        answer = await client.request(method, path.format(id="srch_1"))

    assert code(answer) == (401, "unauthorized")
    assert faults(method, path, answer) == []
    assert ("invalid_token" in answer.headers["WWW-Authenticate"]) == bool(authorization)


async def test_a_used_up_quota_is_told_as_described() -> None:
    async with in_memory(tools()) as service:
        answer = await service.search(await service.new_key(quota=0), brand="Acme")

    assert code(answer) == (402, "quota_exhausted")
    assert faults("post", "/contacts", answer) == []


@pytest.mark.parametrize("search", ["srch_00000000000000000000000000", "1", "%00", "a b"])
async def test_an_unknown_search_is_told_as_described(search: str) -> None:
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        answer = await client.get(f"/searches/{search}")

    assert code(answer) == (404, "not_found")
    assert faults("get", "/searches/{id}", answer) == []


@pytest.mark.parametrize(("path", "told"), [("/searches/srch_1", True), ("/nothing", False)])
async def test_limits_are_told_with_a_search_that_is_not_found_and_with_no_other_path(
    path: str, told: bool
) -> None:
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        answer = await client.get(path)

    assert code(answer) == (404, "not_found")
    assert [name for name in LIMIT_HEADERS if (name in answer.headers) != told] == []


async def test_a_search_asked_for_again_by_its_idempotency_key_is_a_200_without_wait() -> None:
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        once = {"Idempotency-Key": "once"}
        held = {"brand": "Acme", "wait": True}
        first = await client.post("/contacts", json=held, headers=once)
        again = await client.post("/contacts", json={"brand": "Acme"}, headers=once)

    assert (again.status_code, again.json()["cached"]) == (200, False)
    assert again.json() == first.json()
    assert faults("post", "/contacts", again) == []


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


async def test_the_seventh_search_in_a_minute_is_refused_as_described() -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        answers = [await service.search(key, brand="Acme") for _ in range(7)]

    assert [answer.status_code for answer in answers] == [200] * 6 + [429]
    assert code(answers[6]) == (429, "rate_limited")
    assert faults("post", "/contacts", answers[6]) == []
    assert limit(answers[6]) == ("6", "0")
    assert answers[6].headers["RateLimit-Reset"] == answers[6].headers["Retry-After"]


async def test_a_third_running_search_is_refused_as_described() -> None:
    async with in_memory(NEVER) as service, service.client(await service.new_key()) as client:
        answers = [await client.post("/contacts", json={"brand": b * 2}) for b in "abc"]

    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert code(answers[2]) == (429, "too_many_in_flight")
    assert faults("post", "/contacts", answers[2]) == []
    assert limit(answers[2]) == ("2", "0")


async def test_the_last_unit_of_quota_is_told_as_described() -> None:
    async with in_memory(NEVER) as service, service.client(await service.new_key(1)) as client:
        answers = [await client.post("/contacts", json={"brand": b * 2}) for b in "ab"]

    assert code(answers[1]) == (429, "too_many_in_flight")
    assert faults("post", "/contacts", answers[1]) == []


@pytest.mark.parametrize("path", ["/usage", "/searches/{id}"])
async def test_too_many_checks_are_refused_as_described(path: str) -> None:
    async with in_memory(tools()) as service, service.client(await service.new_key()) as client:
        for _ in range(120):
            await client.get("/usage")
        answer = await client.get(path.format(id="srch_1"))

    assert code(answer) == (429, "rate_limited")
    assert faults("get", path, answer) == []
    assert limit(answer) == ("120", "0")


async def test_a_paused_service_says_so_as_described() -> None:
    async with in_memory(tools()) as service:
        await service.operator.pause()
        answer = await service.search(await service.new_key(), brand="Acme")

    assert code(answer) == (503, "api_disabled")
    assert faults("post", "/contacts", answer) == []
    assert not [name for name in LIMIT_HEADERS if name in answer.headers]


async def test_a_full_service_says_so_as_described() -> None:
    async with in_memory(tools(), ceiling=0) as service:
        answer = await service.search(await service.new_key(), brand="Acme")

    assert code(answer) == (503, "at_capacity")
    assert faults("post", "/contacts", answer) == []
    assert all(name in answer.headers for name in LIMIT_HEADERS)


@pytest.mark.parametrize("error", [LogUnavailable("the disk is full"), RuntimeError("a bug")])
async def test_a_failure_on_our_side_is_told_as_described(error: Exception) -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        streams = service.running.streams
        streams.log = Unwritable(streams.log, error)
        answer = await tolerant(service, key.key).post("/contacts", json={"brand": "Acme"})

    assert code(answer) == (500, "server_error")
    assert faults("post", "/contacts", answer) == []
    assert str(error) not in answer.text


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


def tolerant(service: Service, key: str) -> httpx.AsyncClient:
    """Return a client to whom a bug is an answer, as it is over a socket."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(service.running.app, raise_app_exceptions=False),
        base_url="http://service.test/v1",
        headers={"Authorization": f"Bearer {key}"},
    )


def code(answer: httpx.Response) -> tuple[int, Any]:
    return answer.status_code, answer.json()["error"]["code"]


def limit(answer: httpx.Response) -> tuple[str, str]:
    return answer.headers["RateLimit-Limit"], answer.headers["RateLimit-Remaining"]


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
