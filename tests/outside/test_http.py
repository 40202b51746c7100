"""The clients for addresses of strangers, which nothing leads astray, and of the settings."""

import asyncio
import gzip
from typing import Any

import pytest

from cs.outside.port import Forbidden, Response, Unreachable
from harness.clients import certificates, guarded_client, trusted_client
from outside.loopback_web import Answer, Page, Web, WebRequest, Zone, pages, reply, serve

WEB = "127.81.0.1"  # allowed in these tests
PRIVATE = "127.82.0.1"  # not allowed in those about redirects and rebinding
LOOPBACK, TIGHT = "127.0.0.0/8", "127.81.0.0/16"
HOME = "http://acme.test/"


def guarded(web: Web, zone: Zone, *, allowed: str = LOOPBACK, **limits: Any) -> Any:
    """Return a client for which *web* is where http and https are."""
    return guarded_client(zone, allowed, web_ports=(web.port, web.port), **limits)


def zone(**names: str) -> Zone:
    return Zone({f"{name}.test": [(address,)] for name, address in names.items()})


async def got(client: Any, url: str, **options: Any) -> Response | str:
    """Return the answer of *url*, or why there is none."""
    try:
        answer: Response = await client.get(url, **options)
    except Unreachable as error:
        return error.why
    except Forbidden:
        return "forbidden"
    return answer


async def asked(
    answer: Answer | dict[str, Page], url: str = HOME, names: Zone | None = None, **options: Any
) -> tuple[Any, Web]:
    """Ask the guarded client for *url*; return what came, and what the server was asked."""
    page = pages(answer) if isinstance(answer, dict) else answer
    async with (
        serve(page, address=WEB) as web,
        guarded(web, names or zone(acme=WEB), **options) as client,
    ):
        return await got(client, url), web


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return certificates(tmp_path_factory.mktemp("ca"))


# Guarded: names, pins, TLS.


