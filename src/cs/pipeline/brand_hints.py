"""Hints at a brand's site, and what the site says of them.  Pure.

A hint comes from a source whose attribute ``hints`` is true: a search engine's panel, a company
file.  It may be another company of the name, so it counts only if the home page there is called
as the brand is.
"""

from collections.abc import Sequence

from cs.domain.contact import Query
from cs.domain.names.brand_match import COMPANY, best_likeness
from cs.pipeline.brand_candidates import SURE, merge
from cs.pipeline.brand_choice import BrandChoice
from cs.plugins.sources import BrandAnswer, BrandSource

#: The score of a brand whose own site is called as it is, and that nobody else knows.
CONFIRMED = 0.75
#: Sites of one answer that are looked at: each is a request to a stranger.
SITES = 2


def is_hinting(source: BrandSource) -> bool:
    """Return whether what *source* names has to be confirmed by the brand's own site."""
    return getattr(source, "hints", False) is True


def hinted_domains(answers: Sequence[BrandAnswer]) -> list[str]:
    """Return the domains to look at, likeliest first."""
    named = [match.facts.domain for answer in answers for match in answer.matches]
    return list(dict.fromkeys(domain for domain in named if domain))[:SITES]


def confirmed_hint(
    query: Query, hints: Sequence[BrandAnswer], site: Sequence[BrandAnswer]
) -> BrandChoice | None:
    """Return the brand of *query* if a *site* that was hinted at says that it is its own.

    Args:
        query: A name that nobody knew.
        hints: What all sources but the site said, hints among it.
        site: What was read where they hint at.
    """
    if query.brand is None:
        return None
    hinted = [(a.source, m) for a in hints for m in a.matches if m.score < SURE]
    for answer in site:
        for match in answer.matches:
            domain = match.facts.domain
            names = (match.facts.name, *match.facts.aliases)
            same = [(source, m.facts) for source, m in hinted if m.facts.domain == domain]
            if same and match.score >= SURE and best_likeness(query.brand, names) >= COMPANY:
                facts = merge([(answer.source, match.facts), *same])
                return BrandChoice("matched", facts, CONFIRMED)
    return None
