"""Pages of strangers: read as a browser would, at the same price whatever they are, and what is
the brand's in each: its pages, its owner, and what is not."""

import json
from collections.abc import Callable, Mapping
from functools import partial

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.domain.names.profile_url import person_page
from cs.outside.http import MAX_BYTES
from cs.sources.brand.home_page import (
    ATTRIBUTES,
    DATA,
    LINKS,
    VALUE,
    Tag,
    decode,
    read_home_page,
    tags,
)
from cs.sources.brand.site_facts import site_facts
from cs.sources.social_pages import company_page, instagram, is_free_mail, is_hosted, tiktok
from harness.budget import mib_of, seconds_of, within
from harness.every_row import check_every


def read(page: str, *names: str) -> list[Tag]:
    return list(tags(page, frozenset(names or ("a", "title", "meta", "script"))))


#: By page the attributes of the one tag "a" in it, ``None`` if there is none.
TAGS: dict[str, dict[str, str] | None] = {
    "<a href=x>": {"href": "x"},
    "<A HREF = 'x'>": {"href": "x"},
    '<a href="a>b" x>': {"href": "a>b", "x": ""},
    "<a/href=x/>": {"href": "x/"},
    "<a\nhref\n=\nx\n>": {"href": "x"},
    "<a href=x href=y>": {"href": "x"},
    "<a href=a&amp;b title='&quot;&#x41;'>": {"href": "a&b", "title": '"A'},
    "<a x=1=2 y>": {"x": "1=2", "y": ""},
    '<a title="it\'s">': {"title": "it's"},
    "<a title=it's href=y>": {"title": "it's", "href": "y"},
    "<a it's href='y'>": {"it's": "", "href": "y"},
    "<a href=" + "x" * (VALUE + 1) + " b=c>": {"b": "c"},
    "<b title='<a href=x>'>": None,
    "</b title='<a href=x>'>": None,
    "<!-- <a href=x> -->": None,
    "<!--><a href=x>": {"href": "x"},
    "<!-- --!><a href=x>": {"href": "x"},
    "<![CDATA[><a href=x>": {"href": "x"},
    "<?php ><a href=x>": {"href": "x"},
    "</ ><a href=x>": {"href": "x"},
    "< a href=x><a>": {},
    "<style><a href=x></style>": None,
    "<TEXTAREA><a href=x></Textarea ><a href=y>": {"href": "y"},
    "<script>'<a href=x>'</scripty></script/><a href=y>": {"href": "y"},
    "<abbr href=x>": None,
    "<a href=x": None,
    "<!-- <a href=x>": None,
}


def test_a_tag_is_read_as_a_browser_reads_it() -> None:
    found = {page: [tag.attributes for tag in read(page, "a")] for page in TAGS}

    assert found == {
        page: [] if expected is None else [expected] for page, expected in TAGS.items()
    }
    page = "<title>A <b>&amp;</b> B</title><script type=x>if (a < b) '<!--'</script><a>"
    assert [(tag.name, tag.text) for tag in read(page)] == [
        ("title", "A <b>&amp;</b> B"),
        ("script", "if (a < b) '<!--'"),
        ("a", ""),
    ]


ORGANIZATION = '{"@type":"Brand","name":"A"}'


def test_what_is_kept_of_a_page_is_bounded() -> None:
    many = " ".join(f"x{number}" for number in range(ATTRIBUTES))
    script = f'<script type="application/ld+json">[{",".join([ORGANIZATION] * 400)}]</script>'
    too_long = f'<script type="application/ld+json">"{"x" * DATA}"</script>'
    same_as = "[" + ",".join(['"x"'] * 5_000) + "]"
    stated = (
        f'<script type="application/ld+json">{{"@type":"Brand","sameAs":{same_as}}}</script>'
    )
    page = read_home_page("<a href=x>" * (LINKS + 9) + "<a href=last>" + stated)

    assert (len(page.links), page.links[-1], len(page.stated)) == (LINKS, "last", LINKS)
    assert read_home_page(too_long + script).organization == "A"
    cut = read(f"<a {many} href='>'><a href=y>")
    assert [tag.attributes.get("href") for tag in cut] == [None, "y"]
    for digits in (4_000, 500_000):
        number = f"&#{'1' * digits};"
        title = read_home_page(f"<a href='{number}'><title>{number}</title>").title
        assert title is None or len(title) < 200


