"""Contract B1 to B9, B18, B19, V1 and V2: vectors, and what holds for any text."""

import json
from contextlib import suppress

import httpx
import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cs.domain.names.brand_names import (
    BRAND_MAX,
    BRAND_MIN,
    BRAND_PATTERN,
    EMAIL_PATTERN,
    Unacceptable,
    cache_key,
    cache_name,
    canonical_domain,
    clean_brand,
    is_host_name,
)
from harness.every_row import check_every

CLEANED = {
    "  ab  ": "ab",
    "Nike\n": "Nike",
    "a\x00b": "a b",
    "\x1b[31mNike\x7f": "[31mNike",
    "Old\u3000\u00a0Navy": "Old Navy",
}
#: Zero width is no white space (B3); two code points are counted as such.
AS_THEY_ARE = (
    *("ab", "x" * 120, "😀😀", "a b", "!!", "\u200b\u200b", "L'Oréal PARIS", "e\u0301"),
    # An "@" that makes no address.
    *("@nike", "A@B", "Rock @ Roll", "M@C", "@ the Park", "Nike@", "@@", "C@fé", "a@.com"),
    *("Toys @Home.com", "acme.com", "@acme.com", "tiktok.com/@acme.official", "Pl@y.1"),
    *("jane @acme.com", "jane@ acme.com", "jane@acme", "4@5.6", "a@b. co"),
)
OUT_OF_BOUNDS = (
    *("", "a", "😀", " a ", "\x00\x00", "\u0344", "x" * 121, " " * 118 + "abc", "\u2028a\x85"),
    "ab\ud800",
)
ADDRESSES = (
    *("jane@acme.com", "Acme jane@acme.com", "jane@acme.com at Acme", '"jane doe"@acme.com'),
    *("Jane <jane.doe+x@mail.acme.co.uk>", "mailto:JANE@ACME.COM", "jane@acme.рф", "a@b.co"),
    *("jane@münchen.de", "jane@xn--mnchen-3ya.de", "jane＠acme．com", "jane@acme。com"),
    *("jane@acme.com.", "\u200bjane@acme.com\u200b", "hello\tjane@acme.com\n"),
)
DOMAINS = {
    "nike.com": (
        *("HTTPS://WWW.Nike.com:443/x?y#z", " nike.com\n", "nike.com.", "nike.com:"),
        *("nike.com:65535", "nike.com?u=ftp://x@y", "http://nike.com\\@evil.com"),
        *("ｎｉｋｅ.com", "nike。com", "ｗｗｗ.nike.com"),
    ),
    "xn--mnchen-3ya.de": ("münchen.de", "MÜNCHEN.de", "XN--MNCHEN-3YA.de"),
    "xn--fa-hia.de": ("faß.de", "xn--fa-hia.de"),
    "www.com": ("www.com", "www.www.com"),
} | {
    each: (each,)
    for each in (
        *("xn--bcher-kva.example", "shop.acme.xn--p1ai", "ab--cd.com", "oldnavy.gap.com"),
        *("brand.myshopify.com", "7-eleven.com", "acme.test", "co.uk", "a" * 63 + ".com"),
    )
}
NO_DOMAINS = {
    "must not carry a user name": (
        *("user:pw@nike.com", "https://user@nike.com/", "mailto:a@nike.com"),
    ),
    "not an IP address": (
        *("127.0.0.1", "2130706433", "0x7f.1", "1.2.3.0x", "1.2.3.4.5", "[::1]:80"),
        "１２７.0.0.1",
    ),
    "must have a dot": ("nike",),
    "reserved": (
        *("localhost", "http://localhost/", "http://LOCALHOST:8080/x", "local"),
        *("foo.localhost", "printer.local", "4.3.2.in-addr.arpa", "shop.onion"),
    ),
    "web address": ("ftp://nike.com", "a.b://nike.com"),
    "must name a host": ("http:///x", "//nike.com", ""),
    "port": (
        *("http:nike.com", "nike.com:99999", "nike.com:0", "nike.com:" + "9" * 5000),
        "nike.com:８０",
    ),
    "letters, digits and hyphens": (
        *("nike..com", "nike.com..", ".", "-nike.com", "nike-.com", "nike_x.com", "nike com"),
        # The third one maps to "a/c".
        *("%6eike.com", f"{'a' * 64}.com", "℀.com", "xn--acme-.test"),
    ),
    "at most 253": (".".join(["a" * 63] * 4), "ü" * 5000 + ".com"),
    "stands for no name": (
        *("xn--a.test", "XN--A.test", "ｘｎ－－a.test", "www.xn--a.test", "acme.xn--0"),
        # The last one is a heart, which IDNA 2008 has not.
        *("xn--0.com", f"xn--{'9' * 59}.com", "xn--mnchen-3yA1.de", "xn--i-7iq.ws"),
    ),
    "no domain name may have": ("☕.com", "ab\ud800.com"),
}


