"""What sites ask of robots: robots.txt read, kept for a while and obeyed (RFC 9309)."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import httpx
import msgspec
from protego import Protego

from cs.outside.port import Response, Unreachable
from cs.turns import Turns

#: Sites whose rules are kept; the one longest unused goes first.
SITES = 1_000
#: RFC 9309 2.4: a copy serves no longer than a day.
KEPT_S = 24 * 3600.0
#: A site that could not say is asked again after this long.
KEPT_UNAVAILABLE_S = 300.0
#: RFC 9309 2.5: at least 500 KiB are read; the rest is left out.
READ_BYTES = 512 * 1024


class Rules(msgspec.Struct, frozen=True):
    """What one robots.txt says.

    Without *text* the site said nothing: *available* tells whether that is for want of
    rules (everything is allowed) or because it could not (nothing is).
    """

    text: Protego | None
    available: bool = True


def read(answer: Response) -> Rules:
    """Return the rules in *answer*, the response for a site's ``/robots.txt``.

    Source:
        RFC 9309 2.3.1: what is not there (4xx) allows everything, what is there but out of
        order (5xx) allows nothing.  A redirect that leads nowhere counts as not there.
    """
    if answer.status >= 500:
        return Rules(text=None, available=False)
    if not 200 <= answer.status < 300:
        return Rules(text=None)
    text = answer.body[:READ_BYTES].decode("utf-8-sig", "replace")
    return Rules(text=Protego.parse(text))


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
        self._kept: OrderedDict[str, tuple[Rules, float]] = OrderedDict()
        self._turns = Turns()

    async def allow(self, url: httpx.URL) -> bool:
        """Say whether the rules of its site let us fetch *url*.

        Raises:
            Forbidden: As *fetch* does.
            Unreachable: As *fetch* does, or ``unavailable``: the site could not say, so
                nothing is allowed for now.
        """
        rules_url = url.copy_with(raw_path=b"/robots.txt", fragment=None)
        async with self._turns.of(str(rules_url)):
            rules = self._recall(str(rules_url))
            if rules is None:
                rules = read(await self._fetch(rules_url))
                self._keep(str(rules_url), rules)
        if not rules.available:
            raise Unreachable("unavailable", f"{rules_url} is out of order")
        return rules.text is None or rules.text.can_fetch(str(url), self._robot)

    def _recall(self, site: str) -> Rules | None:
        rules, until = self._kept.get(site, (None, 0.0))
        if rules is None or until <= self._monotonic():
            return None
        self._kept.move_to_end(site)
        return rules

    def _keep(self, site: str, rules: Rules) -> None:
        until = self._monotonic() + (KEPT_S if rules.available else KEPT_UNAVAILABLE_S)
        self._kept[site] = (rules, until)
        self._kept.move_to_end(site)
        if len(self._kept) > SITES:
            self._kept.popitem(last=False)
