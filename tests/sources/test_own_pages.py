"""Footers as sites have them: what is the brand's page in each, its owner, and what is not."""

import json

import msgspec

from cs.domain.contact import BrandFacts
from cs.sources.brand.home_page import read_home_page
from cs.sources.brand.site_facts import site_facts
from harness.every_row import check_every

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


def read(footer: Footer) -> BrandFacts:
    home = read_home_page(f"<html><title>Home</title><body>{footer.body}</body></html>")
    return site_facts(home, footer.domain, brand=footer.brand, end=footer.domain)


def check(footer: Footer) -> None:
    facts = read(footer)
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
