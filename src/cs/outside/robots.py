"""robots.txt: fetched, cached and obeyed (RFC 9309)."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx

from cs.outside.port import Response, Unreachable
from cs.outside.robots_rules import RobotsRules, read_rules
from cs.runtime.coordination import KeyedLock
from cs.runtime.lru import LruDict

#: Sites whose rules are cached, for the pages of one lookup: 35 MiB at worst, as each has no
#: more than 2,000 rules.
SITES = 32
#: RFC 9309 2.4: a copy serves no longer than a day.
KEPT_S = 24 * 3600.0
#: A site that could not say is asked again after this long.
KEPT_UNAVAILABLE_S = 300.0


def read(answer: Response, *, robot: str) -> RobotsRules | None:
    """Return what *answer*, the response for a site's ``/robots.txt``, asks of *robot*.

    ``None`` is a site that could not say: nothing is allowed.

    Source:
        RFC 9309 2.3.1: what is not there (4xx) allows everything, what is there but out of
        order (5xx) allows nothing.  A redirect that leads nowhere counts as not there.
    """
    if answer.status >= 500:
        return None
    if not 200 <= answer.status < 300:
        return RobotsRules()
    return read_rules(answer.body, robot=robot)


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
            rules, until = self._kept.get(name, (None, float("-inf")))
            if until <= self._monotonic():
                answer = await self._fetch(rules_url)
                # Some 0.1 s for the worst 512 KiB, so not on the loop.
                rules = await asyncio.to_thread(read, answer, robot=self._robot)
                kept_s = KEPT_UNAVAILABLE_S if rules is None else KEPT_S
                self._kept[name] = (rules, self._monotonic() + kept_s)
        if rules is None:
            raise Unreachable("unavailable", f"{rules_url} is out of order")
        return await asyncio.to_thread(rules.allow, url.raw_path.decode("ascii"))
