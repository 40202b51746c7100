import asyncio

import httpx
import pytest

from cs.outside.port import Response, Unreachable
from cs.outside.robots import KEPT_S, KEPT_UNAVAILABLE_S, SITES, Robots


class Site:
    """Answers for robots.txt of every site alike, and counts."""

    def __init__(self, status: int = 200, body: bytes = b"") -> None:
        self.status, self.body = status, body
        self.asked: list[str] = []

    async def fetch(self, url: httpx.URL) -> Response:
        self.asked.append(str(url))
        return Response(status=self.status, headers={}, body=self.body, url=str(url))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def robots(site: Site, clock: Clock | None = None) -> Robots:
    return Robots(site.fetch, robot="contact-search", monotonic=clock or Clock())


HOME = httpx.URL("https://acme.test/about?x=1#y")
ONLY_OTHERS = b"User-agent: *\nDisallow: /\n\nUser-agent: contact-search\nAllow: /\n"
NOBODY = b"User-agent: *\nDisallow: /"


@pytest.mark.parametrize(
    ("status", "body", "allowed"),
    [
        (200, b"", True),
        (200, NOBODY, False),
        (200, ONLY_OTHERS, True),
        (200, b"\xef\xbb\xbf" + NOBODY, False),
        (200, b"User-agent: *\nDisallow: /about?x=", False),
        (200, b"User-agent: *\nDisallow: /*?x=1$", False),
        (200, b"User-agent: *\nDisallow: /other", True),
        (200, b"<!doctype html><title>Acme</title>", True),
        (200, b"\xff\xfe\x00", True),
        (204, b"", True),
        (301, b"", True),
        (401, NOBODY, True),
        (403, NOBODY, True),
        (404, NOBODY, True),
        (429, NOBODY, True),
    ],
)
async def test_rules_are_as_rfc_9309_reads_the_answer(
    status: int, body: bytes, allowed: bool
) -> None:
    site = Site(status, body)

    assert await robots(site).allow(HOME) is allowed
    assert site.asked == ["https://acme.test/robots.txt"]


async def test_rules_are_kept_for_a_day_and_per_origin() -> None:
    site, clock = Site(200, NOBODY), Clock()
    asker = robots(site, clock)

    for url in ("https://acme.test/", "https://acme.test/b", "http://acme.test/"):
        assert not await asker.allow(httpx.URL(url))
    clock.now = KEPT_S - 1
    await asker.allow(HOME)
    before = list(site.asked)
    clock.now = KEPT_S
    await asker.allow(HOME)

    assert before == ["https://acme.test/robots.txt", "http://acme.test/robots.txt"]
    assert site.asked == [*before, "https://acme.test/robots.txt"]


async def test_a_site_that_could_not_say_is_asked_again_sooner() -> None:
    site, clock = Site(503), Clock()
    asker = robots(site, clock)

    for clock.now in (0, KEPT_UNAVAILABLE_S - 1):
        with pytest.raises(Unreachable, match="unavailable"):
            await asker.allow(HOME)
    site.status = 404
    clock.now = KEPT_UNAVAILABLE_S
    assert await asker.allow(HOME)
    assert len(site.asked) == 2


async def test_sites_in_use_are_kept_and_their_number_is_bounded() -> None:
    site = Site(200, NOBODY)
    asker = robots(site)
    for number in (*range(SITES), 0, SITES, 0, 1):
        await asker.allow(httpx.URL(f"https://b{number}.test/"))

    assert len(site.asked) == SITES + 2
    assert site.asked[-1] == "https://b1.test/robots.txt"


async def test_no_answer_says_why_and_is_not_kept() -> None:
    class Down(Site):
        async def fetch(self, url: httpx.URL) -> Response:
            await super().fetch(url)
            raise Unreachable("connect")

    site = Down()
    asker = robots(site)

    for _ in range(2):
        with pytest.raises(Unreachable, match="connect"):
            await asker.allow(HOME)
    assert len(site.asked) == 2


async def test_others_go_on_while_rules_are_read() -> None:
    loop = asyncio.get_running_loop()
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(turn)

    class Long(Site):
        async def fetch(self, url: httpx.URL) -> Response:
            turn()
            return await super().fetch(url)

    site = Long(200, b"User-agent: *\n" + b"Disallow: /a\n" * 40_000)

    assert await robots(site).allow(HOME) is False
    assert turns > 10, "the loop stood still"
