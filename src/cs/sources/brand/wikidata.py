"""Brands as Wikidata has them: web site, social pages, parent company.

The shapes are those of a Wikibase API (``wbsearchentities``, ``wbgetentities``).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from cs.domain.names.brand_match import COMPANY, best_likeness
from cs.domain.names.brand_names import canonical_domain
from cs.outside.retry_after import retry_after_s
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
from cs.sources.adapters import FreeService, checked
from cs.sources.social_pages import company_page_of, instagram_of, is_hosted, tiktok_of

BASE_URL = "https://www.wikidata.org/w/api.php"
#: Other names of one brand that are kept.
ALIASES = 10
#: Items looked at for one name.
HITS = 10
#: Characters of what it says of itself that are passed on.
_SAID = 300
#: Wikidata's own advice to robots: be refused while its databases lag more (seconds).
MAX_LAG_S = "5"
#: How long to stay away when Wikidata lags.
LAG_RETRY_S = 5.0

# Scores: the domain is its own; by name, scaled by how alike the names are; other names.
_ITS_OWN = 1.0
_BY_NAME = 0.9
_SIMILAR = 0.5
#: Wikipedias, and times as many as a namesake's, that make a brand the one people mean.  They
#: are cautious guesses: namesakes of which both are known in many countries stay ambiguous.
_FAMOUS, _TIMES = 10, 5
#: Sites called as Wikipedias are that are none.
_NO_WIKIPEDIA = frozenset(
    {"commonswiki", "mediawikiwiki", "metawiki", "sourceswiki", "specieswiki", "wikidatawiki"}
)

WEBSITE, LINKEDIN, INSTAGRAM, TIKTOK = "P856", "P4264", "P2003", "P7085"
INSTANCE_OF, PARENT, OWNER, ENDED = "P31", "P749", "P127", "P582"
#: Classes with a web site and a name, yet no marketing team: people, places, works, names.
NOT_BRANDS = frozenset(
    {
        *("Q5", "Q515", "Q3957", "Q532", "Q486972", "Q6256"),  # human, places, country
        *("Q11424", "Q5398426", "Q482994", "Q7366", "Q571", "Q7889"),  # works
        *("Q215380", "Q4167410", "Q101352", "Q202444", "Q16521"),  # bands, names, taxa
        "Q13442814",  # scholarly article
    }
)

#: PHP writes an empty map as ``[]``.
_Empty = Annotated[list[Any], Meta(max_length=0)]


class _Fault(msgspec.Struct, frozen=True):
    code: str
    info: str = ""


class _Text(msgspec.Struct, frozen=True):
    value: str = ""
    text: str = ""


class _Hit(msgspec.Struct, frozen=True):
    """One item that ``wbsearchentities`` found, and the name it was found by."""

    id: str
    label: str | None = None
    match: _Text = _Text()


class _Snak(msgspec.Struct, frozen=True):
    snaktype: str = "value"
    datavalue: Any = None  # a map, whose value is a text or a map

    @property
    def text(self) -> str | None:
        """The text or the id of an item that it says."""
        match self.datavalue:
            case {"value": str(text) | {"id": str(text)}} if self.snaktype == "value":
                return text
            case _:
                return None

    def is_past(self, day: str) -> bool:
        """Say whether this time is not after *day*; one that is not known has been."""
        match self.datavalue:
            case {"value": {"time": str(time)}} if self.snaktype == "value":
                return time.startswith("-") or time[1:11] <= day  # +2021-06-30T00:00:00Z
            case _:
                return self.snaktype != "novalue"


class _Statement(msgspec.Struct, frozen=True):
    mainsnak: _Snak
    rank: str = "normal"
    qualifiers: Mapping[str, tuple[_Snak, ...]] | _Empty = {}


class _Item(msgspec.Struct, frozen=True):
    labels: Mapping[str, _Text] | _Empty = {}
    aliases: Mapping[str, tuple[_Text, ...]] | _Empty = {}
    claims: Mapping[str, tuple[_Statement, ...]] | _Empty = {}
    sitelinks: Mapping[str, Any] | _Empty = {}

    @property
    def articles(self) -> int:
        """In how many Wikipedias it has an article."""
        sites = set(map(str, self.sitelinks)) - _NO_WIKIPEDIA
        return sum(site.endswith("wiki") for site in sites)

    @property
    def label(self) -> str | None:
        """Its name; brands are more and more labelled once for all languages ("mul")."""
        labels = dict(self.labels)
        return next((labels[code].value for code in ("en", "mul") if code in labels), None)

    @property
    def other_names(self) -> tuple[str, ...]:
        names = (text.value for texts in dict(self.aliases).values() for text in texts)
        return tuple(dict.fromkeys(names))

    def says(self, name: str, day: str) -> tuple[str, ...]:
        """Return what it says for property *name* on *day*, texts or item ids.

        The preferred statements if there are any, else the normal ones; never deprecated
        ones or those that ended before.
        """
        current = [
            (each.rank, text)
            for each in dict(self.claims).get(name, ())
            if each.rank != "deprecated"
            and not any(end.is_past(day) for end in dict(each.qualifiers).get(ENDED, ()))
            and (text := each.mainsnak.text) is not None
        ]
        preferred = [text for rank, text in current if rank == "preferred"]
        return tuple(dict.fromkeys(preferred or [text for _, text in current]))

    def domains(self, day: str) -> tuple[str, ...]:
        """Return the domains of the web sites that are its own; none of what is no brand."""
        if not NOT_BRANDS.isdisjoint(self.says(INSTANCE_OF, day)):
            return ()
        return tuple(dict.fromkeys(_domains(self.says(WEBSITE, day))))

    def parent_id(self, day: str) -> str | None:
        """Return the parent's id: the parent organisation, else the only owner.

        Several owners are shareholders, and no place where a marketing team sits.
        """
        owners = self.says(OWNER, day)
        sole = owners[0] if len(owners) == 1 else None
        return next(iter(self.says(PARENT, day)), sole)


class _Answer(msgspec.Struct, frozen=True):
    search: tuple[_Hit, ...] = ()
    entities: Mapping[str, _Item] | _Empty = {}
    error: _Fault | None = None


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
        self._service = FreeService("Wikidata", base_url or "", fetcher, now, self._judge)
        self.missing = None if base_url else "set wikidata_url, the URL of an api.php"
        self._now = now

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find items called like the brand, or like the first label of the domain.

        An item at the domain scores 1.0.  Where a brand is asked with another's domain,
        both are found: the brand by its name and the owner by the domain.
        """
        if self.missing is not None:
            ended = SourceStatus.NOT_CONFIGURED
            return BrandAnswer(source=self.name, ended=ended, why=self.missing)
        if known is not None:
            query = Query(brand=known.name, domain=known.domain or query.domain)
        try:
            matches = await self._matches(query)
        except ServiceProblem as refused:
            return failed_brand(self.name, refused)
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=matches)

    async def check(self) -> ServiceCheck:
        """Ask one question, and say whether Wikidata answers."""
        return await checked(self.missing, self._search("Wikidata"))

    async def _matches(self, query: Query) -> tuple[BrandMatch, ...]:
        hits: dict[str, _Hit] = {}
        for text in _texts(query):
            for hit in (await self._search(text)).search:
                hits.setdefault(hit.id, hit)
        day = self._now().date().isoformat()
        items = await self._items(hits)
        found = {number: item for number, item in items.items() if item.domains(day)}
        parents = await self._items(filter(None, (i.parent_id(day) for i in found.values())))
        matches = [
            _match(hits[number], item, query, parents, day)
            for number, item in found.items()
            if number in hits
        ]
        if query.brand is None:
            matches = [match for match in matches if match.score == _ITS_OWN]
        elif query.domain is None:
            matches = _meant(matches, {number: each.articles for number, each in found.items()})
        return tuple(sorted(matches, key=lambda match: -match.score))

    async def _search(self, text: str) -> _Answer:
        """Return the items whose label or an alias begins with *text*."""
        return await self._ask(
            action="wbsearchentities",
            search=text,
            language="en",
            uselang="en",
            type="item",
            limit=str(HITS),
        )

    async def _items(self, numbers: Iterable[str]) -> Mapping[str, _Item]:
        """Return the items with these ids, at most 50; ask nothing for none."""
        if not (ids := sorted(set(numbers))):
            return {}
        answer = await self._ask(
            action="wbgetentities",
            ids="|".join(ids),
            props="labels|aliases|claims|sitelinks",
            languages="en|mul",
        )
        return dict(answer.entities)

    async def _ask(self, **params: str) -> _Answer:
        answer = await self._service.ask(
            {**params, "format": "json", "maxlag": MAX_LAG_S}, _Answer
        )
        if answer.error is None:
            return answer
        # Errors come with status 200 (MediaWiki, "API:Errors and warnings").
        code = answer.error.code
        why = f"Wikidata: {code}: {answer.error.info}"[:_SAID]
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


class WikidataSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of ``[sources.wikidata]``."""

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


def _domains(urls: Iterable[str]) -> Iterator[str]:
    for url in urls:
        try:
            domain = canonical_domain(url)
        except ValueError:
            continue
        if not is_hosted(url):
            yield domain


def _match(
    hit: _Hit, item: _Item, query: Query, parents: Mapping[str, _Item], day: str
) -> BrandMatch:
    domains = item.domains(day)
    at_home = query.domain in domains
    domain = query.domain if query.domain and at_home else domains[0]
    name = item.label or hit.label or hit.match.text or hit.id
    parent = parents.get(item.parent_id(day) or "", _Item())
    parent_domains = parent.domains(day)  # none of a person
    pages = {
        of: page_of(names[0])
        for of, page_of in (
            (LINKEDIN, company_page_of),
            (INSTAGRAM, instagram_of),
            (TIKTOK, tiktok_of),
        )
        if (names := item.says(of, day))
    }
    facts = BrandFacts(
        name=name,
        domain=domain,
        linkedin_company_url=pages.get(LINKEDIN),
        instagram=pages.get(INSTAGRAM),
        tiktok=pages.get(TIKTOK),
        parent_company=parent.label if parent_domains else None,
        aliases=item.other_names[:ALIASES],
        mail_domains=tuple(dict.fromkeys((domain, *parent_domains[:1]))),
    )
    names = (name, hit.match.text, *item.other_names)
    score = _ITS_OWN if at_home else _by_name(query.brand, names)
    return BrandMatch(facts=facts, score=score, key=hit.id)


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
