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


#: Brands that are accepted, and how each is echoed.
ACCEPTED_BRANDS = {
    # B1: two to 120 code points
    **{brand: brand for brand in ("ab", "x" * 120, "😀😀", "e\u0301")},
    "  ab  ": "ab",
    # B2: white space and control characters become one space
    "Nike\n": "Nike",
    "a\u0000b": "a b",
    "Old \t\u00a0 Navy": "Old Navy",
    "a\u001b[31mb": "a [31mb",
    "a\u007fb": "a b",
    "NiKe": "NiKe",
    # B18: an at sign makes no e-mail address
    **{brand: brand for brand in ("@nike", "A@B", "Rock @ Roll")},
}
#: Domains that are accepted, and how each is echoed.
ACCEPTED_DOMAINS = {
    "HTTPS://WWW.Nike.com:443/x?y#z": "nike.com",
    " HTTPS://WWW.Veltrana.Test:443/shop?a=b#c ": "veltrana.test",
    " nike.com\n": "nike.com",
    "nike.com.": "nike.com",
    "nike.com:": "nike.com",
    "münchen.de": "xn--mnchen-3ya.de",
    "MÜNCHEN.de": "xn--mnchen-3ya.de",
    "xn--mnchen-3ya.de": "xn--mnchen-3ya.de",
    "ｎｉｋｅ.com": "nike.com",
    "nike。com": "nike.com",
    "faß.de": "xn--fa-hia.de",
    "XN--BCHER-KVA.example": "xn--bcher-kva.example",
    "www.com": "www.com",
    "oldnavy.gap.com": "oldnavy.gap.com",
    "brand.myshopify.com": "brand.myshopify.com",
    "7-eleven.com": "7-eleven.com",
    **{name: name for name in ("acme.test", "acme.example", "acme.xn--p1ai")},
    "https://nike.com\\@evil.com": "nike.com",
    "ab--cd.com": "ab--cd.com",
}
EMAILS = (
    "jane@acme.com",
    "Acme jane@acme.com",
    "<jane@acme.co.uk>",
    "jane＠acme．com",
    "a@b.co\n",
)
NO_EMAIL = "`brand` must be a name, not an e-mail address"
NOT_BOOLEANS: list[Any] = ["true", 1, 0, None, "", []]
#: Fields that are refused, and a part of the message.
REFUSED_FIELDS: list[tuple[dict[str, Any], str]] = [
    # B1, B2
    *(
        ({"brand": brand}, "")
        for brand in (
            "a",
            "x" * 121,
            "😀",
            " a ",
            " " * 118 + "abc",
            "",
            "  ",
            "\u00e9",
            "\0\0",
        )
    ),
    # B6
    *(
        ({"domain": domain}, "user name")
        for domain in (
            *("user:pw@nike.com", "user@nike.com", "mailto:a@nike.com"),
            *("https://a@nike.com/", "https://evil.com:x@nike.com"),
        )
    ),
    # B7: names that cannot have a web site
    *(
        ({"domain": domain}, "")
        for domain in (
            *("127.0.0.1", "2130706433", "0x7f.1", "1.2.3.4.5", "[::1]", "[::1]:80"),
            *("nike", "localhost", "a.localhost", "☕.com", f"{'a.' * 126}com"),
            *(f"shop.{name}" for name in ("local", "internal", "invalid", "arpa", "onion")),
            *("ftp://nike.com", "http:///x", "http:nike.com", "//nike.com"),
            *("nike..com", "-nike.com", "nike_x.com", "nike com", f"{'a' * 64}.com"),
            *("%6eike.com", "nike.com:99999", "nike.com:0"),
        )
    ),
    # B10: an invalid field next to a valid one
    ({"brand": "", "domain": "x.com"}, ""),
    ({"brand": None, "domain": "x.com"}, ""),
    ({"brand": "Nike", "domain": None}, ""),
    ({"brand": "Nike", "domain": ""}, ""),
    ({"brand": 12}, ""),
    ({"brand": ["Nike"]}, ""),
    # 1.1: neither brand nor domain
    ({}, ""),
    ({"wait": True}, ""),
    # B12: `wait` is a boolean
    *(({"brand": "Nike", "wait": wait}, "") for wait in NOT_BOOLEANS),
    # B18
    *(({"brand": brand}, NO_EMAIL) for brand in EMAILS),
    *(({"brand": brand, "domain": "acme.example"}, NO_EMAIL) for brand in EMAILS),
    # B19: a label of punycode that encodes no name
    *(
        ({"domain": domain}, "xn--")
        for domain in ("xn--a.test", "www.XN--A.test", "acme.xn--0")
    ),
    ({"brand": "Acme", "domain": "https://xn--a.test/x"}, "xn--"),
]


@row("B1", "B2", "B18", "8-brand")
@pytest.mark.parametrize("brand", ACCEPTED_BRANDS)
def test_a_brand_is_accepted_and_normalised(caller: Caller, brand: str) -> None:
    assert echoed(caller, brand=brand) == ACCEPTED_BRANDS[brand]


@row("B1", "B2", "B5", "B6", "B7", "B10", "B12", "B18", "B19", "V2", "1.1", "4.1", "8-brand")
@pytest.mark.parametrize(("body", "message"), REFUSED_FIELDS, ids=str)
def test_an_invalid_field_is_refused(
    caller: Caller, body: dict[str, Any], message: str
) -> None:
    assert message in is_refused(caller.ask(**body), "invalid_request")


@row("B3")
@pytest.mark.parametrize("brand", ["!!", "\u200b\u200b", "🍕🍕", "--"])
def test_a_brand_of_punctuation_is_not_found(caller: Caller, brand: str) -> None:
    assert caller.found(brand=brand)["reason"] == "no_linkedin"


@row("V1", "B5", "B7", "B19", "1.1", "S10")
@pytest.mark.parametrize("domain", ACCEPTED_DOMAINS)
def test_a_domain_is_accepted_and_normalised(caller: Caller, domain: str) -> None:
    assert echoed(caller, domain=domain) == ACCEPTED_DOMAINS[domain]


@row("B4", "R7")
def test_one_domain_with_two_brands_is_two_searches(fresh: Target) -> None:
    caller = fresh.caller()
    first = caller.found(brand="Petalune", domain="aurivel.example")
    other = caller.found(brand=new_brand(), domain="aurivel.example")
    again = caller.found(brand="Petalune", domain="aurivel.example")

    assert (first["cached"], other["cached"], again["cached"]) == (False, False, True)


@row("B8")
def test_a_public_suffix_is_accepted(caller: Caller) -> None:
    assert caller.found(domain="co.uk")["reason"] == "no_linkedin"


@row("B9", "R7")
def test_a_subdomain_is_another_brand_and_www_is_not(fresh: Target) -> None:
    caller = fresh.caller()
    caller.found(domain="nowhere-known.test")

    assert caller.found(domain="www.nowhere-known.test")["cached"] is True
    assert caller.found(domain="shop.nowhere-known.test")["cached"] is False


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
def test_a_body_other_than_a_json_object_is_refused(caller: Caller, what: str) -> None:
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
def test_the_media_type_of_json_is_accepted(caller: Caller, media_type: str) -> None:
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
def test_a_body_of_16_kib_is_accepted_and_a_longer_one_is_not(caller: Caller) -> None:
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
