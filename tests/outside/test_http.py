import asyncio
import gzip
from typing import Any

import pytest

from cs.outside.port import Forbidden, Unreachable
from harness.clients import certificates, guarded_client, trusted_client
from outside.loopback_web import Answer, Page, Web, WebRequest, Zone, pages, reply, serve

LOOPBACK = "127.0.0.0/8"
WEB = "127.81.0.1"  # allowed in these tests
PRIVATE = "127.82.0.1"  # not allowed in those about redirects and rebinding
TIGHT = "127.81.0.0/16"


def guarded(web: Web, zone: Zone, *, allowed: str = LOOPBACK, **limits: Any) -> Any:
    """Return a client for which *web* is where http and https are."""
    return guarded_client(zone, allowed, web_ports=(web.port, web.port), **limits)


def zone(**names: str) -> Zone:
    return Zone({f"{name}.test": [(address,)] for name, address in names.items()})


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return certificates(tmp_path_factory.mktemp("ca"))


async def refused(client: Any, url: str) -> str:
    with pytest.raises(Unreachable) as caught:
        await client.get(url)
    return caught.value.why


def sending(body: bytes, encoding: str) -> Answer:
    return pages({"/": (200, {"content-encoding": encoding}, body)})


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
    assert page.path == "/a?q=%C3%A9"
    assert page.headers["host"] == "acme.test"
    assert page.headers["user-agent"].startswith("contact-search/")


async def test_tls_checks_the_name_although_the_address_is_dialled(
    authority: Any,
) -> None:
    tls = authority.context(["acme.test"])
    names = zone(acme=WEB, other=WEB)
    async with (
        serve(pages({"/": b"safe"}), address=WEB, tls=tls) as web,
        guarded(web, names, ca_file=authority.ca_file) as client,
        guarded(web, names) as stranger,
    ):
        answer = await client.get("https://acme.test/")
        wrong_name = await refused(client, "https://other.test/")
        unknown_authority = await refused(stranger, "https://acme.test/")

    assert (answer.body, answer.url) == (b"safe", "https://acme.test/")
    assert web.asked[-1].headers["host"] == "acme.test"
    assert (wrong_name, unknown_authority) == ("tls", "tls")


async def test_one_closed_address_among_open_ones_refuses_the_host() -> None:
    names = Zone({"acme.test": [(WEB, PRIVATE)]})
    async with (
        serve(pages({"/": b"page"}), address=WEB) as web,
        guarded(web, names, allowed=TIGHT) as client,
    ):
        with pytest.raises(Forbidden):
            await client.get("http://acme.test/")

    assert web.asked == []


async def test_the_address_judged_is_the_address_dialled_when_dns_rebinds() -> None:
    # Each question is answered again: open for robots.txt, closed for the page.
    names = Zone({"acme.test": [(WEB,), (PRIVATE,)]})
    async with (
        serve(pages({"/": b"page"}), address=WEB) as web,
        serve(pages({"/": b"secret"}), address=PRIVATE, port=web.port) as private,
        guarded(web, names, allowed=TIGHT) as client,
    ):
        with pytest.raises(Forbidden):
            await client.get("http://acme.test/")

    assert [asked.path for asked in web.asked] == ["/robots.txt"]
    assert names.asked == ["acme.test", "acme.test"]
    assert private.asked == []


async def test_the_second_address_is_tried_when_the_first_is_down() -> None:
    names = Zone({"acme.test": [("127.81.9.9", WEB)]})
    async with (
        serve(pages({"/": b"page"}), address=WEB) as web,
        guarded(web, names) as client,
    ):
        answer = await client.get("http://acme.test/")

    assert answer.body == b"page"


async def test_no_address_and_no_answer_are_reported_apart() -> None:
    class Silent(Zone):
        async def addresses(self, host: str) -> tuple[str, ...]:
            raise Unreachable("dns", f"{host}: SERVFAIL")

    async with serve(pages({}), address=WEB) as web:
        async with guarded(web, Zone({})) as client:
            missing = await refused(client, "http://acme.test/")
        async with guarded(web, Silent({})) as client:
            silent = await refused(client, "http://acme.test/")
    async with guarded(web, zone(acme=WEB)) as client:  # the server is gone
        down = await refused(client, "http://acme.test/")

    assert (missing, silent, down) == ("no-host", "dns", "connect")


