"""Pages of strangers: read as a browser would, at the same price whatever they are, and what is
the brand's in each: its pages, its owner, and what is not."""

import asyncio
import json
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.domain.contact import BrandFacts, Query
from cs.domain.names.profile_url import person_page
from cs.outside.port import Response
from cs.plugins.contracts.stand_in import ServiceRequest, StandIn, source_context
from cs.plugins.entry_points import Group
from harness.budget import mib_of, seconds_of, within
from harness.clients import plugin
from harness.every_row import check_every

MAX_BYTES = 2 * 1024 * 1024  # of an answer
#: Attributes of a tag and characters of one, links of a page, characters of its data.
ATTRIBUTES, VALUE, LINKS, DATA = 64, 2_048, 2_000, 256 * 1024


class Site:
    """One site of any name, whose home page changes, and the source that reads it."""

    def __init__(self) -> None:
        self._body, self._kind, self._domain = b"", "", ""
        self._source: Any = plugin(
            Group.BRAND_SOURCES, "website", source_context(StandIn(self._answer))
        )

    def _answer(self, _: ServiceRequest) -> Response:
        headers = {"content-type": self._kind}
        return Response(200, headers, self._body, f"https://{self._domain}/")

    def facts(
        self,
        page: str | bytes,
        *,
        kind: str = "text/html; charset=utf-8",
        domain: str = "acme.test",
        brand: str | None = "Acme",
    ) -> BrandFacts:
        """Return what *page* says of *brand*."""
        self._body = page.encode("utf-8", "replace") if isinstance(page, str) else page
        self._kind, self._domain = kind, domain
        answer = asyncio.run(self._source.find(Query(brand, domain), None))
        found: BrandFacts = answer.matches[0].facts
        return found


@cache
def site() -> Site:
    return Site()


#: Whether the link U is read in a page.
TAGS: dict[str, bool] = {
    "<a href=U>": True,
    "<A HREF = 'U'>": True,
    '<a title="a>b" href=U x>': True,
    "<a/href=U/>": True,
    "<a\nhref\n=\nU\n>": True,
    "<a href=U href=y>": True,
    "<a href=y href=U>": False,
    "<a href='U?a&amp;b' title='&quot;&#x41;'>": True,
    "<a href=https&#58;//instagram.com/acme>": True,
    "<a x=1=2 href=U>": True,
    '<a title="it\'s" href=U>': True,
    "<a title=it's href=U>": True,
    "<a it's href='U'>": True,
    f"<a title={'x' * (VALUE + 1)} href=U>": True,
    f"<a href=U?{'x' * VALUE}>": False,
    "<b title='<a href=U>'>": False,
    "</b title='<a href=U>'>": False,
    "<!-- <a href=U> -->": False,
    "<!--><a href=U>": True,
    "<!-- --!><a href=U>": True,
    "<![CDATA[><a href=U>": True,
    "<?php ><a href=U>": True,
    "</ ><a href=U>": True,
    "< a href=U><a>": False,
    "<style><a href=U></style>": False,
    "<TEXTAREA><a href=U></Textarea >": False,
    "<TEXTAREA></Textarea ><a href=U>": True,
    "<script></scripty></script/><a href=U>": True,
    "<script></scripty><a href='U'": False,
    "<abbr href=U>": False,
    "<a href=U": False,
    "<!-- <a href=U>": False,
    f"<a {' '.join(f'x{n}' for n in range(ATTRIBUTES))} href=U>": False,
    f"<a {' '.join(f'x{n}' for n in range(ATTRIBUTES))} href='>'><a href=U>": True,
    # The last links of a page are kept, where its footer is.
    "<a href=U>" + "<a href=x>" * LINKS: False,
    "<a href=x>" * (LINKS + 9) + "<a href=U>": True,
}


def test_a_tag_is_read_as_a_browser_reads_it() -> None:
    def check(row: tuple[str, bool]) -> None:
        facts = site().facts(row[0].replace("U", "https://instagram.com/acme"))
        assert (facts.instagram is not None) is row[1]

    check_every(TAGS.items(), check)
    titled = "<title>A &amp; B</title><script type=x>if (a < b) '<!--'</script><a>"
    assert site().facts(titled, brand=None).name == "A & B"


ORGANIZATION = '{"@type":"Brand","name":"A1"}'
LD = '<script type="application/ld+json">'


def test_what_is_kept_of_a_page_is_bounded() -> None:
    many = f"{LD}[{','.join([ORGANIZATION] * 400)}]</script>"
    too_long = f'{LD}"{"x" * DATA}"</script>'
    assert site().facts(too_long + many, brand=None).name == "A1"
    for digits in (4_000, 500_000):
        number = f"&#{'1' * digits};"
        page = f"<a href='{number}'><title>{number}</title>"
        assert len(site().facts(page, brand=None).name) < 200