def test_brand_keeps_case_and_spelling_on_one_line() -> None:
    for raw, cleaned in [*CLEANED.items(), *((each, each) for each in AS_THEY_ARE)]:
        assert clean_brand(raw) == cleaned


def test_brand_out_of_bounds_or_with_an_address_is_refused() -> None:
    for raws, why in (
        (OUT_OF_BOUNDS, r"^brand must"),
        (ADDRESSES, r"^`brand` must be a name, not an e-mail address$"),
    ):
        for raw in raws:
            with pytest.raises(Unacceptable, match=why):
                clean_brand(raw)


def test_domain_as_written_becomes_canonical() -> None:
    rows = [(raw, domain) for domain, raws in DOMAINS.items() for raw in raws]

    assert [canonical_domain(raw) for raw, _ in rows] == [domain for _, domain in rows]


def test_domain_that_is_no_web_site_is_refused_with_advice() -> None:
    def check(row: tuple[str, str]) -> None:
        with pytest.raises(Unacceptable, match=r"^domain (must|has)") as refused:
            canonical_domain(row[0])
        assert row[1] in refused.value.message

    check_every([(raw, why) for why, raws in NO_DOMAINS.items() for raw in raws], check)


def test_spellings_of_one_brand_share_a_cache_key_and_other_questions_do_not() -> None:
    one_brand = [
        *(("NIKE ", "nike"), ("ｎｉｋｅ", "Nike"), ("Strauß", "STRAUSS")),
        ("Old  Navy", "old\u00a0navy"),
    ]
    other = [
        *((("Delta", None), ("Delta", "deltafaucet.com")), (("Şok", None), ("Sok", None))),
        *(((None, "gap.com"), (None, "oldnavy.gap.com")), ((None, "a.b"), ("a.b", None))),
        *((("Toys R Us", None), ("ToysRUs", None)), (('a",null', None), ("a", None))),
    ]

    assert all(cache_key(one, "x.com") == cache_key(two, "x.com") for one, two in one_brand)
    assert all(cache_key(*one) != cache_key(*two) for one, two in other)
    assert cache_key("NIKE ", "nike.com") == '["nike","nike.com"]', "streams are called so"
    with pytest.raises(ValueError, match="a brand or a domain"):
        cache_key(None, None)


# For any text: no other error, cleaning twice is cleaning once, one set.

BLANK = "\x00\t\n\x1c\x1f \x7f\x85\u00a0\u1680\u2003\u2028\u202f\u205f\u3000"
NEARLY_BLANK = "\x80\x86\u180e\u200b\u2060\ufeff"
spaced = st.text(st.sampled_from(BLANK + NEARLY_BLANK + "aB😀"), max_size=8)
around_the_limit = st.text(st.sampled_from("a 😀"), min_size=117, max_size=123)
emails = st.text(st.sampled_from("a@.\uff20\uff0e /1-é\t"), max_size=9)
brands = st.text() | spaced | around_the_limit | emails
hosts = st.text(st.sampled_from("aZ0-._:/@[]\\%wｗ。ßü\u00ad\u200d\u0130xn"), max_size=30)
written = (
    st.text()
    | hosts
    | hosts.map("https://www.".__add__)
    | st.from_regex(r"(www\.){0,3}[a-zü0-9-]{1,9}(\.[a-zß]{2,5}){1,3}\.?", fullmatch=True)
)
SCHEMA = jsonschema.Draft202012Validator(
    {
        "type": "string",
        "minLength": BRAND_MIN,
        "maxLength": BRAND_MAX,
        "pattern": BRAND_PATTERN,
        "not": {"pattern": EMAIL_PATTERN},
    }
)


