"""A brand's own web site: what it is called, and the social pages its footer names."""

import asyncio
from urllib.parse import urljoin

from cs.domain.names.brand_names import canonical_domain
from cs.plugins.sources import (
    BrandAnswer,
    BrandFacts,
    BrandMatch,
    Fetcher,
    Forbidden,
    Query,
    Response,
    SourceContext,
    SourceStatus,
    Unreachable,
)
from cs.sources.brand.home_page import decode, read_home_page
from cs.sources.brand.site_facts import site_facts

#: Where a home page may be, in the order of asking.
_PLACES = ("https://{}/", "https://www.{}/", "http://{}/")
#: After these the next place is tried; a site that is slow or says no is left alone.
_ELSEWHERE = frozenset({"no-host", "connect", "tls", "protocol"})
_HTML = ("text/html", "application/xhtml+xml")


class Website:
    """A brand source that reads one page: the home page of the asked or known domain.

    If that one only sends its reader on ("0; url=/en/"), the next one is read.

    Args:
        fetcher: For addresses of strangers (`cs.outside.http.GuardedClient`).
    """

    name = "website"

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._reading = asyncio.Lock()

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Read the home page of the domain of *known*, else of *query*.

        A domain without a site, one whose site leads to another's, and one that may
        not be fetched (closed network, robots.txt) are no results: asking again will not
        help.  A site that does not answer is a failure.
        """
        domain = (known.domain if known else None) or query.domain
        if domain is None:
            return self._nothing("no domain to look at")
        brand = known.name if known else query.brand
        try:
            return await self._read(await self._home(domain), domain, brand)
        except Forbidden as error:
            return self._nothing(f"may not be fetched: {error}")
        except Unreachable as error:
            match error.why:
                case "no-host":
                    return self._nothing(f"{domain} has no address")
                case "robots":
                    return self._nothing(f"{domain} asks robots to stay away")
                case _:
                    return self._nothing(
                        f"{domain} does not answer: {error}", SourceStatus.FAILED
                    )

    async def _home(self, domain: str) -> Response:
        """Return what the first place that answers says.

        Raises:
            Forbidden: As the fetcher.
            Unreachable: ``no-host`` only if no place exists.
        """
        reasons: list[Unreachable] = []
        for place in _PLACES:
            try:
                return await self._fetcher.get(place.format(domain))
            except Unreachable as error:
                if error.why not in _ELSEWHERE:
                    raise
                reasons.append(error)
        raise next((error for error in reasons if error.why != "no-host"), reasons[0])

    async def _read(
        self, page: Response, domain: str, brand: str | None, *, sent_on: bool = False
    ) -> BrandAnswer:
        if page.status == 429:
            return self._nothing(f"{domain} answers 429", SourceStatus.RATE_LIMITED)
        if page.status in {404, 410}:
            return self._nothing(f"{domain} has no home page")
        if page.status >= 400:
            return self._nothing(f"{domain} answers {page.status}", SourceStatus.FAILED)
        end = _domain_of(page.url)
        if end is None or not _same_site(domain, end):
            return self._nothing(f"{domain} leads to {end}")
        kind = page.headers.get("content-type", "")
        if kind and not kind.lower().startswith(_HTML):
            return self._nothing(f"{domain} shows no page but {kind}")
        # The worst 2 MiB take about a second.  Several threads would leave the event loop
        # too small a share of the interpreter.
        async with self._reading:
            home = await asyncio.to_thread(lambda: read_home_page(decode(page.body, kind)))
            facts = await asyncio.to_thread(site_facts, home, domain, brand=brand, end=end)
        if home.refresh is not None and not sent_on:
            following = await self._fetcher.get(_joined(page.url, home.refresh))
            return await self._read(following, domain, brand, sent_on=True)
        match = BrandMatch(facts=facts, score=1.0, key=domain)
        return BrandAnswer(source=self.name, ended=SourceStatus.USED, matches=(match,))

    def _nothing(self, why: str, ended: SourceStatus = SourceStatus.NO_RESULTS) -> BrandAnswer:
        return BrandAnswer(source=self.name, ended=ended, why=why)


def from_context(context: SourceContext) -> Website:
    """Make the source; it has no settings."""
    return Website(context.guarded)


def _domain_of(url: str) -> str | None:
    try:
        return canonical_domain(url)
    except ValueError:
        return None


def _joined(url: str, other: str) -> str:
    """Return the address of *other* as a page at *url* writes it; *url* if it is none."""
    try:
        return urljoin(url, other)
    except ValueError:
        return url


def _same_site(domain: str, end: str) -> bool:
    """Say whether a page at *end* is still the site of *domain*.

    Below it, or of the same name in another country; anything else is another brand or a domain
    parked or sold, and its people are not this brand's (contract B9).
    """
    if end == domain or end.endswith(f".{domain}"):
        return True
    return end.partition(".")[0] == domain.partition(".")[0]
