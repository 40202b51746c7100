"""The site of a brand by Google's panel and first results, through Serper.

A question costs one credit: ten results are enough.
"""

import msgspec

from cs.domain.names.brand_match import COMPANY, likeness, names_host
from cs.domain.names.brand_names import Unacceptable, canonical_domain
from cs.plugins.hosted import BrandAdapter, BrandMatch, Query, Question, named
from cs.sources.people.serper import SerperSettings

#: Results that are looked at: what stands further down is a shop or a paper.
_FIRST = 3
_RESULTS = 10


class _Panel(msgspec.Struct):
    title: str | None = None
    website: str | None = None


class _PanelResult(msgspec.Struct):
    title: str = ""
    link: str = ""


class _PanelAnswer(msgspec.Struct):
    panel: _Panel | None = msgspec.field(default=None, name="knowledgeGraph")
    organic: tuple[_PanelResult, ...] = ()


def read(answer: _PanelAnswer, query: Query) -> list[BrandMatch]:
    """Return the sites that may be the brand's, likeliest first."""
    brand = query.brand or ""
    return [named(brand, domain, query) for domain in dict.fromkeys(_sites(answer, brand))]


def _sites(answer: _PanelAnswer, brand: str) -> list[str]:
    """Return the domains that may be *brand*'s: the panel's, then results called so."""
    found = []
    panel = answer.panel
    if panel is not None and panel.title and likeness(brand, panel.title) >= COMPANY:
        found.append(panel.website or "")
    found += [result.link for result in answer.organic[:_FIRST]]
    domains = []
    for place, link in enumerate(found):
        try:
            domain = canonical_domain(link)
        except Unacceptable:
            continue
        is_panels = place == 0 and len(found) > len(answer.organic[:_FIRST])
        if is_panels or names_host(domain, brand):
            domains.append(domain)
    return domains


ADAPTER = BrandAdapter(
    name="serper",
    settings=SerperSettings,
    key_header="x-api-key",
    hints=True,
    question=lambda query: Question(
        path="/search", json={"q": f"{query.brand} official site", "num": _RESULTS}
    ),
    answer=_PanelAnswer,
    read=read,
    trial=Question(path="/search", json={"q": "linkedin", "num": _RESULTS}),
)
from_context = ADAPTER.from_context
