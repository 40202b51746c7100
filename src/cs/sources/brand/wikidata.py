"""Brands as Wikidata has them: web site, social pages, parent company."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from cs.domain.names.brand_match import COMPANY, best_likeness
from cs.domain.names.brand_names import canonical_domain
from cs.outside.retry_after import retry_after_s
from cs.paid_calls.service import NOT_CONFIGURED, WORKS
from cs.plugins.sources import (
    ORDINARY,
    BrandAnswer,
    BrandFacts,
    BrandMatch,
    Fetcher,
    Judgement,
    ProblemKind,
    Query,
    Response,
    ServiceCheck,
    ServiceProblem,
    SourceContext,
    SourceStatus,
    failed_brand,
    problem,
    takes,
)
from cs.sources.brand.wikibase import (
    WikidataHit,
    WikidataHits,
    WikidataItem,
    WikidataItems,
    values,
)
from cs.sources.free_service import FreeService
from cs.sources.social_pages import company_page_of, instagram_of, is_hosted, tiktok_of

BASE_URL = "https://www.wikidata.org/w/api.php"
#: Other names of one brand that are kept.
ALIASES = 10

# Scores: the domain is its own; by name, scaled by how alike the names are; other names.
_ITS_OWN = 1.0
_BY_NAME = 0.9
_SIMILAR = 0.5
#: Wikipedias, and times as many as a namesake's, that make a brand the one people mean.  They
#: are cautious guesses: namesakes of which both are known in many countries stay ambiguous.
_FAMOUS, _TIMES = 10, 5

WEBSITE, LINKEDIN, INSTAGRAM, TIKTOK = "P856", "P4264", "P2003", "P7085"
INSTANCE_OF, PARENT, OWNER = "P31", "P749", "P127"
#: What has a web site and a name, yet no marketing team: people, places, works, names.
NOT_BRANDS = frozenset(
    {
        *("Q5", "Q515", "Q3957", "Q532", "Q486972", "Q6256"),  # human, places, country
        *("Q11424", "Q5398426", "Q482994", "Q7366", "Q571", "Q7889"),  # works
        *("Q215380", "Q4167410", "Q101352", "Q202444", "Q16521"),  # bands, names, taxa
        "Q13442814",  # scholarly article
    }
)


#: Items looked at for one name.
HITS = 10
#: Characters of what it says of itself that are passed on.
_SAID = 300
#: Wikidata's own advice to robots: be refused while its databases lag more (seconds).
MAX_LAG_S = "5"
#: How long to stay away when Wikidata lags.
LAG_RETRY_S = 5.0

_Shape = TypeVar("_Shape", WikidataHits, WikidataItems)


class WikidataApi:
    """Asks ``api.php`` at *base_url*."""

    def __init__(self, fetcher: Fetcher, base_url: str, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._service = FreeService("Wikidata", base_url, fetcher, now, self._judge)

    async def search(self, text: str) -> tuple[WikidataHit, ...]:
        """Return the items whose label or an alias begins with *text*.

        Raises:
            ServiceProblem: No answer.
        """
        params = {
            "action": "wbsearchentities",
            "search": text,
            "language": "en",
            "uselang": "en",
            "type": "item",
            "limit": str(HITS),
        }
        return (await self._ask(params, WikidataHits)).search

    async def items(self, numbers: Iterable[str]) -> Mapping[str, WikidataItem]:
        """Return the items with these ids, at most 50; asks nothing for none.

        Raises:
            ServiceProblem: No answer.
        """
        if not (ids := sorted(numbers)):
            return {}
        params = {
            "action": "wbgetentities",
            "ids": "|".join(ids),
            "props": "labels|aliases|claims|sitelinks",
            "languages": "en|mul",
        }
        items = (await self._ask(params, WikidataItems)).entities
        return items if isinstance(items, Mapping) else {}

    async def _ask(self, params: Mapping[str, str], shape: type[_Shape]) -> _Shape:
        query = {**params, "format": "json", "maxlag": MAX_LAG_S}
        decoded = await self._service.ask(query, shape)
        if decoded.error is None:
            return decoded
        # Errors come with status 200 (MediaWiki, "API:Errors and warnings").
        code = decoded.error.code
        why = f"Wikidata: {code}: {decoded.error.info}"[:_SAID]
        if code == "maxlag":
            raise problem(ProblemKind.RATE_LIMITED, why, LAG_RETRY_S)
        limited = code == "ratelimited"
        raise problem(ProblemKind.RATE_LIMITED if limited else ProblemKind.OUT_OF_ORDER, why)

    def _judge(self, answer: Response) -> Judgement:
        wait_s = retry_after_s(answer.headers, now=self._now())
        if answer.status in {200, 503} and wait_s is not None:  # its databases lag
            why = f"Wikidata asks us to come back later ({answer.status})"
            return problem(ProblemKind.RATE_LIMITED, why, wait_s)
        return ORDINARY


class WikidataCandidate(msgspec.Struct, frozen=True):
    """An item that may be the brand, with the domains of its web sites (at least one)."""

    hit: WikidataHit
    item: WikidataItem
    domains: tuple[str, ...]


class WikidataSource:
    """A brand source over the API of Wikidata, or of a Wikibase with its properties.

    Args:
        fetcher: For configured addresses; its User-Agent names a contact, as Wikimedia's
            policy wants.
        base_url: Of ``api.php``; ``None`` is not configured.
    """

    name = "wikidata"

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        base_url: str | None = BASE_URL,
        now: Callable[[], datetime],
    ) -> None:
        self._api = WikidataApi(fetcher, base_url, now=now) if base_url else None
        self.missing = None if base_url else "set wikidata_url, the URL of an api.php"
        self._now = now

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find items called like the brand, or like the first label of the domain.

        An item at the domain scores 1.0.  Where a brand is asked with another's domain,
        both are found: the brand by its name and the owner by the domain.
        """
        if self._api is None:
            return BrandAnswer(
                source=self.name, ended=SourceStatus.NOT_CONFIGURED, why=self.missing
            )
        if known is not None:
            query = Query(brand=known.name, domain=known.domain or query.domain)
        try:
            matches = await self._matches(self._api, query)
        except ServiceProblem as refused:
            return failed_brand(self.name, refused)
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=matches)

    async def check(self) -> ServiceCheck:
        """Ask one question, and say whether Wikidata answers."""
        if self._api is None:
            return ServiceCheck(ended=NOT_CONFIGURED, why=self.missing)
        try:
            await self._api.search("Wikidata")
        except ServiceProblem as refused:
            failed = failed_brand(self.name, refused)
            return ServiceCheck(ended=failed.ended.value, why=failed.why)
        return ServiceCheck(ended=WORKS)

    async def _matches(self, api: WikidataApi, query: Query) -> tuple[BrandMatch, ...]:
        hits: dict[str, WikidataHit] = {}
        for text in _texts(query):
            for hit in await api.search(text):
                hits.setdefault(hit.id, hit)
        now = self._now()
        found = [
            WikidataCandidate(hits[number], item, domains)
            for number, item in (await api.items(hits)).items()
            if number in hits and not _no_brand(item, now) and (domains := _domains(item, now))
        ]
        parent_ids = {parent for one in found if (parent := _parent_id(one.item, now))}
        parents = await api.items(parent_ids)
        matches = [_match(one, query, parents, now) for one in found]
        if query.brand is None:
            matches = [match for match in matches if match.score == _ITS_OWN]
        elif query.domain is None:
            articles = {one.hit.id: one.item.articles for one in found}
            matches = _meant(matches, articles)
        return tuple(sorted(matches, key=lambda match: -match.score))


class WikidataSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What ``[sources.wikidata]`` takes."""

    url: Annotated[
        str, Meta(pattern=r"^(https?://\S+)?$", description="of api.php; empty: not asked")
    ] = BASE_URL


@takes(WikidataSettings)
def from_context(context: SourceContext) -> WikidataSource:
    """Make the source; an empty ``url`` switches it off."""
    settings = msgspec.convert(context.settings, WikidataSettings)
    return WikidataSource(context.trusted, base_url=settings.url or None, now=context.now)


def _texts(query: Query) -> tuple[str, ...]:
    """Return what to search for: the brand, and what the domain is called."""
    label = query.domain.partition(".")[0] if query.domain else None
    texts = [text for text in (query.brand, label) if text]
    alike = len(texts) == 2 and best_likeness(texts[0], texts[1:]) >= COMPANY
    return tuple(texts[:1] if alike else texts)


def _no_brand(item: WikidataItem, now: datetime) -> bool:
    return not NOT_BRANDS.isdisjoint(values(item, INSTANCE_OF, now=now))


def _domains(item: WikidataItem, now: datetime) -> tuple[str, ...]:
    """Return the domains of the web sites of *item* that are its own, each once."""
    domains = []
    for url in values(item, WEBSITE, now=now):
        try:
            domain = canonical_domain(url)
        except ValueError:
            continue
        if not is_hosted(url):
            domains.append(domain)
    return tuple(dict.fromkeys(domains))


def _parent_id(item: WikidataItem, now: datetime) -> str | None:
    """Return the parent's id: the parent organisation, else the only owner.

    Several owners are shareholders, and no place where a marketing team sits.
    """
    parents = values(item, PARENT, now=now)
    owners = values(item, OWNER, now=now)
    if parents:
        return parents[0]
    return owners[0] if len(owners) == 1 else None


def _match(
    one: WikidataCandidate, query: Query, parents: Mapping[str, WikidataItem], now: datetime
) -> BrandMatch:
    item = one.item
    name = item.label or one.hit.label or one.hit.match.text or one.hit.id
    at_home = query.domain in one.domains
    domain = query.domain if query.domain and at_home else one.domains[0]
    parent, parent_domains = _parent(item, parents, now)
    facts = BrandFacts(
        name=name,
        domain=domain,
        linkedin_company_url=_page(company_page_of, values(item, LINKEDIN, now=now)),
        instagram=_page(instagram_of, values(item, INSTAGRAM, now=now)),
        tiktok=_page(tiktok_of, values(item, TIKTOK, now=now)),
        parent_company=parent,
        aliases=item.other_names[:ALIASES],
        mail_domains=tuple(dict.fromkeys((domain, *parent_domains[:1]))),
    )
    score = _ITS_OWN
    if not at_home:
        score = _by_name(query.brand, (name, one.hit.match.text, *item.other_names))
    return BrandMatch(facts=facts, score=score, key=one.hit.id)


def _meant(matches: Sequence[BrandMatch], articles: Mapping[str, int]) -> list[BrandMatch]:
    """Return *matches* of which a famous brand's obscure namesakes are only similar.

    Who has an article in `_FAMOUS` Wikipedias, and in `_TIMES` as many as any other of that
    name, is who people mean; between others it stays open.
    """
    best = max((match.score for match in matches), default=0.0)
    called = [match.key for match in matches if match.score == best > _SIMILAR]
    famous, *others = sorted(called, key=lambda key: -articles[key]) or [""]
    rival = max((articles[key] for key in others), default=0)
    if not others or articles[famous] < max(_FAMOUS, _TIMES * rival):
        return list(matches)
    return [
        replace(match, score=_SIMILAR) if match.key in others else match for match in matches
    ]


def _by_name(brand: str | None, names: tuple[str, ...]) -> float:
    likeness = best_likeness(brand, names) if brand else 0.0
    return _BY_NAME * likeness if likeness >= COMPANY else _SIMILAR


def _parent(
    item: WikidataItem, parents: Mapping[str, WikidataItem], now: datetime
) -> tuple[str | None, tuple[str, ...]]:
    """Return the name and the domains of the parent company; a person is none."""
    parent = parents.get(_parent_id(item, now) or "")
    if parent is None or _no_brand(parent, now):
        return None, ()
    domains = _domains(parent, now)
    return (parent.label, domains) if domains else (None, ())


def _page(page_of: Callable[[str], str], names: tuple[str, ...]) -> str | None:
    return page_of(names[0]) if names else None
