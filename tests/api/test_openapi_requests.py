"""What the description accepts is what the service accepts (contract R8)."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.away import fragile
from api.openapi_document import DOCUMENT, request_schema

REQUEST = request_schema({"$ref": "#/components/schemas/ContactsRequest"})
IDEMPOTENCY_KEY = request_schema(
    DOCUMENT["components"]["parameters"]["IdempotencyKey"]["schema"]
)

blanks = st.sampled_from("\x00\t\n\x1f \x7f\x85\u00a0\u2003\u2028\u3000")
brands = (
    st.text(max_size=9)
    | st.text(blanks | st.sampled_from("aB\u200b😀"), max_size=6)
    | st.text(st.sampled_from("a 😀"), min_size=117, max_size=123)
    | st.text(st.sampled_from("ab@. /1\uff20\uff0e"), max_size=9)
    | st.sampled_from(["jane@acme.example", "Acme jane@acme.example", "@acme", "A@B"])
)
hosts = st.from_regex(r"(https?://)?(www\.)?[a-zü0-9-]{1,9}(\.[a-zß0-9]{1,5}){0,3}\.?(/x)?")
domains = (
    st.text(max_size=9)
    | hosts
    | st.sampled_from(
        ["HTTPS://WWW.Acme.example:443/x?y#z", "ftp://acme.example", "127.0.0.1", "[::1]", ""]
    )
    | st.sampled_from(["acme.example", "user:pw@acme.example", "acme", "acme.local", "㏂"])
    | st.sampled_from(["xn--a.test", "XN--BCHER-KVA.example", "xn--p1ai", "a.xn--p1ai"])
)
others: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.just([])
)
mostly_objects = st.fixed_dictionaries(
    {},
    optional={
        "brand": brands | others,
        "domain": domains | others,
        "wait": st.booleans() | others | st.sampled_from(["true", "false", ""]),
        "Brand": brands,
        "page": others,
    },
)


@pytest.fixture(scope="module")
def accepted() -> Iterator[Callable[..., bool]]:
    """Tell whether the service would search for a body: its key has no quota."""
    with asyncio.Runner() as runner:
        opened = fragile(quota=0)
        service = runner.run(opened.__aenter__())

        def post(body: bytes, **headers: bytes) -> bool:
            sent = {"Content-Type": b"application/json", **headers}
            answer = runner.run(service.call("POST", "/contacts", content=body, headers=sent))
            assert answer.status_code in {400, 402}, answer.text
            return answer.status_code == 402

        yield post
        runner.run(opened.__aexit__(None, None, None))


@given(mostly_objects | others | st.text(max_size=3))
@example({"brand": "ab", "domain": None})
@example({"domain": "acme.example", "wait": 1})
@example({"domain": "acme.example", "wait": None})
@example({"brand": "\x00\x00"})
@example({"brand": " a b "})
def test_service_and_description_accept_the_same_bodies(
    accepted: Callable[..., bool], body: Any
) -> None:
    assert accepted(json.dumps(body).encode()) == REQUEST.is_valid(body)


@given(brands)
def test_service_and_description_accept_the_same_brands(
    accepted: Callable[..., bool], brand: str
) -> None:
    body = {"brand": brand}

    assert accepted(json.dumps(body).encode()) == REQUEST.is_valid(body)


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\x00"), max_size=260))
@example("")
@example("a" * 255)
@example("a" * 256)
@example("a b")
@example("~!")
def test_service_and_description_accept_the_same_idempotency_keys(
    accepted: Callable[..., bool], key: str
) -> None:
    header = {"Idempotency-Key": key.encode("latin-1")}

    assert accepted(b'{"brand":"Acme"}', **header) == IDEMPOTENCY_KEY.is_valid(key)