def test_a_page_is_decoded_as_it_says_in_an_encoding_of_the_web() -> None:
    for name in ("UTF-8", "latin1", "ISO-8859-15", "windows-1252", "Shift_JIS", "koi8-r"):
        body = "Köln".encode(name, "ignore")
        assert decode(body, f"text/html; Charset='{name}'") == body.decode(name)
    for name in ("punycode", "idna", "unicode_escape", "zlib", "rot13", "no"):
        body = b"M\xc3\xbcnchen-3ya"
        assert decode(body, f"text/html; charset={name}") == "München-3ya"
    assert decode("Häagen".encode("latin-1"), "") == "Häagen"
    declared = '<meta charset="shift_jis">資生堂'
    assert decode(declared.encode("shift_jis"), "text/html") == declared


PARTS = (
    *("<", ">", "<a href=", "'", '"', "<!--", "-->", "--!>", "<![CDATA[", "]]>", "<script"),
    *("</script>", "</", "{", " ", "<title>", "</title", "=", "/", "&#x", "&amp", "<?", "a"),
    "<script type=application/ld+json>",
)
pages = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=60).map("".join)


@given(pages)
def test_whatever_a_page_is_every_tag_stands_in_it(page: str) -> None:
    found, home = read(page), read_home_page(page)

    assert all(f"<{tag.name}" in page.lower() for tag in found)
    assert len(found) <= page.count("<")
    assert not (home.title and len(home.title) > len(page) * 8)


