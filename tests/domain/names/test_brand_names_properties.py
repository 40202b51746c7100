"""What holds for any text: no other error, cleaning twice is cleaning once, one set."""

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


def accepted(raw: str) -> bool:
    try:
        clean_brand(raw)
    except Unacceptable:
        return False
    return True


@given(brands)
@example("\x1c\x1d")
@example("a\u180e")
@example("jo@acme.example")
@example("jo@acme.\texample")
def test_schema_and_server_accept_the_same_brands(raw: str) -> None:
    assert SCHEMA.is_valid(raw) == accepted(raw)


@pytest.mark.parametrize("pattern", [BRAND_PATTERN, EMAIL_PATTERN])
def test_the_pattern_needs_nothing_that_regex_dialects_read_differently(pattern: str) -> None:
    assert json.loads(json.dumps(pattern)) == pattern
    assert pattern.isascii()
    assert not {"\\s", "\\w", "\\p", "\\x", "(?", "\\b"} & {
        pattern[at : at + 2] for at in range(len(pattern))
    }


@given(brands)
def test_a_clean_brand_is_its_own_cleaning(raw: str) -> None:
    if accepted(raw):
        cleaned = clean_brand(raw)

        assert clean_brand(cleaned) == cleaned
        assert cache_name(cleaned) == cache_name(raw)


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


@given(st.text())
@example("ß\u0301")  # casefold leaves s and a mark that NFKC joins
@example("\u0124\u0331")
def test_a_cache_name_is_its_own_cache_name(brand: str) -> None:
    assert cache_name(cache_name(brand)) == cache_name(brand)


@given(*[st.none() | st.text()] * 4)
def test_only_equal_pairs_share_a_cache_key(
    brand: str | None, domain: str | None, brand2: str | None, domain2: str | None
) -> None:
    pair, pair2 = (brand, domain), (brand2, domain2)
    if (None, None) in (pair, pair2):
        return
    named = [(None if b is None else cache_name(b), d) for b, d in (pair, pair2)]

    assert (cache_key(*pair) == cache_key(*pair2)) == (named[0] == named[1])


labels = st.from_regex(r"(xn--)?[a-z0-9_-]{0,12}", fullmatch=True)


@given(st.lists(labels, min_size=1, max_size=3).map(".".join) | st.text(max_size=20))
@example("xn--01a._")
@example("xn--01a.ab--c.example")
def test_a_host_name_can_be_read_by_every_client(host: str) -> None:
    if host.isascii() and is_host_name(host):
        assert httpx.URL(f"http://{host}/").host
        assert len(host) <= 254


@pytest.mark.parametrize(
    "host", ["my_shop.xn--p1ai", "r3---sn-x.xn--p1ai", "ab--cd.xn--bcher-kva.de"]
)
def test_a_name_below_an_encoded_label_may_hold_what_other_names_may(host: str) -> None:
    assert is_host_name(host)
    assert httpx.URL(f"http://{host}/").host


@given(st.text(st.characters(categories=("Ll", "Lo", "Nd")), min_size=1, max_size=20))
def test_what_is_encoded_here_can_be_decoded_here(label: str) -> None:
    try:
        domain = canonical_domain(f"{label}.example")
    except Unacceptable:
        return

    assert is_host_name(domain)
    assert canonical_domain(domain) == domain
