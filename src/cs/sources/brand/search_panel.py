"""The site of a brand by Google's panel and first results, through Serper.

A question costs one credit: ten results are enough.
"""

import msgspec

from cs.domain.names.brand_match import COMPANY, likeness, names_host
from cs.domain.names.brand_names import Unacceptable, canonical_domain
from cs.plugins.sources import BrandFacts, Question
from cs.sources.adapters import HintingBrandSource, factory
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


class SearchPanel(HintingBrandSource[SerperSettings]):
    name = "serper"
    check_question = Question(path="/search", json={"q": "linkedin", "num": _RESULTS})

    async def _ask(self, brand: str) -> list[BrandFacts]:
        body = {"q": f"{brand} official site", "num": _RESULTS}
        answer = await self.ask(Question(path="/search", json=body), _PanelAnswer)
        found = dict.fromkeys(_sites(answer, brand) if answer else ())
        return [
            BrandFacts(name=brand, domain=domain, mail_domains=(domain,)) for domain in found
        ]


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


from_context = factory(SearchPanel, SerperSettings)
