from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.outside.guard import URL_MAX
from cs.outside.robots import (
    PATTERN,
    READ_BYTES,
    RULES,
    RobotsRules,
    Rule,
    matches,
    read_rules,
)
from harness.budget import mib_of, seconds_of


def allowed(text: str, target: str = "/") -> bool:
    return read_rules(text.encode(), robot="contact-search").allow(target)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
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
    ],
)
def test_rules_are_as_rfc_9309_reads_them(text: str, target: str, expected: bool) -> None:
    assert allowed(text, target) is expected


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
def test_a_wildcard_matches_as_if_every_choice_were_tried(pattern: str, path: str) -> None:
    pattern = pattern[:-1].replace("$", "a") + pattern[-1:]

    assert matches(pattern, path) is slow_matches(pattern, path)


@given(st.binary(max_size=300), st.text(max_size=20))
def test_any_bytes_can_be_rules_and_any_path_is_judged(body: bytes, path: str) -> None:
    for start in (b"", b"User-agent: *\n", b"User-agent: *\nDisallow: "):
        assert read_rules(start + body, robot="contact-search").allow(f"/{path}") in {
            True,
            False,
        }


def test_what_is_kept_of_one_site_is_bounded() -> None:
    rules = "".join(f"Disallow: /{n}\n" for n in range(RULES + 10))
    long = f"Disallow: /{'a' * PATTERN}\nDisallow: /{'é' * (PATTERN // 6 + 1)}\n"

    many = read_rules(f"User-agent: *\n{rules}".encode(), robot="x").rules
    kept = read_rules(f"User-agent: *\n{long}Disallow: /b".encode(), robot="x").rules

    assert len(many) == RULES
    assert kept == (Rule("/b", allows=False),)


def filled(line: bytes, size: int = READ_BYTES) -> bytes:
    return (line * (size // len(line) + 1))[:size]


def all_different(line: bytes, count: int) -> bytes:
    return b"User-agent: *\n" + b"".join(line % n for n in range(count))


HALF = READ_BYTES // 2
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
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
def test_half_a_mebibyte_costs_little_whatever_it_is(name: str) -> None:
    assert seconds_of(lambda: read_flood(name)) < 1.5
    assert mib_of(lambda: read_flood(name)) < 4


def read_flood(name: str) -> bool:
    return read_rules(FLOODS[name], robot="contact-search").allow("/")


WORST_PATH = "/" + "a" * (URL_MAX - 1)
PIECES = ["*a" * 511 + "b", *(f"*{'a' * n}b" for n in (1, 10, 50, 99, 100, 400, 1_000))]


@pytest.mark.slow
@pytest.mark.parametrize(("piece", "end"), list(product(PIECES, ("", "$"))))
def test_the_longest_path_is_held_against_all_rules_quickly(piece: str, end: str) -> None:
    rules = RobotsRules(tuple(Rule(f"/{piece}{end}", allows=True) for _ in range(RULES)))

    assert seconds_of(lambda: rules.allow(WORST_PATH)) < 2
