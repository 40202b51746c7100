"""HTTP itself: paths, methods, headers, keys."""

import json
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from conformance.answers import STATUS, is_refused
from conformance.obstacles import FREE
from conformance.rows import row
from conformance.target import Caller, Key, Target, new_brand, until

pytestmark = pytest.mark.slow


@pytest.fixture
def bare(target: Target) -> Iterator[httpx.Client]:
    """A client without a key."""
    with target.bare() as client:
        yield client


@row("H1", "O2", "A2")
@pytest.mark.parametrize(
    "path",
    [
        *("/", "/nothing", "/contacts/", "/usage/", "/searches", "/searches/", "/searches/a/b"),
        *(
            "//usage",
            "/searches%2Fa",
            "/Usage",
            "/keys",
            "/metrics",
            "/health",
            "/sandbox/clock",
        ),
    ],
)
def test_an_unknown_path_is_404_with_a_key_and_401_without(
    target: Target, caller: Caller, bare: httpx.Client, path: str
) -> None:
    url = f"{target.root}/v1{path}"
    for method in ("GET", "POST"):
        is_refused(caller.http.request(method, url), "not_found")
        is_refused(bare.request(method, url), "unauthorized")


@row("H2", "O2", "R2")
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/contacts", {"POST"}),
        ("GET", "/contacts", {"POST"}),
        ("DELETE", "/contacts", {"POST"}),
        ("POST", "/usage", {"GET", "HEAD"}),
        ("PATCH", "/searches/srch_x", {"GET", "HEAD"}),
        ("POST", "/openapi.json", {"GET", "HEAD"}),
    ],
)
def test_a_method_that_a_path_does_not_have_is_405_with_those_that_it_has(
    caller: Caller, method: str, path: str, allowed: set[str]
) -> None:
    answer = caller.http.request(method, path)

    is_refused(answer, "invalid_request", 405)
    assert {word.strip() for word in answer.headers["Allow"].split(",")} == allowed


@row("H3")
def test_head_is_get_without_a_body_and_options_is_405(caller: Caller) -> None:
    search = caller.ask(brand=FREE, wait=True).json()["id"]
    for path in ("/usage", f"/searches/{search}", "/openapi.json"):
        head, got = caller.http.head(path), caller.http.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["Content-Length"] == got.headers["Content-Length"]
        assert caller.http.options(path).status_code == 405
    assert caller.http.options("/contacts").status_code == 405


@row("H4")
def test_pages_of_other_origins_may_read_the_description_only(caller: Caller) -> None:
    origin = {"Origin": "https://pages.example"}
    allow = "Access-Control-Allow-Origin"
    keyed = [
        caller.http.get("/usage", headers=origin),
        caller.ask(origin, brand=FREE),
        caller.http.get("/searches/srch_x", headers=origin),
    ]

    assert caller.http.get("/openapi.json", headers=origin).headers[allow] == "*"
    assert [answer.headers.get(allow) for answer in keyed] == [None, None, None]


@row("H6", "A1")
def test_every_response_has_an_id_of_its_own_made_here(
    caller: Caller, bare: httpx.Client
) -> None:
    sent = {"X-Request-Id": "req_mine"}
    answers = [
        caller.http.get("/usage", headers=sent),
        caller.ask(sent, brand=FREE),
        caller.ask(sent, brand="a"),
        caller.http.get("/nothing", headers=sent),
        caller.http.put("/contacts", headers=sent),
        bare.get("/usage", headers=sent),
        bare.get("/openapi.json", headers=sent),
    ]
    ids = [answer.headers["X-Request-Id"] for answer in answers]

    assert all(re.fullmatch(r"req_\w{8,}", name) for name in ids)
    assert "req_mine" not in ids
    assert len(set(ids)) == len(ids)


@row("H7")
def test_only_the_description_may_be_cached(caller: Caller, bare: httpx.Client) -> None:
    for answer in (caller.http.get("/usage"), caller.ask(brand=FREE), bare.get("/usage")):
        assert answer.headers["Cache-Control"] == "no-store"
    described = bare.get("/openapi.json")
    again = bare.get("/openapi.json", headers={"If-None-Match": described.headers["ETag"]})

    assert described.headers["Cache-Control"] == "public, max-age=300"
    assert (again.status_code, again.content) == (304, b"")


@row("H8")
def test_responses_forbid_sniffing_and_do_not_name_the_server(
    caller: Caller, bare: httpx.Client
) -> None:
    for answer in (caller.http.get("/usage"), caller.ask(brand="a"), bare.get("/x")):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Server" not in answer.headers


@row("H9", "5.1")
@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER {}", "Bearer   {}"])
def test_bearer_may_have_any_case_and_any_number_of_spaces(
    target: Target, bare: httpx.Client, form: str
) -> None:
    headers = {"Authorization": form.format(target.key().key)}

    assert bare.get("/usage", headers=headers).status_code == 200