def test_a_page_is_decoded_as_it_says_in_an_encoding_of_the_web() -> None:
    def name(title: bytes, kind: str) -> str:
        return site().facts(b"<title>" + title + b"</title>", kind=kind, brand=None).name

    for encoding in ("UTF-8", "latin1", "ISO-8859-15", "windows-1252", "Shift_JIS", "koi8-r"):
        title = "Köln".encode(encoding, "ignore")
        assert name(title, f"text/html; Charset='{encoding}'") == title.decode(encoding)
    for encoding in ("punycode", "idna", "unicode_escape", "zlib", "rot13", "no"):
        body = b"M\xc3\xbcnchen-3ya"
        assert name(body, f"text/html; charset={encoding}") == "München-3ya"
    assert name("Häagen".encode("latin-1"), "") == "Häagen"
    declared = '<meta charset="shift_jis"><title>資生堂</title>'.encode("shift_jis")
    assert site().facts(declared, kind="text/html", brand=None).name == "資生堂"


PARTS = (
    *("<", ">", "<a href=", "'", '"', "<!--", "-->", "--!>", "<![CDATA[", "]]>", "<script"),
    *("</script>", "</", "{", " ", "<title>", "</title", "=", "/", "&#x", "&amp", "<?", "a"),
    "<script type=application/ld+json>",
)
pages = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=60).map("".join)


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(pages.filter(bool))
def test_any_page_over_and_over_costs_little(page: str) -> None:
    whole = (page * (100_000 // len(page) + 1))[:100_000]

    assert len(site().facts(page, brand=None).name) < 200
    within(lambda: site().facts(whole), seconds=0.5, mib=4)


def filled(unit: str) -> str:
    return (unit * (MAX_BYTES // len(unit) + 1))[:MAX_BYTES]


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
    page = FLOODS[name]
    assert seconds_of(lambda: site().facts(page)) < 4
    assert mib_of(lambda: site().facts(page[: MAX_BYTES // 16])) < 8


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "utf-16", "gb18030", "utf-8"])
def test_any_declared_encoding_costs_little(charset: str) -> None:
    body = b"a-" * (MAX_BYTES // 2)

    within(lambda: site().facts(body, kind=f"text/html; charset={charset}"), seconds=1, mib=24)


@given(st.text(max_size=60) | st.text(max_size=40).map("https://linkedin.com/".__add__))
def test_any_link_is_the_page_of_a_person_or_none(url: str) -> None:
    page = person_page(url)
    assert page is None or person_page(page) == page


def test_pages_of_people_have_one_form() -> None:
    for url, name in {
        "https://de.linkedin.com/in/Jos%C3%A9/": "jos%C3%A9",
        "https://de.linkedin.com/in/": None,
        "https://notlinkedin.com/in/jane": None,
        "https://linkedin.com/pub/jane": None,
        "https://linkedin.com/company/acme": None,
    }.items():
        assert person_page(url) == (name and f"https://www.linkedin.com/in/{name}"), url


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
    page = f"<html><title>Home</title><body>{footer.body}</body></html>"
    facts = site().facts(page, domain=footer.domain, brand=footer.brand)
    found = (facts.instagram, facts.tiktok, facts.linkedin_company_url, facts.parent_company)
    assert found == (
        footer.instagram and INSTAGRAM + footer.instagram,
        footer.tiktok and TIKTOK + footer.tiktok,
        footer.linkedin and LINKEDIN + footer.linkedin,
        footer.parent,
    )


def test_what_is_the_brands_in_a_footer_is_found_and_nothing_of_others() -> None:
    check_every((*WRITTEN, *NOT_THE_BRANDS, *OWNERS), check)


# What a page calls its brand.


def html(**parts: str) -> str:
    head = "".join(f"<{tag}>{text}</{tag}>" for tag, text in parts.items())
    return f"<html><head>{head}</head></html>"


#: Pages, what they are asked as, and the name that is found.
CALLED: list[tuple[str | bytes, str | None, str]] = [
    (html(title="Home | Acme"), None, "Acme"),
    (html(title="ACME – Skin care that works"), None, "ACME"),
    (html(title="Acme: skin care"), None, "Acme"),
    (html(title="Buy &amp; try\n  it"), None, "Buy & try it"),
    (html(title=""), None, "acme.test"),
    (html(title="x" * 500), None, "acme.test"),
    (b"<svg><title>Menu</title></svg>", None, "Menu"),
    (b"\xff\xfe\x00\x00", None, "acme.test"),
    (b"", None, "acme.test"),
    (b'<meta property="og:site_name" content="Acme Global">', None, "Acme Global"),
    (b'<script type="application/ld+json">{"@type":"Org', None, "acme.test"),
    (
        b'<script type="application/ld+json">[[[[' + b"[" * 9000 + b"</script>",
        None,
        "acme.test",
    ),
    (
        LD
        + '{"@type": "WebPage", "publisher": {"@type": "OnlineStore", "name": "A1"}}</script>',
        None,
        "A1",
    ),
    (html(title="Acme | Skin care by Bolt"), "skin care by bolt", "Skin care by Bolt"),
]


def test_the_name_is_the_best_of_what_the_page_calls_itself() -> None:
    def check(row: tuple[str | bytes, str | None, str]) -> None:
        page, brand, name = row
        assert site().facts(page, brand=brand).name == name

    check_every(CALLED, check)
    page = html(title="Halden – tents") + a("https://linkedin.com/company/halden-outdoor")
    found = site().facts(page, domain="haldenoutdoor.test", brand=None)
    assert (found.name, found.aliases) == ("Halden", ("halden outdoor",))
