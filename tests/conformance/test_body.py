"""The body of POST /contacts: what is taken, what is refused, and how it is echoed."""

import gzip
import json
from typing import Any

import pytest

from conformance.answers import is_refused
from conformance.rows import row
from conformance.target import Caller, Target, new_brand

pytestmark = pytest.mark.slow


def echoed(caller: Caller, **body: Any) -> str:
    """Return the brand of the record that *body* makes."""
    answer = caller.ask(**body)
    assert answer.status_code in {200, 202}, answer.text
    brand: str = answer.json()["brand"]
    return brand


@row("B1", "8-brand")
@pytest.mark.parametrize("brand", ["ab", "x" * 120, "😀😀", "  ab  ", "e\u0301"])
def test_a_brand_of_two_to_120_code_points_is_taken(caller: Caller, brand: str) -> None:
    assert echoed(caller, brand=brand) == brand.strip()


@row("B1", "8-brand")
@pytest.mark.parametrize(
    "brand", ["a", "x" * 121, "😀", " a ", " " * 118 + "abc", "", "  ", "\u00e9"]
)
def test_a_brand_that_is_shorter_or_longer_is_refused(caller: Caller, brand: str) -> None:
    is_refused(caller.ask(brand=brand), "invalid_request")


@row("B2")
@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("Nike\n", "Nike"),
        ("a\u0000b", "a b"),
        ("Old \t\u00a0 Navy", "Old Navy"),
        ("a\u001b[31mb", "a [31mb"),
        ("a\u007fb", "a b"),
        ("NiKe", "NiKe"),
    ],
)
def test_white_space_and_control_characters_become_one_space(
    caller: Caller, sent: str, shown: str
) -> None:
    assert echoed(caller, brand=sent) == shown


@row("B2")
def test_a_brand_of_control_characters_alone_is_refused(caller: Caller) -> None:
    is_refused(caller.ask(brand="\u0000\u0000"), "invalid_request")


@row("B3")
@pytest.mark.parametrize("brand", ["!!", "\u200b\u200b", "🍕🍕", "--"])
def test_punctuation_is_a_brand_that_nobody_finds(caller: Caller, brand: str) -> None:
    assert caller.found(brand=brand)["reason"] == "no_linkedin"


@row("B4", "R7")
def test_one_domain_with_two_brands_is_two_searches(fresh: Target) -> None:
    caller = fresh.caller()
    first = caller.found(brand="Petalune", domain="aurivel.example")
    other = caller.found(brand=new_brand(), domain="aurivel.example")
    again = caller.found(brand="Petalune", domain="aurivel.example")

    assert (first["cached"], other["cached"], again["cached"]) == (False, False, True)


@row("B5", "1.1")
def test_a_domain_may_be_a_whole_url(caller: Caller) -> None:
    assert (
        echoed(caller, domain=" HTTPS://WWW.Veltrana.Test:443/shop?a=b#c ") == "veltrana.test"
    )


@row("B6")
@pytest.mark.parametrize("domain", ["user:pw@nike.com", "user@nike.com", "https://a@nike.com/"])
def test_a_domain_with_a_user_name_is_refused(caller: Caller, domain: str) -> None:
    message = is_refused(caller.ask(domain=domain), "invalid_request")

    assert "user name" in message


@row("B7")
@pytest.mark.parametrize(
    "domain",
    ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "nike", "localhost", "a.localhost"]
    + [f"shop.{name}" for name in ("local", "internal", "invalid", "arpa", "onion")],
)
def test_what_is_no_name_of_a_web_site_is_refused(caller: Caller, domain: str) -> None:
    is_refused(caller.ask(domain=domain), "invalid_request")


@row("B7")
def test_names_for_documents_and_tests_are_domains(caller: Caller) -> None:
    assert echoed(caller, domain="acme.example") == "acme.example"
    assert echoed(caller, domain="acme.test") == "acme.test"


@row("B8")
def test_a_public_suffix_is_accepted(caller: Caller) -> None:
    assert caller.found(domain="co.uk")["reason"] == "no_linkedin"


@row("B9", "R7")
def test_a_subdomain_is_another_brand_and_www_is_not(fresh: Target) -> None:
    caller = fresh.caller()
    caller.found(domain="nowhere-known.test")

    assert caller.found(domain="www.nowhere-known.test")["cached"] is True
    assert caller.found(domain="shop.nowhere-known.test")["cached"] is False


@row("B10")
@pytest.mark.parametrize(
    "body",
    [
        {"brand": "", "domain": "x.com"},
        {"brand": None, "domain": "x.com"},
        {"brand": "Nike", "domain": None},
        {"brand": "Nike", "domain": ""},
        {"brand": 12},
        {"brand": ["Nike"]},
    ],
)
def test_what_is_sent_must_be_right_beside_another_that_is(
    caller: Caller, body: dict[str, Any]
) -> None:
    is_refused(caller.ask(**body), "invalid_request")


@row("1.1", "4.1")
def test_a_body_with_neither_brand_nor_domain_is_refused(caller: Caller) -> None:
    is_refused(caller.ask(), "invalid_request")
    is_refused(caller.ask(wait=True), "invalid_request")


@row("1.1", "2.1-brand", "S10")
def test_a_brand_a_domain_or_both_may_be_sent(caller: Caller) -> None:
    for body in (
        {"brand": "Veltrana"},
        {"domain": "veltrana.test"},
        {"brand": "Veltrana", "domain": "veltrana.test"},
    ):
        record = caller.found(**body)
        assert record["domain"] == "veltrana.test"
        assert record["brand"] == body.get("brand", "veltrana.test")


@row("B11")
def test_unknown_fields_are_ignored(caller: Caller) -> None:
    brand = new_brand()

    assert echoed(caller, brand=brand, x=1, Brand=None, limit={"a": []}) == brand


