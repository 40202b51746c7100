"""A domain as callers write it, and what comes out."""

import pytest

from conformance.answers import is_refused
from conformance.rows import row
from conformance.target import Caller

pytestmark = pytest.mark.slow

TAKEN = {
    "HTTPS://WWW.Nike.com:443/x?y#z": "nike.com",
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
    "acme.test": "acme.test",
    "https://nike.com\\@evil.com": "nike.com",
    "ab--cd.com": "ab--cd.com",
}
REFUSED = [
    *("127.0.0.1", "2130706433", "0x7f.1", "1.2.3.4.5", "[::1]:80"),
    *("nike", "localhost", "foo.localhost"),
    *("user:pw@nike.com", "mailto:a@nike.com", "https://evil.com:x@nike.com"),
    *("ftp://nike.com", "http:///x", "http:nike.com", "//nike.com"),
    *("nike..com", "-nike.com", "nike_x.com", "nike com", f"{'a' * 64}.com"),
    *("%6eike.com", "nike.com:99999", "nike.com:0", "☕.com", "xn--a.test", f"{'a.' * 126}com"),
]


@row("V1", "B5", "S10")
@pytest.mark.parametrize("written", TAKEN)
def test_a_domain_is_normalised(caller: Caller, written: str) -> None:
    answer = caller.ask(domain=written)

    assert answer.status_code in {200, 202}, answer.text
    assert answer.json()["brand"] == TAKEN[written]


@row("V2", "B5")
@pytest.mark.parametrize("written", REFUSED)
def test_an_invalid_domain_is_refused(caller: Caller, written: str) -> None:
    is_refused(caller.ask(domain=written), "invalid_request")
