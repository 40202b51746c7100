"""robots.txt is read as RFC 9309 says, at the same price whatever stands in it, and kept."""

import asyncio

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.outside.port import Response, Unreachable
from harness.budget import mib_of, seconds_of
from harness.clients import robots

#: Seconds for which rules are kept, and for which a site out of order is not asked again.
KEPT_S, KEPT_UNAVAILABLE_S = 24 * 3600.0, 300.0
#: Sites that are kept; of each the rules, and the characters of a rule.
SITES, RULES, PATTERN = 64, 2_000, 1_024
READ_BYTES, URL_MAX = 512 * 1024, 8_192


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


async def allowed(body: bytes, target: str = "/") -> bool:
    """Return whether a site with the rules *body* lets us fetch *target*."""
    url = httpx.URL(f"https://acme.test{target}")
    return await robots(Site(200, body).fetch, Clock()).allow(url)


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

    assert await robots(site.fetch, Clock()).allow(HOME) is allowed
    assert site.asked == ["https://acme.test/robots.txt"]


async def test_rules_are_kept_for_a_day_and_per_origin() -> None:
    site, clock = Site(200, NOBODY), Clock()
    asker = robots(site.fetch, clock)

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
    asker = robots(site.fetch, clock)

    for clock.now in (0, KEPT_UNAVAILABLE_S - 1):
        with pytest.raises(Unreachable, match="unavailable"):
            await asker.allow(HOME)
    site.status = 404
    clock.now = KEPT_UNAVAILABLE_S
    assert await asker.allow(HOME)
    assert len(site.asked) == 2


async def test_sites_in_use_are_kept_and_their_number_is_bounded() -> None:
    site = Site(200, NOBODY)
    asker = robots(site.fetch, Clock())
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
    asker = robots(site.fetch, Clock())

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

    assert await robots(site.fetch, Clock()).allow(HOME) is False
    assert turns > 10, "the loop stood still"