@given(brands)
@example("\x1c\x1d")
@example("a\u180e")
@example("jo@acme.example")
@example("jo@acme.\texample")
def test_schema_and_server_accept_the_same_brands_and_clean_them_once(raw: str) -> None:
    cleaned = None
    with suppress(Unacceptable):
        cleaned = clean_brand(raw)

    assert SCHEMA.is_valid(raw) == (cleaned is not None)
    if cleaned is not None:
        assert clean_brand(cleaned) == cleaned
        assert cache_name(cleaned) == cache_name(raw)


@pytest.mark.parametrize("pattern", [BRAND_PATTERN, EMAIL_PATTERN])
def test_the_pattern_needs_nothing_that_regex_dialects_read_differently(pattern: str) -> None:
    assert json.loads(json.dumps(pattern)) == pattern
    assert pattern.isascii()
    assert not {"\\s", "\\w", "\\p", "\\x", "(?", "\\b"} & {
        pattern[at : at + 2] for at in range(len(pattern))
    }


@given(st.text(st.characters(exclude_categories=())))
def test_any_string_is_cleaned_or_refused(raw: str) -> None:
    for naming in (clean_brand, canonical_domain):
        with suppress(Unacceptable):
            assert len(naming(raw)) >= BRAND_MIN


@given(written)
@example("www.www.nike.com")
@example("ＷＷＷ.nike.com")
def test_a_canonical_domain_is_its_own_canonical_form(raw: str) -> None:
    try:
        domain = canonical_domain(raw)
    except Unacceptable:
        return

    assert canonical_domain(domain) == domain
    assert canonical_domain(f"https://www.{domain.upper()}:443/path") == domain
    assert domain.isascii()
    assert "." in domain
    assert len(domain) <= 253


@given(*[st.none() | st.text()] * 4)
@example("ß\u0301", None, "\u0124\u0331", None)  # casefold leaves a mark that NFKC joins
def test_only_equal_pairs_share_a_cache_key(
    brand: str | None, domain: str | None, brand2: str | None, domain2: str | None
) -> None:
    pair, pair2 = (brand, domain), (brand2, domain2)
    if (None, None) in (pair, pair2):
        return
    named = [(None if b is None else cache_name(b), d) for b, d in (pair, pair2)]

    assert (cache_key(*pair) == cache_key(*pair2)) == (named[0] == named[1])
    assert all(name is None or cache_name(name) == name for name, _ in named)


labels = st.from_regex(r"(xn--)?[a-z0-9_-]{0,12}", fullmatch=True)


@given(st.lists(labels, min_size=1, max_size=3).map(".".join) | st.text(max_size=20))
@example("xn--01a._")
@example("xn--01a.ab--c.example")
def test_a_host_name_can_be_read_by_every_client(host: str) -> None:
    if host.isascii() and is_host_name(host):
        assert httpx.URL(f"http://{host}/").host
        assert len(host) <= 254
    for below_an_encoded_label in ("my_shop.xn--p1ai", "ab--cd.xn--bcher-kva.de"):
        assert is_host_name(below_an_encoded_label)


@given(st.text(st.characters(categories=("Ll", "Lo", "Nd")), min_size=1, max_size=20))
def test_what_is_encoded_here_can_be_decoded_here(label: str) -> None:
    try:
        domain = canonical_domain(f"{label}.example")
    except Unacceptable:
        return

    assert is_host_name(domain)
    assert canonical_domain(domain) == domain
