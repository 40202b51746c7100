"""Which answers of the sources are about one brand, and what they say of it together.  Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from cs.domain.contact import BrandFacts
from cs.domain.names.brand_match import COMPANY, best_likeness, names_host
from cs.plugins.sources import BrandAnswer, BrandMatch

#: Below this a source names something similar, not the brand asked for.
SURE = 0.7
#: Names of sources that read the brand's own site: they need to know which it is.
COMPLETING = frozenset({"website"})
#: Every mail domain costs a check of every person.
MAX_MAIL_DOMAINS = 4

_SINGLE = ("name", "domain", "linkedin_company_url", "parent_company", "instagram", "tiktok")


class SourcedMatch(msgspec.Struct, frozen=True):
    """One match, and the source that has it."""

    source: str
    match: BrandMatch


class BrandCandidate(msgspec.Struct):
    """One brand, with the matches of all sources that have it, the first source first."""

    matches: list[SourcedMatch]

    @property
    def score(self) -> float:
        return max(each.match.score for each in self.matches)

    @property
    def facts(self) -> BrandFacts:
        return merge((each.source, each.match.facts) for each in self.matches)

    def is_called(self, brand: str) -> bool:
        facts = self.facts
        return best_likeness(brand, (facts.name, *facts.aliases)) >= COMPANY


def merge(sourced: Iterable[tuple[str, BrandFacts]]) -> BrandFacts:
    """Merge facts of one brand field by field; the first that has a field is its finder.

    Raises:
        ValueError: *sourced* is empty.
    """
    pairs = list(sourced)
    if not pairs:
        raise ValueError("no facts to merge")
    found_by: dict[str, str] = {}
    single: dict[str, str] = {}
    for source, facts in pairs:
        for field in _SINGLE:
            value = getattr(facts, field)
            if value is not None and field not in single:
                single[field] = value
                found_by[field] = facts.found_by.get(field, source)
    mail = [d for _, f in pairs for d in (single.get("domain"), f.domain, *f.mail_domains) if d]
    return BrandFacts(
        name=single.pop("name"),
        **single,
        aliases=tuple(dict.fromkeys(alias for _, facts in pairs for alias in facts.aliases)),
        mail_domains=tuple(dict.fromkeys(mail))[:MAX_MAIL_DOMAINS],
        found_by=found_by,
    )


def brand_candidates(answers: Sequence[BrandAnswer]) -> list[BrandCandidate]:
    """Return each brand once, however many sources have it."""
    candidates: list[BrandCandidate] = []
    for answer in answers:
        of_others = list(candidates)
        for match in answer.matches:
            sourced = SourcedMatch(answer.source, match)
            known = next((c for c in candidates if _same_brand(c, answer.source, match)), None)
            known = known or _same_site(of_others, match)
            if known is None:
                candidates.append(BrandCandidate([sourced]))
            else:
                known.matches.append(sourced)
    return candidates


def _same_brand(candidate: BrandCandidate, source: str, match: BrandMatch) -> bool:
    if match.key and any(each.match.key == match.key for each in candidate.matches):
        return True
    known, facts = candidate.facts, match.facts
    if known.domain is None or facts.domain is None or not candidate.is_called(facts.name):
        return False
    if known.domain == facts.domain:
        return True
    if any(each.source == source for each in candidate.matches):
        return False  # one source that names two main sites means two brands
    return known.domain in facts.mail_domains or facts.domain in known.mail_domains


def _same_site(
    candidates: Sequence[BrandCandidate], match: BrandMatch
) -> BrandCandidate | None:
    """Return the one of other sources' brands that must be *match* under another name.

    Two sources that are sure of one domain mean its owner; one source that has two names
    there means two brands.
    """
    domain = match.facts.domain
    if domain is None or match.score < SURE:
        return None
    there = [c for c in candidates if c.score >= SURE and c.facts.domain == domain]
    called_so = [c for c in there if names_host(domain, c.facts.name)]
    if called_so:
        return called_so[0]
    return there[0] if len(there) == 1 else None
