"""Pages of strangers: read as a browser would, and at the same price whatever they are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.outside.single_request import MAX_BYTES
from cs.sources.brand.home_page import (
    ATTRIBUTES,
    DATA,
    LINKS,
    ORGANIZATIONS,
    VALUE,
    Tag,
    decode,
    read_home_page,
    tags,
)
from harness.budget import mib_of, seconds_of, within


def read(page: str, *names: str) -> list[Tag]:
    return list(tags(page, frozenset(names or ("a", "title", "meta", "script"))))


@pytest.mark.parametrize(
    ("page", "attributes"),
    [
        ("<a href=x>", {"href": "x"}),
        ("<A HREF = 'x'>", {"href": "x"}),
        ('<a href="a>b" x>', {"href": "a>b", "x": ""}),
        ("<a/href=x/>", {"href": "x/"}),
        ("<a\nhref\n=\nx\n>", {"href": "x"}),
        ("<a href=x href=y>", {"href": "x"}),
        ("<a href=a&amp;b title='&quot;&#x41;'>", {"href": "a&b", "title": '"A'}),
        ("<a x=1=2 y>", {"x": "1=2", "y": ""}),
        ('<a title="it\'s">', {"title": "it's"}),
        ("<a title=it's href=y>", {"title": "it's", "href": "y"}),
        ("<a it's href='y'>", {"it's": "", "href": "y"}),
        ("<a =x>", None),
        ("<a href=" + "x" * (VALUE + 1) + " b=c>", {"b": "c"}),
        ("<b title='<a href=x>'>", None),
        ("</b title='<a href=x>'>", None),
        ("<!-- <a href=x> -->", None),
        ("<!--><a href=x>", {"href": "x"}),
        ("<!-- --!><a href=x>", {"href": "x"}),
        ("<![CDATA[><a href=x>", {"href": "x"}),
        ("<?php ><a href=x>", {"href": "x"}),
        ("</ ><a href=x>", {"href": "x"}),
        ("< a href=x><a>", {}),
        ("<style><a href=x></style>", None),
        ("<TEXTAREA><a href=x></Textarea ><a href=y>", {"href": "y"}),
        ("<script>'<a href=x>'</scripty></script/><a href=y>", {"href": "y"}),
        ("<abbr href=x>", None),
        ("<a href=x", None),
        ("<!-- <a href=x>", None),
    ],
)
def test_a_tag_is_read_as_a_browser_reads_it(
    page: str, attributes: dict[str, str] | None
) -> None:
    found = [tag.attributes for tag in read(page, "a")]

    if attributes is None:
        assert found in ([], [{"=x": ""}])
    else:
        assert found == [attributes]


def test_the_text_of_titles_and_scripts_is_theirs() -> None:
    page = "<title>A <b>&amp;</b> B</title><script type=x>if (a < b) '<!--'</script><a>"

    assert [(tag.name, tag.text) for tag in read(page)] == [
        ("title", "A <b>&amp;</b> B"),
        ("script", "if (a < b) '<!--'"),
        ("a", ""),
    ]


def test_attributes_past_the_last_that_is_read_are_passed_over() -> None:
    many = " ".join(f"x{number}" for number in range(ATTRIBUTES))
    page = f"<a {many} href='>'><a href=y>"

    assert [tag.attributes.get("href") for tag in read(page)] == [None, "y"]


ORGANIZATION = '{"@type":"Brand","name":"A"}'


def test_what_is_kept_of_a_page_is_bounded() -> None:
    script = f'<script type="application/ld+json">[{",".join([ORGANIZATION] * 400)}]</script>'
    too_long = f'<script type="application/ld+json">"{"x" * DATA}"</script>'
    same_as = "[" + ",".join(['"x"'] * 5_000) + "]"
    stated = (
        f'<script type="application/ld+json">{{"@type":"Brand","sameAs":{same_as}}}</script>'
    )
    page = read_home_page("<a href=x>" * (LINKS + 9) + "<a href=last>" + stated)

    assert (len(page.links), page.links[-1], len(page.stated)) == (LINKS, "last", LINKS)
    assert read_home_page(too_long + script).organization == "A"
    assert ORGANIZATIONS < 400


@pytest.mark.parametrize("digits", [4_000, 5_000, 500_000])
def test_a_character_reference_of_any_length_is_read(digits: int) -> None:
    number = f"&#{'1' * digits};"

    page = read_home_page(f"<a href='{number}'><title>{number}</title><meta content={number}>")

    assert page.title is None or len(page.title) < 200


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "zlib", "rot13", "no"])
def test_an_encoding_that_is_none_of_the_web_is_not_asked_for(name: str) -> None:
    assert decode(b"M\xc3\xbcnchen-3ya", f"text/html; charset={name}") == "München-3ya"


@pytest.mark.parametrize(
    "name", ["UTF-8", "latin1", "ISO-8859-15", "windows-1252", "Shift_JIS", "GBK", "koi8-r"]
)
def test_the_encodings_of_the_web_are(name: str) -> None:
    assert decode("Köln".encode(name, "ignore"), f"text/html; charset={name}") == "Köln".encode(
        name, "ignore"
    ).decode(name)


PARTS = (
    *("<", ">", "<a href=", "'", '"', "<!--", "-->", "--!>", "<![CDATA[", "]]>", "<script"),
    *("</script>", "</", "{", " ", "<title>", "</title", "=", "/", "&#x", "&amp", "<?", "a"),
)
pages = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=60).map("".join)


@given(pages)
def test_whatever_a_page_is_every_tag_stands_in_it(page: str) -> None:
    found = read(page)

    assert all(f"<{tag.name}" in page.lower() for tag in found)
    assert len(found) <= page.count("<")


@settings(max_examples=settings().max_examples // 5, deadline=None)
@given(pages.filter(bool))
def test_any_page_over_and_over_costs_little(page: str) -> None:
    whole = (page * (100_000 // len(page) + 1))[:100_000]

    within(lambda: read_home_page(whole), seconds=0.5, mib=4)


def filled(unit: str) -> str:
    return (unit * (MAX_BYTES // len(unit) + 1))[:MAX_BYTES]


LD = '<script type="application/ld+json">'
FLOODS = {
    name: filled(unit)
    for name, unit in {
        "open tags": "<a ",
        "attributes": "<a x=1 y='2' z ",
        "closed tags with attributes": "<a " + "x=1 " * 4_000 + ">",
        "links": "<a href=x>",
        "nested tags": "<b>",
        "angles": "<",
        "ends": "</",
        "comments": "<!--",
        "comments that nearly end": "<!-- --",
        "sections": "<![CDATA[",
        "instructions": "<?",
        "declarations": "<!",
        "scripts": "<script>",
        "whole scripts": "<script></script>",
        "scripts that nearly end": "<script></scrip",
        "titles": "<title>",
        "areas": "<textarea>",
        "equals": "<a =",
        "single quotes": "<a ='",
        "double quotes": '<a href="',
        "mixed quotes": "<a ='\"=\"'",
        "slashes": "<a/",
        "blanks": "<a" + " " * 60_000,
        "entities": "<a href=" + "&amp" * 400 + ">",
        "numbers": "<a href=&#" + "1" * 2_000 + ">",
        "small json": f'{LD}{{"@type":"Brand"}}</script>',
    }.items()
} | {
    "text with an open tag": "<a href='" + "x" * MAX_BYTES,
    "text in an open script": "<script>" + "</ " * (MAX_BYTES // 3),
    "text in an open title": "<title>" + "<" * MAX_BYTES,
    "a long name": "<" + "a" * MAX_BYTES,
    "one number": "<title>&#" + "1" * MAX_BYTES + "</title>",
    "deep json": f"{LD}{'[' * 200_000}</script>",
    "deep graphs": LD + '{"@graph":' * 900 + "[]" + "}" * 900 + "</script>",
    "wide json": f"{LD}[{'[],' * 80_000}0]</script>" * 8,
    "many organizations": f"{LD}[{(ORGANIZATION + ',') * 8_000}0]</script>" * 8,
    "xml": '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "'
    + "&a;" * (MAX_BYTES // 3)
    + '">]><a>&a;</a>',
}


@pytest.mark.slow
@pytest.mark.parametrize("share", [1, 8])
@pytest.mark.parametrize("name", FLOODS)
def test_two_mebibytes_cost_little_whatever_they_are(name: str, share: int) -> None:
    page = FLOODS[name][: MAX_BYTES // share]

    assert seconds_of(lambda: read_home_page(page)) < 4 / share


@pytest.mark.slow  # to count memory; what is kept does not grow with what is left out
@pytest.mark.parametrize("name", FLOODS)
def test_an_eighth_of_a_mebibyte_needs_little_memory(name: str) -> None:
    page = FLOODS[name][: MAX_BYTES // 16]

    assert mib_of(lambda: read_home_page(page)) < 8


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "utf-16", "gb18030", "utf-8"])
def test_any_declared_encoding_costs_little(charset: str) -> None:
    body = b"a-" * (MAX_BYTES // 2)

    within(lambda: decode(body, f"text/html; charset={charset}"), seconds=1, mib=24)