@row("B12")
@pytest.mark.parametrize("wait", ["true", 1, 0, None, "", []])
def test_wait_is_a_boolean(caller: Caller, wait: Any) -> None:
    is_refused(caller.ask(brand="Nike", wait=wait), "invalid_request")


NOT_A_JSON_OBJECT = {
    "array": b'["Nike"]',
    "string": b'"Nike"',
    "number": b"1",
    "null": b"null",
    "nothing": b"",
    "space": b"  ",
    "cut off": b'{"brand": "Nike"',
    "trailing": b'{"brand": "Nike"} x',
    "two": b'{"brand": "Nike"}{"brand": "Nike"}',
    "NaN": b'{"brand": "Nike", "x": NaN}',
    "single quotes": b"{'brand': 'Nike'}",
    "BOM": b'\xef\xbb\xbf{"brand": "Nike"}',
    "UTF-16": '{"brand": "Nike"}'.encode("utf-16"),
    "bad UTF-8": b'{"brand": "Ni\xffke"}',
    "bad UTF-8 in an ignored field": b'{"brand": "Nike", "x": "\xff"}',
    "lone surrogate": rb'{"brand": "Ni\ud800ke"}',
    "lone surrogate in an ignored field": rb'{"brand": "Nike", "x": "\ud800"}',
    "form": b"brand=Nike",
    "nested": b'{"brand": "Nike", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
}


@row("B13")
@pytest.mark.parametrize("what", NOT_A_JSON_OBJECT)
def test_what_is_no_json_object_is_refused(caller: Caller, what: str) -> None:
    message = is_refused(caller.send(NOT_A_JSON_OBJECT[what]), "invalid_request")

    assert (what == "nested") == ("nested too deeply" in message)


@row("B14")
def test_of_two_fields_with_one_name_the_last_counts(caller: Caller) -> None:
    brand = new_brand()
    answer = caller.send(b'{"brand": "ab", "brand": ' + json.dumps(brand).encode() + b"}")

    assert answer.json()["brand"] == brand


@row("B15", "4.1")
@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
    ],
)
def test_the_media_type_of_json_is_taken(caller: Caller, media_type: str) -> None:
    assert caller.send(b'{"brand": "Nike"}', media_type).status_code in {200, 202}


@row("B15", "4.1")
@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "",
        "text/json",
        "application/x-www-form-urlencoded",
        "application/problem+json",
        "application/json; charset=latin-1",
    ],
)
def test_any_other_media_type_is_refused(caller: Caller, media_type: str | None) -> None:
    message = is_refused(caller.send(b'{"brand": "Nike"}', media_type), "invalid_request")

    assert "charset" in message or "Content-Type: application/json" in message


@row("B16")
def test_a_body_of_16_kib_is_taken_and_a_longer_one_is_not(caller: Caller) -> None:
    def body(length: int) -> bytes:
        head = b'{"brand": "Nike", "x": "'
        return head + b"x" * (length - len(head) - 2) + b'"}'

    assert caller.send(body(16 * 1024)).status_code in {200, 202}
    is_refused(caller.send(body(16 * 1024 + 1)), "invalid_request")
    is_refused(caller.send(body(17 * 1024)), "invalid_request")


@row("B16")
def test_a_long_body_without_its_length_is_refused(caller: Caller) -> None:
    answer = caller.http.post(
        "/contacts",
        content=(b" " * 1024 for _ in range(17)),
        headers={"Content-Type": "application/json"},
    )

    is_refused(answer, "invalid_request")


@row("B16")
def test_a_compressed_body_is_refused(caller: Caller) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    packed = gzip.compress(b'{"brand": "Nike"}')

    is_refused(
        caller.http.post("/contacts", content=packed, headers=headers), "invalid_request"
    )


@row("B17")
@pytest.mark.parametrize("wanted", ["text/html", "application/xml", "*/*;q=0", ""])
def test_accept_is_ignored(caller: Caller, wanted: str) -> None:
    answer = caller.http.get("/usage", headers={"Accept": wanted})

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"


@row("B18")
@pytest.mark.parametrize(
    "brand",
    ["jane@acme.com", "Acme jane@acme.com", "<jane@acme.co.uk>", "jane＠acme．com", "a@b.co\n"],
)
def test_an_email_address_is_no_brand(caller: Caller, brand: str) -> None:
    bodies: list[dict[str, Any]] = [
        {"brand": brand},
        {"brand": brand, "domain": "acme.example"},
    ]
    for body in bodies:
        message = is_refused(caller.ask(**body), "invalid_request")

        assert message == "`brand` must be a name, not an e-mail address"


@row("B18")
@pytest.mark.parametrize("brand", ["@nike", "A@B", "Rock @ Roll"])
def test_a_name_with_an_at_sign_is_a_brand(caller: Caller, brand: str) -> None:
    assert echoed(caller, brand=brand) == brand


@row("B19")
@pytest.mark.parametrize("domain", ["xn--a.test", "www.XN--A.test", "acme.xn--0"])
def test_a_label_that_stands_for_no_name_is_refused(caller: Caller, domain: str) -> None:
    bodies: list[dict[str, Any]] = [
        {"domain": domain},
        {"brand": "Acme", "domain": f"https://{domain}/x"},
    ]
    for body in bodies:
        message = is_refused(caller.ask(**body), "invalid_request")

        assert "xn--" in message


@row("B19")
@pytest.mark.parametrize("domain", ["xn--bcher-kva.example", "acme.xn--p1ai"])
def test_a_label_that_stands_for_a_name_is_taken(caller: Caller, domain: str) -> None:
    assert echoed(caller, domain=domain) == domain