async def test_a_page_comes_whole_and_the_name_stays_in_the_request() -> None:
    async with (
        serve(pages({"/a": b"<p>Acme"}), address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        answer = await client.get("http://acme.test/a", params={"q": "é"})

    assert (answer.status, answer.body) == (200, b"<p>Acme")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = web.asked[-1]
    assert (page.path, page.headers["host"]) == ("/a?q=%C3%A9", "acme.test")
    assert page.headers["user-agent"].startswith("contact-search/")


async def test_tls_checks_the_name_although_the_address_is_dialled(
    authority: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))  # adds no authority
    tls = authority.context(["acme.test"])
    names = zone(acme=WEB, other=WEB)
    async with (
        serve(pages({"/": b"safe"}), address=WEB, tls=tls) as web,
        guarded(web, names, ca_file=authority.ca_file) as client,
        guarded(web, names) as stranger,
    ):
        answer = await client.get("https://acme.test/")
        wrong_name = await got(client, "https://other.test/")
        unknown_authority = await got(stranger, "https://acme.test/")

    assert (answer.body, answer.url) == (b"safe", "https://acme.test/")
    assert web.asked[-1].headers["host"] == "acme.test"
    assert (wrong_name, unknown_authority) == ("tls", "tls")


async def test_one_closed_address_among_open_ones_refuses_the_host() -> None:
    names = Zone({"acme.test": [(WEB, PRIVATE)]})
    found, web = await asked({"/": b"page"}, names=names, allowed=TIGHT)

    assert (found, web.asked) == ("forbidden", [])


async def test_the_address_judged_is_the_address_dialled_when_dns_rebinds() -> None:
    # Each question is answered again: open for robots.txt, closed for the page.
    names = Zone({"acme.test": [(WEB,), (PRIVATE,)]})
    async with (
        serve(pages({"/": b"page"}), address=WEB) as web,
        serve(pages({"/": b"secret"}), address=PRIVATE, port=web.port) as private,
        guarded(web, names, allowed=TIGHT) as client,
    ):
        assert await got(client, HOME) == "forbidden"

    assert [each.path for each in web.asked] == ["/robots.txt"]
    assert names.asked == ["acme.test", "acme.test"]
    assert private.asked == []


async def test_the_second_address_is_tried_when_the_first_is_down() -> None:
    found, _ = await asked({"/": b"page"}, names=Zone({"acme.test": [("127.81.9.9", WEB)]}))

    assert found.body == b"page"


async def test_no_address_and_no_answer_are_reported_apart() -> None:
    class Silent(Zone):
        async def addresses(self, host: str) -> tuple[str, ...]:
            raise Unreachable("dns", f"{host}: SERVFAIL")

    missing, _ = await asked({}, names=Zone({}))
    silent, web = await asked({}, names=Silent({}))
    async with guarded(web, zone(acme=WEB)) as client:  # the server is gone
        down = await got(client, HOME)

    assert (missing, silent, down) == ("no-host", "dns", "connect")


async def test_a_url_the_guard_refuses_is_not_fetched_and_a_literal_asks_no_dns() -> None:
    names = Zone({})
    for url in ("http://acme.test:22/", "http://10.0.0.1/"):
        found, web = await asked({"/": b""}, url)
        assert (found, web.asked) == ("forbidden", [])
    open_one, _ = await asked({"/": b"page"}, f"http://{WEB}/", names)

    assert (open_one.body, names.asked) == (b"page", [])


# Guarded: redirects.


def moved(where: str, status: int = 301) -> tuple[int, dict[str, str], bytes]:
    return status, {"location": where}, b""


async def test_three_redirects_are_followed_and_a_fourth_is_one_too_many() -> None:
    table: dict[str, Page] = {
        "/": moved("/1"),
        "/1": moved("http://www.acme.test/2", 302),
        "/2": moved("//acme.test/3#part", 308),
        "/3": b"here",
    }
    names = Zone({"acme.test": [(WEB,)], "www.acme.test": [(WEB,)]})
    answer, web = await asked(table, names=names)
    too_many, round_web = await asked({"/": moved("/")})

    assert (answer.body, answer.url) == (b"here", "http://acme.test/3")
    assert web.paths() == ["/", "/1", "/2", "/3"]
    assert (too_many, round_web.paths()) == ("redirects", ["/"] * 4)


@pytest.mark.parametrize(
    "where",
    [
        "http://inside.test/",
        f"http://{PRIVATE}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:10.0.0.1]/",
        "http://acme.test:22/",
        "file:///etc/passwd",
        "http://jo@acme.test/",
        "http://xn--a.test/",
        "//www.xn--a.test/x",
        f"http://acme.test/{'a' * 9_000}",
    ],
)
async def test_a_redirect_into_the_closed_is_refused(where: str) -> None:
    async with (
        serve(pages({"/": moved(where)}), address=WEB) as web,
        serve(pages({"/": b"secret"}), address=PRIVATE, port=web.port) as private,
        guarded(web, zone(acme=WEB, inside=PRIVATE), allowed=TIGHT) as client,
    ):
        assert await got(client, HOME) == "forbidden"

    assert private.asked == []
    assert web.paths() == ["/"]


BAD_REDIRECTS = ["http://[::1", "//[x]/", "http://acme.test:x/", "http://\x80"]


async def test_a_redirect_to_what_is_no_url_is_no_answer() -> None:
    for where in BAD_REDIRECTS:
        assert (await asked({"/": moved(where)}))[0] == "protocol"
    for where in [*BAD_REDIRECTS, "http://xn--a.test/", "//xn--/"]:
        async with serve(pages({"/": moved(where)})) as web, trusted_client() as client:
            assert await got(client, web.url) in {"protocol", "redirects"}


async def test_a_dot_at_its_end_makes_no_other_host_of_a_name() -> None:
    async with (
        serve(pages({"/": b"page"}), address=WEB) as web,
        guarded(web, Zone({"acme.test": [(WEB,)], "acme.test.": [(WEB,)]})) as client,
    ):
        await asyncio.gather(*(client.get(f"http://acme.test{dot}/") for dot in ("", ".") * 4))

    assert len(web.paths()) == 8
    assert web.most_at_once == 1


async def test_headers_for_one_host_do_not_reach_the_next() -> None:
    table: dict[str, Page] = {"/": moved("http://other.test/x"), "/x": b"page"}
    async with (
        serve(pages(table), address=WEB) as web,
        guarded(web, zone(acme=WEB, other=WEB)) as client,
    ):
        await client.get(HOME, headers={"X-Key": "secret"})

    keys = {each.path: each.headers.get("x-key") for each in web.asked}
    assert keys == {"/robots.txt": None, "/": "secret", "/x": None}


# Guarded: limits.


def raw(*parts: bytes, hold: bool = False) -> Answer:
    """Answer every request but that for robots.txt with *parts* as they are."""

    async def answer(request: WebRequest, writer: asyncio.StreamWriter) -> None:
        if request.path == "/robots.txt":
            return reply(writer, status=404)
        for part in parts:
            writer.write(part)
            await writer.drain()
        if hold:
            await asyncio.Event().wait()
        return None

    return answer


@pytest.mark.parametrize("declared", [b"content-length: 999999999\r\n", b""])
async def test_a_body_past_the_limit_is_cut_off(declared: bytes) -> None:
    flood = raw(b"HTTP/1.1 200 OK\r\n" + declared + b"\r\n", *[b"x" * 65_536] * 800)
    why, _ = await asked(flood)

    assert why == "too-large"


async def test_a_packed_body_is_asked_for_and_unpacked_and_no_other_encoding() -> None:
    def sending(encoding: str, body: bytes) -> dict[str, Page]:
        return {"/": (200, {"content-encoding": encoding}, body)}

    answer, web = await asked(sending("gzip", gzip.compress(b"Acme")))
    assert answer.body == b"Acme"
    assert web.asked[-1].headers["accept-encoding"] == "gzip, deflate"
    for encoding, body in (("br", b"x"), ("gzip", b"no gzip at all"), ("gzip, gzip", b"x")):
        assert (await asked(sending(encoding, body)))[0] == "protocol"


async def test_a_body_that_drips_runs_out_of_time_and_what_is_not_http_is_no_answer() -> None:
    dripping = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx", hold=True)
    drips, _ = await asked(dripping, total_s=0.2)
    smtp, _ = await asked(raw(b"220 mail.acme.test ESMTP\r\n"))

    assert (drips, smtp) == ("timeout", "protocol")


async def test_hosts_do_not_wait_for_each_other() -> None:
    both_here = asyncio.Barrier(2)

    async def meet(request: WebRequest, writer: asyncio.StreamWriter) -> None:
        if request.path == "/robots.txt":
            return reply(writer, status=404)
        await both_here.wait()  # passes only when two hosts are asked at once
        return reply(writer, b"page")

    async with (
        serve(meet, address=WEB) as web,
        guarded(web, zone(acme=WEB, other=WEB)) as client,
    ):
        answers = await asyncio.gather(client.get(HOME), client.get("http://other.test/"))

    assert [answer.body for answer in answers] == [b"page", b"page"]


# Guarded: robots.


ROBOTS = b"User-agent: *\nDisallow: /private\n\nUser-agent: contact-search\nDisallow: /not-us\n"


async def test_robots_txt_is_obeyed_and_read_once() -> None:
    table: dict[str, Page] = {
        "/robots.txt": ROBOTS,
        "/": b"home",
        "/private": b"p",
        "/not-us": b"n",
    }
    async with (
        serve(pages(table), address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        home = await client.get(HOME)
        others_only = await client.get("http://acme.test/private")
        ours = await got(client, "http://acme.test/not-us")
    led_around, led = await asked({"/robots.txt": ROBOTS, "/": moved("/not-us")})

    assert (home.body, others_only.body, ours) == (b"home", b"p", "robots")
    assert web.paths(robots=True) == ["/robots.txt", "/", "/private"]
    assert (led_around, led.paths()) == ("robots", ["/"])


# Trusted.


async def test_a_configured_address_may_be_private_and_is_asked_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve(pages({"/search": b"{}"})) as web, serve(pages({})) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        async with trusted_client() as client:
            answer = await client.get(
                f"{web.url}/search", params={"q": "a b"}, headers={"X-Key": "secret"}
            )

    assert (answer.body, proxy.asked) == (b"{}", [])
    assert web.paths(robots=True) == ["/search?q=a+b"]
    assert web.asked[0].headers["x-key"] == "secret"
    assert web.asked[0].headers["user-agent"].endswith(" (ops@acme.example)")


async def test_a_redirect_within_the_origin_is_followed_and_one_out_of_it_is_not() -> None:
    async with serve(pages({"/": b"elsewhere"})) as elsewhere:
        table: dict[str, Page] = {
            "/in": moved("/search"),
            "/search": b"{}",
            "/out": moved(elsewhere.url),
        }
        async with serve(pages(table)) as web, trusted_client() as client:
            inside = await client.get(f"{web.url}/in", headers={"X-Key": "secret"})
            outside = await got(client, f"{web.url}/out")

    assert (inside.body, outside) == (b"{}", "redirects")
    assert elsewhere.asked == []


async def test_an_invalid_header_is_neither_sent_nor_shown() -> None:
    async with serve(pages({"/": (200, {}, b"")})) as web, trusted_client() as client:
        for value in ("key\n", "key\r\nX-Other: 1", "kéy", "key\x00", "k\x7fy"):
            with pytest.raises(Unreachable) as caught:
                await client.get(f"{web.url}/", headers={"X-Api-Key": value})

            assert "header x-api-key" in str(caught.value)
            assert value not in str(caught.value)

    assert web.asked == []
