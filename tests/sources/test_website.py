"""A brand's own site as a source: where it is read, and how it ended."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cs.domain.contact import BrandFacts, Query
from cs.outside.port import Response
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.contracts.stand_in import source_context
from cs.plugins.entry_points import Group
from cs.plugins.sources import BrandAnswer, SourceStatus
from harness.clients import certificates, guarded_client, plugin
from outside.loopback_web import Page, Web, Zone, pages, serve

HOME, NETWORK = "127.83.0.1", "127.83.0.0/16"
ASKED = Query(domain="acme.test")
NAMES = ("acme.test", "www.acme.test", "shop.acme.test", "acme.example", "other.test")

ACME = b"""<!doctype html><html><head><meta charset="utf-8">
<title>Skin care that works | Acme Beauty</title>
<meta property="og:site_name" content="Acme">
<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
  {"@type": "WebSite", "name": "Shop"},
  {"@type": ["Organization", "Brand"], "name": "Acme",
   "sameAs": ["https://www.tiktok.com/@acme", "https://x.com/acme"]}]}</script>
</head><body><nav><a href="/about">About</a></nav>
<script>document.write('<a href="https://www.instagram.com/written_by_script">');</script>
<!-- <a href="https://www.instagram.com/in_a_comment"> -->
<footer>
<a href="https://www.linkedin.com/shareArticle?mini=true&url=https://acme.test/">Share</a>
<a href="https://www.linkedin.com/in/jane-doe">Our founder</a>
<a href="https://uk.linkedin.com/company/Acme-Co/?originalSubdomain=uk">LinkedIn</a>
<a href="https://www.instagram.com/p/C0ffee/">Latest post</a>
<a href="//instagram.com/Acme.Beauty?hl=en">Instagram</a>
<a href="https://www.tiktok.com/@acme/video/123">Video</a>
</footer></body></html>"""


def links(*hrefs: str) -> bytes:
    return "".join(f"<a href='{each}'>x</a>" for each in hrefs).encode()


def moved(where: str) -> Page:
    return 301, {"location": where}, b""


def website_by(client: Any) -> Any:
    return plugin(Group.BRAND_SOURCES, "website", source_context(client))


@asynccontextmanager
async def site(
    table: Mapping[str, Page], *, names: tuple[str, ...] = NAMES
) -> AsyncIterator[tuple[Any, Web]]:
    """The site of every name, over http; https is a port where nobody listens."""
    async with serve(pages(table), address=HOME) as web, serve(pages({}), address=HOME) as gone:
        https = gone.port
    async with serve(pages(table), address=HOME, port=web.port) as web:
        zone = Zone({name: [(HOME,)] for name in names})
        ports = (web.port, https)
        async with guarded_client(zone, NETWORK, web_ports=ports) as client:
            yield website_by(client), web


async def read(
    table: Mapping[str, Page],
    query: Query = ASKED,
    known: BrandFacts | None = None,
    names: tuple[str, ...] = NAMES,
) -> tuple[BrandAnswer, list[str]]:
    """Return what a site that answers as in *table* says, and the paths that were asked for."""
    async with site(table, names=names) as (website, web):
        answer: BrandAnswer = await website.find(query, known)
        return answer, web.paths()


async def facts(page: Page, query: Query = ASKED, **more: Any) -> BrandFacts:
    answer, _ = await read({"/": page}, query, **more)
    assert answer.ended is SourceStatus.USED, answer
    return answer.matches[0].facts


class TestWebsiteIsABrandSource(BrandSourceContract):
    @pytest.fixture
    async def case(self) -> AsyncIterator[BrandSourceCase]:
        broken: tuple[Page, ...] = (
            (500, {}, b"<h1>oops"),
            (403, {"content-type": "text/html"}, b"<title>Just a moment...</title>"),
            (429, {}, b""),
            (200, {"content-encoding": "br"}, b"x"),
            (200, {"content-length": "99999999"}, b"x"),
            moved("/"),
        )
        async with AsyncExitStack() as stack:
            works, _ = await stack.enter_async_context(site({"/": ACME}))
            failing = {
                str(page): (await stack.enter_async_context(site({"/": page})))[0]
                for page in broken
            }
            rules: Page = (500, {}, b"")
            robots_down, _ = await stack.enter_async_context(
                site({"/robots.txt": rules, "/": ACME})
            )
            yield BrandSourceCase(
                works,
                Query(domain="acme.test"),
                Query(domain="nobody.test"),
                failing | {"robots.txt down": robots_down},
            )


async def test_a_home_page_has_the_name_and_the_social_pages() -> None:
    answer, _ = await read({"/": ACME})

    match = answer.matches[0]
    assert (match.score, match.key) == (1.0, "acme.test")
    assert match.facts == BrandFacts(
        name="Acme",
        domain="acme.test",
        linkedin_company_url="https://www.linkedin.com/company/acme-co",
        instagram="https://www.instagram.com/acme.beauty",
        tiktok="https://www.tiktok.com/@acme",
        mail_domains=("acme.test",),
    )


async def test_without_a_domain_there_is_nothing_to_read() -> None:
    async with site({"/": ACME}) as (website, web):
        answer = await website.find(Query("Acme"), BrandFacts(name="Acme"))

    assert (answer.ended, web.asked) == (SourceStatus.NO_RESULTS, [])


async def test_the_known_domain_is_read_rather_than_the_asked_one() -> None:
    known = BrandFacts(name="Acme Beauty", domain="acme.test")

    found = await facts(ACME, Query("Acme", "nobody.test"), known=known)

    assert (found.domain, found.name) == ("acme.test", "Acme Beauty"), "of its names, that one"


async def test_www_and_plain_http_are_tried_in_turn() -> None:
    async with site({"/": ACME}, names=("acme.test",)) as (website, web):
        answer = await website.find(ASKED, None)

    assert answer.ended is SourceStatus.USED
    assert web.paths(robots=True) == ["/robots.txt", "/"]


async def test_https_is_read_first(tmp_path: Path) -> None:
    authority = certificates(tmp_path)
    tls = authority.context(["www.acme.test"])
    async with (
        serve(pages({"/": b"<title>Plain</title>"}), address=HOME) as web,
        serve(pages({"/": ACME}), address=HOME, tls=tls) as safe,
        guarded_client(
            Zone({"acme.test": [(HOME,)], "www.acme.test": [(HOME,)]}),
            NETWORK,
            web_ports=(web.port, safe.port),
            ca_file=authority.ca_file,
        ) as client,
    ):
        answer = await website_by(client).find(ASKED, None)

    assert answer.matches[0].facts.name == "Acme"
    assert web.asked == []


@pytest.mark.parametrize(
    ("where", "ended", "mail_domains"),
    [
        ("http://www.acme.test/home", SourceStatus.USED, ("acme.test",)),
        ("http://shop.acme.test/home", SourceStatus.USED, ("acme.test",)),
        ("http://acme.example/home", SourceStatus.USED, ("acme.test", "acme.example")),
        ("http://other.test/home", SourceStatus.NO_RESULTS, None),
        (f"http://{HOME}/home", SourceStatus.NO_RESULTS, None),
        ("http://xn--a.test/home", SourceStatus.NO_RESULTS, None),
        ("http://acme.xn--a/", SourceStatus.NO_RESULTS, None),
        ("http://127.0.0.1/home", SourceStatus.NO_RESULTS, None),
    ],
)
async def test_a_redirect_is_followed_while_it_stays_the_brands_site(
    where: str, ended: SourceStatus, mail_domains: tuple[str, ...] | None
) -> None:
    answer, _ = await read({"/": moved(where), "/home": ACME})

    assert answer.ended is ended
    assert mail_domains is None or answer.matches[0].facts.mail_domains == mail_domains


REFRESH = b'<meta http-equiv="Refresh" content="0; url=%s"><a href="/en/">Go on</a>'


@pytest.mark.parametrize(
    ("where", "ended", "asked"),
    [
        (b"/en/", SourceStatus.USED, ["/", "/en/"]),
        (b"'http://www.acme.test/en/'", SourceStatus.USED, ["/", "/en/"]),
        (b"http://other.test/en/", SourceStatus.NO_RESULTS, ["/", "/en/"]),
        (b"/again", SourceStatus.USED, ["/", "/again"]),
        (b"/missing", SourceStatus.NO_RESULTS, ["/", "/missing"]),
        (b"ftp://acme.test/", SourceStatus.NO_RESULTS, ["/"]),
    ],
)
async def test_a_page_that_only_sends_its_reader_on_is_followed_once(
    where: bytes, ended: SourceStatus, asked: list[str]
) -> None:
    table = {"/": REFRESH % where, "/again": REFRESH % b"/", "/en/": ACME}
    answer, paths = await read(table)

    assert (answer.ended, paths) == (ended, asked)
    assert where != b"/en/" or answer.matches[0].facts.name == "Acme"


async def test_a_page_that_says_more_is_read_though_it_refreshes() -> None:
    answer, paths = await read({"/": REFRESH % b"/en/" + ACME, "/en/": b""})

    assert (answer.matches[0].facts.name, paths) == ("Acme", ["/"])


@pytest.mark.parametrize(
    ("table", "ended"),
    [
        ({}, SourceStatus.NO_RESULTS),
        ({"/": (410, {}, b"")}, SourceStatus.NO_RESULTS),
        ({"/": (200, {"content-type": "application/pdf"}, b"%PDF")}, SourceStatus.NO_RESULTS),
        ({"/robots.txt": b"User-agent: *\nDisallow: /", "/": ACME}, SourceStatus.NO_RESULTS),
        ({"/robots.txt": (503, {}, b""), "/": ACME}, SourceStatus.FAILED),
        ({"/": (503, {}, b"")}, SourceStatus.FAILED),
        ({"/": (429, {}, b"")}, SourceStatus.RATE_LIMITED),
    ],
)
async def test_how_it_ended_says_whether_asking_again_may_help(
    table: Mapping[str, Page], ended: SourceStatus
) -> None:
    answer, _ = await read(table)

    assert (answer.ended, answer.matches) == (ended, ())
    assert answer.why


async def test_a_site_that_is_down_failed_and_a_name_that_is_not_there_did_not() -> None:
    async with site({"/": ACME}, names=("acme.test",)) as (website, _):
        pass  # everything is down now
    down = await website.find(ASKED, None)
    missing = await website.find(Query(domain="nobody.test"), None)

    assert (down.ended, missing.ended) == (SourceStatus.FAILED, SourceStatus.NO_RESULTS)


@pytest.mark.slow
async def test_others_go_on_while_a_page_is_read() -> None:
    loop = asyncio.get_running_loop()
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(turn)

    class Long:
        async def get(self, url: str, **_: object) -> Response:
            turn()
            return Response(200, {}, links(*["/a"] * 100_000), url)

    answer = await website_by(Long()).find(Query("Acme", "acme.test"), None)

    assert answer.ended is SourceStatus.USED
    assert turns > 10, "the loop stood still"
