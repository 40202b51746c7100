"""robots.txt: fetched, cached and obeyed (RFC 9309).

A stranger writes the file, and the addresses that are held against it may be a stranger's, too.
So it is read and matched in linear time: only the groups that are about us are kept, never more
than `RULES` of them, and a wildcard is found by looking for one literal piece after the other,
so nothing is tried twice.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import httpx
import msgspec

from cs.outside.port import Response, Unreachable
from cs.runtime.coordination import KeyedLock
from cs.runtime.lru import LruDict

#: RFC 9309 2.5: at least 500 KiB are read; the rest is left out.
READ_BYTES = 512 * 1024
#: Rules for us that are kept; later ones are left out, as is what stands past `READ_BYTES`.
RULES = 2_000
#: Characters of a rule's path, percent-encoded; a longer rule is left out.
PATTERN = 1_024
#: Sites whose rules are cached, for the pages of one lookup: 70 MiB at worst, as each has no
#: more than 2,000 rules.
SITES = 64
#: RFC 9309 2.4: a copy serves no longer than a day.
KEPT_S = 24 * 3600.0
#: A site that could not say is asked again after this long.
KEPT_UNAVAILABLE_S = 300.0

#: The lines that count; the misspellings are those that sites make most.
_LINE = re.compile(
    rb"(?:\A|[\r\n])[ \t]*+"
    rb"(?:(?P<agent>user[- ]?agent)|(?P<allow>allow)|(?P<forbid>diss?all?ow|diasllow|disallaw))"
    rb"[ \t]*+:(?P<value>[^\r\n#]*+)",
    re.IGNORECASE,
)
_TOKEN = re.compile(rb"[a-zA-Z_-]*")
#: Characters that RFC 9309 2.2.2 decodes or encodes before comparing.
_QUOTED = re.compile(rb"%[0-9a-fA-F]{2}|[^!-~]")
_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")


class Rule(NamedTuple):
    pattern: str  # percent-encoded alike; "*" is any characters, "$" at its end the end
    allows: bool


class RobotsRules(msgspec.Struct, frozen=True):
    """The rules of one robots.txt that are for us, the most specific first."""

    rules: tuple[Rule, ...] = ()

    def allow(self, target: str) -> bool:
        """Say whether *target*, path and query of a URL, may be fetched.

        The rule with the longest pattern decides; of two as long the one that allows.
        """
        path = _alike(target.encode()).replace("*", "%2A").replace("$", "%24")
        return next((rule.allows for rule in self.rules if matches(rule.pattern, path)), True)


def read_rules(body: bytes, *, robot: str) -> RobotsRules:
    """Return the rules of *body* for *robot*: its groups merged, else those for ``*``.

    Args:
        body: Any bytes; the first `READ_BYTES` count.
        robot: Our product token, compared without case (RFC 9309 2.2.1).
    """
    own: dict[str, bool] = {}
    everyones: dict[str, bool] = {}
    named = ours = all_others = starting = False
    for line in _LINE.finditer(body[:READ_BYTES].removeprefix(b"\xef\xbb\xbf")):
        value = line["value"].strip()
        if line["agent"]:
            if not starting:  # the line before was a rule: a new group begins
                ours, all_others, starting = False, False, True
            token = _TOKEN.match(value)
            ours = ours or (token is not None and token[0].decode().lower() == robot.lower())
            all_others = all_others or value.startswith(b"*")
            named = named or ours
            continue
        starting = False
        if (ours or all_others) and value.startswith((b"/", b"*")) and len(value) <= PATTERN:
            pattern, allows = _alike(value), line["allow"] is not None
            for rules, concerned in ((own, ours), (everyones, all_others)):
                fits = len(pattern) <= PATTERN and (pattern in rules or len(rules) < RULES)
                if concerned and fits:
                    rules[pattern] = rules.get(pattern, False) or allows
    found = (Rule(*each) for each in (own if named else everyones).items())
    return RobotsRules(tuple(sorted(found, key=lambda it: (-len(it.pattern), not it.allows))))


def matches(pattern: str, path: str) -> bool:
    """Say whether *path* begins as *pattern* says (RFC 9309 2.2.3).

    Each piece between wildcards is taken where it stands first, which is never worse than
    a later place, so no choice is ever undone.

    >>> matches("/a*b$", "/a/b/b"), matches("/a*b$", "/a/b/c"), matches("/a", "/ab")
    (True, False, True)
    """
    anchored = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    if anchored and not others:
        return len(path) == len(first)
    last = others.pop() if anchored else ""
    at = len(first)
    for piece in others:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return len(path) - len(last) >= at and path.endswith(last)


def _alike(value: bytes) -> str:
    """Return *value* with what may be written in several ways written in one."""
    return _QUOTED.sub(_written, value).decode("ascii")


def _written(found: re.Match[bytes]) -> bytes:
    octet = int(found[0][1:], 16) if len(found[0]) == 3 else found[0][0]
    return bytes([octet]) if octet in _UNRESERVED else b"%%%02X" % octet


class Robots:
    """Asks each site for its rules and caches them.

    Args:
        fetch: Gets a robots.txt, following redirects.
        robot: Product token of ours that rules may name, for example ``contact-search``.
        monotonic: Seconds that only grow.
    """

    def __init__(
        self,
        fetch: Callable[[httpx.URL], Awaitable[Response]],
        *,
        robot: str,
        monotonic: Callable[[], float],
    ) -> None:
        self._fetch = fetch
        self._robot = robot
        self._monotonic = monotonic
        self._kept = LruDict[str, tuple[RobotsRules | None, float]](SITES)
        self._locks = KeyedLock()

    async def allow(self, url: httpx.URL) -> bool:
        """Say whether the rules of its site let us fetch *url*.

        Raises:
            Forbidden: As *fetch* does.
            Unreachable: As *fetch* does, or ``unavailable``: the site could not say, so
                nothing is allowed for now.
        """
        rules_url = url.copy_with(raw_path=b"/robots.txt", fragment=None)
        name = str(rules_url)
        async with self._locks.of(name):
            rules, until = self._kept.use(name) or (None, float("-inf"))
            if until <= self._monotonic():
                answer = await self._fetch(rules_url)
                rules = await self._read(answer)
                kept_s = KEPT_UNAVAILABLE_S if rules is None else KEPT_S
                self._kept[name] = (rules, self._monotonic() + kept_s)
        if rules is None:
            raise Unreachable("unavailable", f"{rules_url} is out of order")
        return await asyncio.to_thread(rules.allow, url.raw_path.decode("ascii"))

    async def _read(self, answer: Response) -> RobotsRules | None:
        """Return what *answer*, the response for a site's ``/robots.txt``, asks of us.

        ``None`` is a site that could not say: nothing is allowed.

        Source:
            RFC 9309 2.3.1: what is not there (4xx) allows everything, what is there but out of
            order (5xx) allows nothing.  A redirect that leads nowhere counts as not there.
        """
        if answer.status >= 500:
            return None
        if not 200 <= answer.status < 300:
            return RobotsRules()
        # Some 0.1 s for the worst 512 KiB, so not on the loop.
        return await asyncio.to_thread(read_rules, answer.body, robot=self._robot)