#: Rules, path and query, and whether it may be fetched.
RULES_READ: list[tuple[str, str, bool]] = [
    ("user-agent: *\ndisallow: /", "/", False),
    ("User-Agent:*\r\nDisAllow:/a # not here\r\n", "/a", False),
    ("User-agent: *\rDisallow: /a", "/ab", False),
    ("\ufeffUser-agent: *\nDisallow: /", "/", False),
    ("User-agent: *\n\n  Disallow : /", "/", False),
    ("User-agent: *\nDisallow:", "/", True),
    ("User-agent: *\nDisallow: #/", "/", True),
    ("Disallow: /", "/", True),  # of no group
    ("User-agent: other\nDisallow: /", "/", True),
    # RFC 9309 2.2.1: our groups are read as one, and those for all do not count then.
    ("User-agent: *\nDisallow: /\nUser-agent: contact-search\nAllow: /x", "/", True),
    ("User-agent: Contact-Search/1.0\nDisallow: /", "/", False),
    ("User-agent: contact-searcher\nDisallow: /", "/", True),
    ("User-agent: contact\nDisallow: /", "/", True),
    (
        "User-agent:contact-search\nDisallow:/a\nUser-agent:x\nDisallow:/\nUser-agent:*\nAllow:/",
        "/a",
        False,
    ),
    (
        "User-agent: contact-search\nDisallow: /a\nUser-agent: CONTACT-SEARCH\nDisallow:/b",
        "/b",
        False,
    ),
    ("User-agent: *\nDisallow: /a\nUser-agent: *\nDisallow: /b", "/a", False),
    ("User-agent: contact-search\nUser-agent: x\nDisallow: /", "/", False),
    ("User-agent: *\nUser-agent: *\nUser-agent: contact-search\nDisallow: /", "/", False),
    ("User-agent: contact-search\nSitemap: /s\nUser-agent: x\nDisallow: /", "/", False),
    ("User-agent: contact-search\nUser-agent: *\nAllow: /x\nDisallow: /", "/", False),
    # 2.2.2: the longest pattern decides, of two alike the one that allows.
    ("User-agent: *\nDisallow: /\nAllow: /a", "/ab", True),
    ("User-agent: *\nAllow: /a\nDisallow: /ab", "/ab", False),
    ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
    ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
    ("User-agent: *\nDisallow: /A", "/a", True),
    ("User-agent: *\nDisallow: /a%3cd", "/a%3Cd.html", False),
    ("User-agent: *\nDisallow: /%7ejo", "/~jo/", False),
    ("User-agent: *\nDisallow: /~jo", "/%7Ejo/", False),
    ("User-agent: *\nDisallow: /ツ", "/%E3%83%84", False),
    (
        "User-agent: *\nDisallow: /foo/bar?baz=https://a.test",
        "/foo/bar?baz=https://a.test",
        False,
    ),
    ("User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
    # 2.2.3: wildcards, and how they are written when they are none.
    ("User-agent: *\nDisallow: /*.gif$", "/a.gif", False),
    ("User-agent: *\nDisallow: /*.gif$", "/a.gif?", True),
    ("User-agent: *\nDisallow: *?x=", "/a?x=1", False),
    ("User-agent: *\nDisallow: /$", "/a", True),
    ("User-agent: *\nDisallow: /$", "/", False),
    ("User-agent: *\nDisallow: /f%2A.html", "/f*.html", False),
    ("User-agent: *\nDisallow: /f%2A.html", "/fx.html", True),
    ("User-agent: *\nDisallow: /f%24", "/f$x", False),
    ("User-agent: *\nDisallow: a", "/a", True),  # no path
    ("User-agent: *\nDisalow: /", "/", False),  # as sites write it
]


async def test_rules_are_as_rfc_9309_reads_them() -> None:
    wrong = [row for row in RULES_READ if await allowed(row[0].encode(), row[1]) is not row[2]]

    assert wrong == []


def slow_matches(pattern: str, path: str) -> bool:
    """The same by trying every end of every wildcard: plain, and exponential."""
    match pattern[:1], pattern:
        case _, "":
            return True
        case _, "$":
            return not path
        case "*", _:
            return any(slow_matches(pattern[1:], path[n:]) for n in range(len(path) + 1))
        case first, _:
            return path[:1] == first and slow_matches(pattern[1:], path[1:])


@given(st.text("/ab*$", max_size=8), st.text("/ab", max_size=10))
async def test_a_wildcard_matches_as_if_every_choice_were_tried(
    pattern: str, path: str
) -> None:
    pattern = "/" + pattern[:-1].replace("$", "a") + pattern[-1:]

    refused = not await allowed(f"User-agent: *\nDisallow: {pattern}".encode(), f"/{path}")

    assert refused is slow_matches(pattern, f"/{path}")


@given(st.binary(max_size=300), st.text("/ab%*$?é", max_size=20))
async def test_any_bytes_can_be_rules_and_any_path_is_judged(body: bytes, path: str) -> None:
    for start in (b"", b"User-agent: *\n", b"User-agent: *\nDisallow: "):
        assert await allowed(start + body, f"/{path}") in {True, False}


async def test_what_is_kept_of_one_site_is_bounded() -> None:
    rules = "".join(f"Disallow: /{n}x\n" for n in range(RULES + 10))
    long = f"Disallow: /{'a' * PATTERN}\nDisallow: /{'é' * (PATTERN // 6 + 1)}\nDisallow: /b"
    many, wide = f"User-agent: *\n{rules}".encode(), f"User-agent: *\n{long}".encode()

    assert [await allowed(many, f"/{n}x") for n in (0, RULES - 1, RULES)] == [
        False,
        False,
        True,
    ]
    found = [await allowed(wide, f"/{path}") for path in ("a" * (PATTERN + 1), "é" * 200, "b")]
    assert found == [True, True, False]


def filled(line: bytes, size: int = READ_BYTES) -> bytes:
    return (line * (size // len(line) + 1))[:size]


def all_different(line: bytes, count: int) -> bytes:
    return b"User-agent: *\n" + b"".join(line % n for n in range(count))


HALF = READ_BYTES // 2
#: Rules that fail at the last character of the longest path, wherever a wildcard begins.
PIECES = [b"*a" * 505 + b"b%x", *(b"*" + b"a" * n + b"b%x" for n in (1, 10, 99, 400, 1_000))]
#: 512 KiB each, made to take as long as can be.
FLOODS = {
    "agents and rules": filled(b"user-agent:a\n", HALF) + filled(b"allow:/\n", HALF),
    "different agents": b"".join(b"user-agent:%x\n" % n for n in range(12_000))
    + filled(b"allow:/\n", HALF),
    "our own agent": filled(b"user-agent:contact-search\n", HALF) + filled(b"allow:/\n", HALF),
    "group after group": filled(b"user-agent:*\nallow:/*a\n"),
    "different rules": all_different(b"allow:/%x\n", 40_000),
    "wildcards": all_different(b"allow:/%x" + b"*a" * 500 + b"\n", 500),
    "percent": all_different(b"allow:/%x" + b"%%41" * 330 + b"\n", 400),
    "line ends": filled(b"\n\r"),
    "blanks": filled(b"\n " + b" " * 70),
    "one line": b"user-agent:" + filled(b" "),
    "no lines": filled(b"allow:"),
    "zeros": filled(b"\0"),
    **{
        f"{piece[:9]!r} {len(piece)} {end!r}": all_different(
            b"allow:/" + piece + end + b"\n", RULES
        )
        for piece in PIECES
        for end in (b"", b"$")
    },
}


WORST_PATH = "/" + "a" * (URL_MAX - 1 - len("https://acme.test"))


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
def test_half_a_mebibyte_costs_little_whatever_it_is(name: str) -> None:
    def read() -> None:
        asyncio.run(allowed(FLOODS[name], WORST_PATH))

    assert seconds_of(read) < 1.5
    assert mib_of(read) < 4