@settings(max_examples=settings().max_examples // 5, deadline=None)
@given(pages.filter(bool))
def test_any_page_over_and_over_costs_little(page: str) -> None:
    whole = (page * (100_000 // len(page) + 1))[:100_000]

    within(lambda: read_home_page(whole), seconds=0.5, mib=4)


def filled(unit: str) -> str:
    return (unit * (MAX_BYTES // len(unit) + 1))[:MAX_BYTES]


LD = '<script type="application/ld+json">'
FLOODS = {
    unit[:40]: filled(unit)
    for unit in (
        *("<a ", "<a x=1 y='2' z ", "<a " + "x=1 " * 4_000 + ">", "<a href=x>", "<b>", "<"),
        *("</", "<!--", "<!-- --", "<![CDATA[", "<?", "<!", "<script>", "<script></script>"),
        *("<script></scrip", "<title>", "<textarea>", "<a =", "<a ='", '<a href="'),
        *("<a ='\"=\"'", "<a/", "<a" + " " * 60_000, "<a href=" + "&amp" * 400 + ">"),
        *("<a href=&#" + "1" * 2_000 + ">", f'{LD}{{"@type":"Brand"}}</script>'),
    )
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
@pytest.mark.parametrize("name", FLOODS)
def test_two_mebibytes_cost_little_whatever_they_are(name: str) -> None:
    for share in (1, 8):  # as a browser would, by the length alone
        page = FLOODS[name][: MAX_BYTES // share]
        assert seconds_of(partial(read_home_page, page)) < 4 / share
    page = FLOODS[name][: MAX_BYTES // 16]
    assert mib_of(partial(read_home_page, page)) < 8


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "utf-16", "gb18030", "utf-8"])
def test_any_declared_encoding_costs_little(charset: str) -> None:
    body = b"a-" * (MAX_BYTES // 2)

    within(lambda: decode(body, f"text/html; charset={charset}"), seconds=1, mib=24)


# Addresses of pages.


@given(st.text(max_size=60) | st.text(max_size=40).map("https://linkedin.com/".__add__))
def test_any_link_is_a_page_or_none(url: str) -> None:
    for of in (company_page, person_page, instagram, tiktok):
        page = of(url)
        assert page is None or of(page) == page


def test_addresses_have_one_form_and_others_are_no_pages() -> None:
    rows: list[tuple[Callable[[str], str | None], str, Mapping[str, str | None]]] = [
        (person_page, "https://de.linkedin.com/in/", {"Jos%C3%A9/": "jos%C3%A9", "": None}),
        (person_page, "https://notlinkedin.com/", {"in/jane": None}),
        (person_page, "https://linkedin.com/", {"pub/jane": None, "company/acme": None}),
        (
            instagram,
            "https://www.instagram.com/",
            dict.fromkeys(("p/x", "reel/x", "explore", "stories/acme", "acme/tagged", "")),
        ),
        (
            tiktok,
            "https://www.tiktok.com/",
            dict.fromkeys(("share?url=x", "acme", "@acme/video/1", "tag/acme", "@")),
        ),
    ]
    for of, host, pages_there in rows:
        for path, name in pages_there.items():
            expected = None if name is None else f"https://www.linkedin.com/in/{name}"
            assert of(host + path) == expected, path
    assert is_hosted("https://www.facebook.com/acme")
    assert not is_hosted("https://www.facebook.com/")
    assert not is_hosted("https://acme.test/facebook.com")
    free = ("gmail.com", "hotmail.fr", "yahoo.co.uk", "web.de", "gmx.net", "orange.fr")
    firms = ("orange.com", "bol.com", "mail.acme.example", "live.acme.example", "web.com")
    assert [is_free_mail(each) for each in (*free, *firms)] == [True] * 6 + [False] * 5


# Footers as sites have them.

LINKEDIN, INSTAGRAM = "https://www.linkedin.com/company/", "https://www.instagram.com/"
TIKTOK = "https://www.tiktok.com/@"


class Footer(msgspec.Struct, frozen=True):
    """A home page's body, and the names of the pages and of the owner that are in it."""

    body: str
    instagram: str | None = None
    tiktok: str | None = None
    linkedin: str | None = None
    parent: str | None = None
    domain: str = "acme.test"
    brand: str | None = "Acme"


def a(*hrefs: str) -> str:
    return "".join(f'<a href="{href}"><svg></svg></a>' for href in hrefs)


def json_ld(**fields: object) -> str:
    data = json.dumps({"@context": "https://schema.org", "@type": "Organization", **fields})
    return f'<script type="application/ld+json">{data}</script>'


def script(text: str, kind: str = "application/json") -> str:
    return f'<script type="{kind}">{text}</script>'


WRITTEN = (
    Footer(a("https://www.instagram.com/acme/?hl=de"), instagram="acme"),
    Footer(a("https://instagram.com/acme?igshid=1&utm_source=web#"), instagram="acme"),
    Footer(a("//www.instagram.com/Acme.Official/"), instagram="acme.official"),
    Footer(a("www.instagram.com/acme"), instagram="acme"),
    Footer(a("http://instagr.am/acme"), instagram="acme"),
    Footer(a("https://www.instagram.com/_u/acme/"), instagram="acme"),
    Footer(a("https://m.tiktok.com/@acme?lang=en&is_copy_url=1"), tiktok="acme"),
    Footer(a("https://www.tiktok.com/@acme_de"), tiktok="acme_de"),
    Footer(a("https://de.linkedin.com/company/acme/about/?viewAsMember=true"), linkedin="acme"),
    Footer(
        a("https://www.linkedin.com/company/Acme-Outdoor-GmbH/jobs/"),
        linkedin="acme-outdoor-gmbh",
    ),
    Footer('<map><area href="https://www.instagram.com/acme"></map>', instagram="acme"),
    Footer('<link rel="me" href="https://www.instagram.com/wearebold">', instagram="wearebold"),
    Footer(
        '<a rel="noopener me" href="https://tiktok.com/@wearebold">x</a>', tiktok="wearebold"
    ),
    Footer(
        '<a itemprop="sameAs" href="https://instagram.com/wearebold">x</a>',
        instagram="wearebold",
    ),
    Footer(
        '<meta property="og:see_also" content="https://www.instagram.com/wearebold">',
        instagram="wearebold",
    ),
    Footer(
        json_ld(name="Acme", sameAs=["https://instagram.com/acme", "https://tiktok.com/@acme"]),
        instagram="acme",
        tiktok="acme",
    ),
    # What is stated wins over other links.
    Footer(
        json_ld(sameAs="https://www.instagram.com/acme_official/")
        + a("https://instagram.com/acme"),
        instagram="acme_official",
    ),
    # Pages that draw their footer by script, behind a wall of cookies or not.
    Footer(
        script('{"social":[{"url":"https:\\/\\/www.instagram.com\\/acme\\/"}]}'),
        instagram="acme",
    ),
    Footer(
        script(
            'window.__S={"tt":"https:\\u002F\\u002Fwww.tiktok.com\\u002F@acme"}',
            "text/javascript",
        ),
        tiktok="acme",
    ),
    Footer(script('{"a":"https://www.linkedin.com/company/acme-inc"}'), linkedin="acme-inc"),
    # Called otherwise, and so on another network, too.
    Footer(
        a("https://www.instagram.com/wearebold", "https://www.facebook.com/wearebold/"),
        instagram="wearebold",
    ),
    # Of several the brand's own.
    Footer(
        a("https://instagram.com/thestudio", "https://instagram.com/acme.beauty"),
        instagram="acme.beauty",
    ),
    Footer(
        a("https://instagram.com/acmecareers", "https://instagram.com/acme_official"),
        instagram="acme_official",
    ),
    Footer(
        a("https://linkedin.com/company/bank-of-box"), linkedin="bank-of-box", domain="bob.test"
    ),
    Footer(a("https://instagram.com/shopify"), instagram="shopify", domain="shopify.test"),
)

NOT_THE_BRANDS = (
    Footer(a("https://www.linkedin.com/shareArticle?mini=true&url=https://acme.test")),
    Footer(a("https://www.linkedin.com/sharing/share-offsite/?url=acme.test")),
    Footer(a("https://www.linkedin.com/in/jane-acme", "https://linkedin.com/school/acme")),
    Footer(a("https://www.linkedin.com/showcase/acme-pro/")),
    Footer(a("https://www.linkedin.com/company/")),
    Footer(a("https://www.tiktok.com/share?url=x", "https://vm.tiktok.com/ZM1/")),
    Footer(a("https://www.tiktok.com/@acme/video/7")),
    Footer(a("https://www.instagram.com/p/C1/", "https://www.instagram.com/reel/C1/")),
    Footer(
        a("https://www.instagram.com/explore/tags/acme", "https://instagram.com/acme/tagged")
    ),
    Footer(a("https://www.instagram.com/share?url=x", "https://www.instagram.com")),
    Footer(a("https://linktr.ee/acme", "https://acme.test/instagram.com/acme")),
    Footer(a("https://linkedin.com.evil.test/company/acme", "http://[bad/company/acme")),
    Footer(a("https://evil.test/linkedin.com/company/acme", "javascript:linkedin.com/x")),
    # Who made the site, and what its theme came with.
    Footer('Site by <a href="https://www.linkedin.com/company/studio-nord/">Studio Nord</a>'),
    Footer('<a href="https://www.instagram.com/studionord">Webdesign</a>'),
    Footer(a("https://www.instagram.com/shopify", "https://www.tiktok.com/@shopify")),
    Footer(a("https://instagram.com/wix", "https://facebook.com/wix", "https://x.com/wix")),
    Footer(a("https://instagram.com/yourusername", "https://linkedin.com/company/example")),
    Footer(json_ld(name="Acme", sameAs=["https://instagram.com/shopify"])),
    # Partners, people, sister brands: of several, or of one by script, none says whose it is.
    Footer(a("https://instagram.com/bolt", "https://instagram.com/nova")),
    Footer(script('{"feed":["https://www.instagram.com/janeinspain/"]}')),
    Footer(a("https://instagram.com/acmekidz", "https://instagram.com/acmehome")),
    Footer("<!-- " + a("https://www.instagram.com/acme") + " -->"),
)

OWNERS = (
    Footer(
        json_ld(name="Acme", parentOrganization={"name": "Bolt Group"}), parent="Bolt Group"
    ),
    Footer(json_ld(name="Acme", parentOrganization=[{"name": "Bolt"}]), parent="Bolt"),
    Footer(json_ld(name="Acme", parentOrganization={"name": "Acme GmbH"})),
    Footer(json_ld(name="Acme", parentOrganization={"@id": "#org"})),
    Footer("<p>&copy; 2026 Unilever PLC. All rights reserved.</p>", parent="Unilever PLC"),
    Footer("<p>© Copyright 2019-2026 Beiersdorf AG | Imprint</p>", parent="Beiersdorf AG"),
    Footer("<p>©2026 <span>L'Oréal</span></p>", parent="L'Oréal"),
    Footer("<p>© 2026, Procter &amp; Gamble</p>", parent="Procter & Gamble"),
    Footer("<p>© 2026 Inditex - Alle Rechte vorbehalten</p>", parent="Inditex"),
    # The brand itself, its firm in a country, who made the site, a licence in a script.
    Footer("<p>© 2026 Acme Group. All rights reserved</p>"),
    Footer("<p>© 2026 Acme Retail Deutschland GmbH</p>"),
    Footer("<p>© 2026 Studio Nord GmbH</p>"),
    Footer("<p>© 2026 Unilever</p>", domain="unilever.test", brand="Unilever"),
    Footer("<p>© Mars 2026</p>", domain="mars.test", brand="Mars Incorporated"),
    Footer(script("/*! copyright (c) jQuery Foundation */", "text/javascript")),
    Footer("<p>We sell Unilever and Henkel, © of their owners</p>"),
)


def check(footer: Footer) -> None:
    home = read_home_page(f"<html><title>Home</title><body>{footer.body}</body></html>")
    facts = site_facts(home, footer.domain, brand=footer.brand, end=footer.domain)
    found = (facts.instagram, facts.tiktok, facts.linkedin_company_url, facts.parent_company)
    assert found == (
        footer.instagram and INSTAGRAM + footer.instagram,
        footer.tiktok and TIKTOK + footer.tiktok,
        footer.linkedin and LINKEDIN + footer.linkedin,
        footer.parent,
    )


def test_the_brands_own_pages_are_found_however_they_are_written() -> None:
    check_every(WRITTEN, check)


def test_pages_of_others_are_not_taken() -> None:
    check_every(NOT_THE_BRANDS, check)


def test_an_owner_is_named_or_known() -> None:
    check_every(OWNERS, check)