@pytest.mark.parametrize(
    "url",
    [
        "http://acme.test:22/",
        "http://10.0.0.1/",
    ],
)
async def test_a_url_the_guard_refuses_is_not_fetched(url: str) -> None:
    async with (
        serve(pages({"/": b""}), address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        with pytest.raises(Forbidden):
            await client.get(url)

    assert web.asked == []


async def test_an_open_literal_address_is_dialled_without_asking_dns() -> None:
    names = Zone({})
    async with (
        serve(pages({"/": b"page"}), address=WEB) as web,
        guarded(web, names) as client,
    ):
        answer = await client.get(f"http://{WEB}/")

    assert (answer.body, names.asked) == (b"page", [])


async def test_the_environment_adds_no_authority(
    authority: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca_file))
    tls = authority.context(["acme.test"])
    async with (
        serve(pages({}), address=WEB, tls=tls) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        why = await refused(client, "https://acme.test/")

    assert why == "tls"


# Guarded: redirects.


def moved(where: str, status: int = 301) -> tuple[int, dict[str, str], bytes]:
    return status, {"location": where}, b""


async def test_three_redirects_are_followed_and_the_last_address_is_reported() -> None:
    table: dict[str, Page] = {
        "/": moved("/1"),
        "/1": moved("http://www.acme.test/2", 302),
        "/2": moved("//acme.test/3#part", 308),
        "/3": b"here",
    }
    async with (
        serve(pages(table), address=WEB) as web,
        guarded(web, Zone({"acme.test": [(WEB,)], "www.acme.test": [(WEB,)]})) as client,
    ):
        answer = await client.get("http://acme.test/")

    assert (answer.body, answer.url) == (b"here", "http://acme.test/3")
    assert web.paths() == ["/", "/1", "/2", "/3"]


async def test_a_fourth_redirect_is_one_too_many() -> None:
    async with (
        serve(pages({"/": moved("/")}), address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        why = await refused(client, "http://acme.test/")

    assert why == "redirects"
    assert web.paths() == ["/"] * 4


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
        with pytest.raises(Forbidden):
            await client.get("http://acme.test/")

    assert private.asked == []
    assert web.paths() == ["/"]


BAD_REDIRECTS = ["http://[::1", "//[x]/", "http://acme.test:x/", "http://\x80"]


@pytest.mark.parametrize("where", BAD_REDIRECTS)
async def test_a_redirect_to_what_is_no_url_is_no_answer(where: str) -> None:
    async with (
        serve(pages({"/": moved(where)}), address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        assert await refused(client, "http://acme.test/") == "protocol"


@pytest.mark.parametrize("where", [*BAD_REDIRECTS, "http://xn--a.test/", "//xn--/"])
async def test_a_configured_service_may_redirect_to_nonsense(where: str) -> None:
    async with (
        serve(pages({"/": moved(where)}), address=WEB) as web,
        trusted_client() as client,
    ):
        assert await refused(client, web.url) in {"protocol", "redirects"}


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
        await client.get("http://acme.test/", headers={"X-Key": "secret"})

    keys = {asked.path: asked.headers.get("x-key") for asked in web.asked}
    assert keys == {"/robots.txt": None, "/": "secret", "/x": None}


# Guarded: limits.


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_past_the_limit_is_cut_off(declared: bool) -> None:
    sent = 0

    async def flood(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        if asked.path == "/robots.txt":
            return reply(writer, status=404)
        length = "content-length: 999999999\r\n" if declared else ""
        writer.write(f"HTTP/1.1 200 OK\r\n{length}\r\n".encode())
        while not writer.is_closing() and sent < 50_000_000:
            writer.write(b"x" * 65_536)
            sent += 65_536
            await writer.drain()
        return None

    async with (
        serve(flood, address=WEB) as web,
        guarded(web, zone(acme=WEB), max_bytes=100_000) as client,
    ):
        why = await refused(client, "http://acme.test/")

    assert why == "too-large"
    assert sent < 50_000_000


async def test_a_packed_body_is_asked_for_and_unpacked() -> None:
    async with (
        serve(sending(gzip.compress(b"Acme"), "gzip"), address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        answer = await client.get("http://acme.test/")

    assert answer.body == b"Acme"
    assert web.asked[-1].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"x"), ("gzip", b"no gzip at all"), ("gzip, gzip", b"x")]
)
async def test_an_encoding_not_asked_for_is_no_answer(encoding: str, body: bytes) -> None:
    async with (
        serve(sending(body, encoding), address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        why = await refused(client, "http://acme.test/")

    assert why == "protocol"


async def test_a_body_that_drips_runs_out_of_time() -> None:
    hung_up = asyncio.Event()

    async def drip(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/robots.txt":
            return reply(writer, status=404)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx")
        await writer.drain()
        await hung_up.wait()
        return None

    async with (
        serve(drip, address=WEB) as web,
        guarded(web, zone(acme=WEB), total_s=0.2) as client,
    ):
        why = await refused(client, "http://acme.test/")
        hung_up.set()

    assert why == "timeout"


async def test_what_is_not_http_is_no_answer() -> None:
    async def smtp(_: WebRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.acme.test ESMTP\r\n")

    async with (
        serve(smtp, address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        why = await refused(client, "http://acme.test/")

    assert why == "protocol"


async def test_hosts_do_not_wait_for_each_other() -> None:
    both_here = asyncio.Barrier(2)

    async def meet(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/robots.txt":
            return reply(writer, status=404)
        await both_here.wait()  # passes only when two hosts are asked at once
        return reply(writer, b"page")

    async with (
        serve(meet, address=WEB) as web,
        guarded(web, zone(acme=WEB, other=WEB)) as client,
    ):
        answers = await asyncio.gather(
            client.get("http://acme.test/"), client.get("http://other.test/")
        )

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
        home = await client.get("http://acme.test/")
        others_only = await client.get("http://acme.test/private")
        ours = await refused(client, "http://acme.test/not-us")

    assert (home.body, others_only.body, ours) == (b"home", b"p", "robots")
    assert web.paths(robots=True) == ["/robots.txt", "/", "/private"]


async def test_a_redirect_does_not_lead_around_robots_txt() -> None:
    table: dict[str, Page] = {"/robots.txt": ROBOTS, "/": moved("/not-us"), "/not-us": b"n"}
    async with (
        serve(pages(table), address=WEB) as web,
        guarded(web, zone(acme=WEB)) as client,
    ):
        why = await refused(client, "http://acme.test/")

    assert why == "robots"
    assert web.paths() == ["/"]


# Trusted.


async def test_a_configured_address_may_be_private_and_is_asked_directly() -> None:
    async with (
        serve(pages({"/search": b"{}"})) as web,
        trusted_client() as client,
    ):
        answer = await client.get(
            f"{web.url}/search", params={"q": "a b"}, headers={"X-Key": "secret"}
        )

    assert answer.body == b"{}"
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
            outside = await refused(client, f"{web.url}/out")

    assert (inside.body, outside) == (b"{}", "redirects")
    assert elsewhere.asked == []


async def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(pages({"/": b"direct"})) as web, serve(pages({})) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        async with trusted_client() as client:
            answer = await client.get(web.url)

    assert (answer.body, proxy.asked) == (b"direct", [])


@pytest.mark.parametrize("value", ["key\n", "key\r\nX-Other: 1", "kéy", "key\x00", "k\x7fy"])
async def test_a_header_that_none_may_be_is_not_sent_and_not_told(value: str) -> None:
    async with serve(pages({"/": (200, {}, b"")})) as web:
        async with trusted_client() as client:
            with pytest.raises(Unreachable) as caught:
                await client.get(f"{web.url}/", headers={"X-Api-Key": value})

        assert "header x-api-key" in str(caught.value)
        assert "key\n" not in str(caught.value)
        assert "k\xe9y" not in str(caught.value)
        assert web.asked == []