@row("H9", "H10", "O1", "5.1", "5.5", "7-codes")
def test_anything_but_one_bearer_key_is_401_with_a_challenge(
    target: Target, bare: httpx.Client
) -> None:
    key = target.key().key
    typo = key[:-1] + ("0" if key[-1] != "0" else "1")
    forms = [
        *(f"Basic {key}", key, "Bearer", f"Bearer {key} x", f"Bearer{key}", "Bearer cs_live_x"),
        *(f"Bearer {typo}", f"Bearer {key.swapcase()}", f"Bearer {key}{key}"),
    ]
    for form in forms:
        answer = bare.get("/usage", headers={"Authorization": form})
        is_refused(answer, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"', form
    two = bare.get("/usage", headers=[("Authorization", f"Bearer {key}")] * 2)
    is_refused(two, "unauthorized")
    in_query = bare.get("/usage", params={"key": key, "access_token": key, "api_key": key})
    is_refused(in_query, "unauthorized")
    assert in_query.headers["WWW-Authenticate"] == "Bearer"


@row("O1", "O2", "5.1")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", "/contacts"), ("GET", "/usage"), ("GET", "/searches/srch_x")),
        *(("PUT", "/contacts"), ("DELETE", "/usage")),
    ],
)
def test_without_a_key_every_path_is_401_whatever_the_method(
    bare: httpx.Client, method: str, path: str
) -> None:
    is_refused(bare.request(method, path), "unauthorized")


@row("O1", "O3", "B16")
def test_a_body_that_is_announced_too_long_is_refused_before_it_arrives(target: Target) -> None:
    for key, received in ((None, b"HTTP/1.1 401"), (target.key(), b"HTTP/1.1 400")):
        with target.socket() as raw:
            raw.sendall(_head_alone(target, key))
            assert raw.recv(100).startswith(received)


def _head_alone(target: Target, key: Key | None) -> bytes:
    """Return the head of a request whose body never comes."""
    headers = {
        "Host": urlsplit(target.root).netloc,
        "Content-Type": "application/json",
        "Content-Length": "20000000",
        **({} if key is None else key.authorization),
    }
    lines = ["POST /v1/contacts HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


@row("H10", "5.2", "5.3")
def test_a_key_is_of_one_form_and_shown_once(target: Target) -> None:
    made = json.loads(target.command(["keys", "create", "--json"]))
    listed = target.command(["keys", "show", made["id"], "--json"])

    assert re.fullmatch(r"cs_live_[0-9A-Za-z]{38}", made["key"])
    assert made["key"] not in listed
    assert made["key"][-4:] in listed


@row("5.6", "H11", "5.5")
def test_a_leaked_key_is_replaced_with_its_quota_and_searches_and_then_revoked(
    target: Target,
) -> None:
    leaked = target.caller()
    search = leaked.found(brand="Veltrana")["id"]
    secret = json.loads(target.command(["keys", "rotate", leaked.key.id, "--json"]))["key"]
    replaced = target.with_key(type(leaked.key)(leaked.key.id, secret, 100))
    until(lambda: leaked.http.get("/usage").status_code == 401)

    assert replaced.read(search)["usage"]["used"] == 1
    target.command(["keys", "revoke", leaked.key.id])
    until(lambda: replaced.http.get("/usage").status_code == 401)
    is_refused(replaced.ask(brand=FREE), "unauthorized")


@row("H15")
def test_bytes_that_are_not_http_are_refused_without_effect_on_other_callers(
    target: Target, caller: Caller
) -> None:
    with target.socket() as raw:
        raw.sendall(b"what is this\r\n\r\n")
        received = raw.recv(100)

    assert received.startswith(b"HTTP/1.1 400")
    assert caller.http.get("/usage").status_code == 200


@row("R2", "7-codes", "2.4")
def test_the_described_codes_are_the_nine_of_the_text(bare: httpx.Client) -> None:
    document = bare.get("/openapi.json").json()
    codes = document["components"]["schemas"]["Error"]["properties"]["error"]["properties"][
        "code"
    ]

    assert set(codes["enum"]) == STATUS.keys()


@row("4.4", "9.2", "9.1", "A2")
def test_the_description_needs_no_key_and_says_its_version(bare: httpx.Client) -> None:
    answer = bare.get("/openapi.json")
    paths = {path.removeprefix("/v1") for path in answer.json()["paths"]}

    assert answer.status_code == 200
    assert answer.json()["info"]["version"] == "1.0.0"
    assert paths == {"/contacts", "/searches/{id}", "/usage", "/openapi.json"}


@row("R1", "A1", "2.4")
def test_an_error_is_one_object_with_code_and_message(caller: Caller) -> None:
    answer = caller.ask(brand="a")

    is_refused(answer, "invalid_request")
    assert answer.headers["Content-Type"] == "application/json"  # no problem+json


@row("R3", "8-free")
def test_a_refused_search_leaves_no_search_and_costs_nothing(target: Target) -> None:
    caller = target.caller(0)
    is_refused(caller.ask(brand=new_brand()), "quota_exhausted")

    assert caller.counted() == 0
    assert caller.usage() == {"quota": 0, "used": 0, "remaining": 0}
