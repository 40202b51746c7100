"""What sites ask of robots: robots.txt is read, cached and obeyed (RFC 9309)."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import msgspec

from cs.outside.port import Response, Unreachable
from cs.outside.robots_rules import RobotsRules, read_rules
from cs.runtime.coordination import KeyedLock
from cs.runtime.lru import LruDict

#: Sites whose rules are cached; the least recently used goes first.
SITES = 1_000
#: Rules cached of all sites together: some 7 MiB as sites write them, 70 MiB at worst.
RULES_OF_ALL = 64_000
#: RFC 9309 2.4: a copy serves no longer than a day.
KEPT_S = 24 * 3600.0
#: A site that could not say is asked again after this long.
KEPT_UNAVAILABLE_S = 300.0


class SiteRules(msgspec.Struct, frozen=True):
    """What a site asks of us: *rules*, ``None`` if it could not say (nothing is allowed)."""

    rules: RobotsRules | None


def read(answer: Response, *, robot: str) -> SiteRules:
    """Return what *answer*, the response for a site's ``/robots.txt``, asks of *robot*.

    Source:
        RFC 9309 2.3.1: what is not there (4xx) allows everything, what is there but out of
        order (5xx) allows nothing.  A redirect that leads nowhere counts as not there.
    """
    if answer.status >= 500:
        return SiteRules(None)
    if not 200 <= answer.status < 300:
        return SiteRules(RobotsRules())
    return SiteRules(read_rules(answer.body, robot=robot))


class Robots:
    """Asks each site once and remembers.

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
        self._kept = LruDict[str, tuple[SiteRules, float]](SITES, self._evicted)
        self._rules = 0
        self._locks = KeyedLock()

    def __len__(self) -> int:
        """Return how many sites it remembers."""
        return len(self._kept)

    async def allow(self, url: httpx.URL) -> bool:
        """Say whether the rules of its site let us fetch *url*.

        Raises:
            Forbidden: As *fetch* does.
            Unreachable: As *fetch* does, or ``unavailable``: the site could not say, so
                nothing is allowed for now.
        """
        rules_url = url.copy_with(raw_path=b"/robots.txt", fragment=None)
        async with self._locks.of(str(rules_url)):
            site = self._recall(str(rules_url))
            if site is None:
                answer = await self._fetch(rules_url)
                # Some 0.1 s for the worst 512 KiB, so not on the loop.
                site = await asyncio.to_thread(read, answer, robot=self._robot)
                self._keep(str(rules_url), site)
        if site.rules is None:
            raise Unreachable("unavailable", f"{rules_url} is out of order")
        target = url.raw_path.decode("ascii")
        return await asyncio.to_thread(site.rules.allow, target)

    def _recall(self, name: str) -> SiteRules | None:
        site, until = self._kept.get(name, (None, 0.0))
        if site is None or until <= self._monotonic():
            return None
        self._kept.use(name)
        return site

    def _keep(self, name: str, site: SiteRules) -> None:
        self._rules += _weight(site) - _weight(self._kept.pop(name, (None, 0.0))[0])
        now = self._monotonic()
        self._kept.evict_while(lambda kept: kept[1] <= now)
        until = now + (KEPT_S if site.rules else KEPT_UNAVAILABLE_S)
        self._kept[name] = (site, until)
        while self._rules > RULES_OF_ALL:
            self._kept.evict()

    def _evicted(self, _name: str, entry: tuple[SiteRules, float]) -> None:
        self._rules -= _weight(entry[0])


def _weight(site: SiteRules | None) -> int:
    return len(site.rules.rules) if site and site.rules else 0
