"""Which brand is meant, by the answers of the sources, and what they say of it.  Pure.

A wrong brand sells a stranger's people, a miss costs one more question (contract
R7): two brands that answer a bare name equally well are ambiguous, and an asked domain
decides (B4), with the asked brand as the name of a brand of the domain's owner.

A hint at a brand's site comes from a source whose attribute ``hints`` is true: a search
engine's panel, a company file.  It may be another company of the name, so it counts only if
the home page there is called as the brand is.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from cs.domain.contact import BrandFacts, Query
from cs.domain.names.brand_match import (
    COMPANY,
    begins_with,
    best_likeness,
    is_house,
    is_shared,
    likeness,
    name_keys,
    names_host,
)
from cs.domain.names.brand_names import sites_of
from cs.domain.names.typos import is_typo
from cs.plugins.sources import BrandAnswer, BrandMatch, BrandSource

Status = Literal["matched", "no_match", "ambiguous"]

#: Below this a source names something similar, not the brand asked for.
SURE = 0.7
#: Names of sources that read the brand's own site: they need to know which it is.
COMPLETING = frozenset({"website"})
#: Every mail domain costs a check of every person.
MAX_MAIL_DOMAINS = 4

_SINGLE = ("name", "domain", "linkedin_company_url", "parent_company", "instagram", "tiktok")

#: Scores this close are alike.  An exact name (0.9) and the same without its accents
#: (0.87) are not: "Nike" is not "Niké" while there is a brand written as asked.
ALIKE = 0.02

#: Less than this is not counted among what may be meant.
PLAUSIBLE = 0.1
#: Of a name next to the owner's own domain more may be wrong than of a name alone.
_TYPO_AT_HOME = 0.2

#: In ``found_by``: sent by the caller, and found by no source.
ASKED = "query"
#: The score of a brand whose own site is called as it is, and that no other source knows.
CONFIRMED = 0.75
#: Sites of one answer that are looked at: each is a request to a stranger.
SITES = 2


#: The source of the operator's own brands (`cs.sources.brand.imported`).
OWN_LIST = "imported"


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
        return best_likeness(brand, _names(facts)) >= COMPANY


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


class BrandChoice(msgspec.Struct, frozen=True):
    """Which brand is meant.

    Attributes:
        score: How likely it is that the brand of ``facts`` is meant, 0 to 1; of one that was
            not pinned down, how likely the likeliest is.
    """

    status: Status
    facts: BrandFacts | None = None
    score: float = 0.0


def choose(query: Query, answers: Sequence[BrandAnswer]) -> BrandChoice:
    """Choose the brand of *query* from *answers*, which are in falling order of trust."""
    every = brand_candidates(answers)
    if query.domain is not None:
        return _by_domain(every, query.domain, query.brand)
    with_site = [c for c in every if c.facts.domain is not None]
    found = _best(with_site if any(c.score >= SURE for c in with_site) else every)
    if query.brand is not None and _is_anyones(query.brand, every, found.facts):
        return BrandChoice("ambiguous", score=found.score / 2)
    return found


def _is_anyones(asked: str, every: Sequence[BrandCandidate], found: BrandFacts | None) -> bool:
    """Return whether *asked* is a word of several brands, listed or not.

    So is a name that is only like the one that is *found*, if that is such a word.  The
    operator's own list is believed.
    """
    own = (c for c in every if any(each.source == OWN_LIST for each in c.matches))
    if any(c.score >= SURE for c in own):
        return False
    if is_shared(asked, (name for c in every for name in _names(c.facts))):
        return True
    return (
        found is not None and is_shared(found.name) and not best_likeness(asked, _names(found))
    )


def _names(facts: BrandFacts) -> tuple[str, ...]:
    return facts.name, *facts.aliases


def _best(candidates: Sequence[BrandCandidate]) -> BrandChoice:
    """Return the candidate that scores highest, unless another scores alike.

    Several that are not sure and would be together are ambiguous: one of them is meant.
    """
    if not candidates:
        return BrandChoice("no_match")
    best = max(candidates, key=lambda c: c.score)
    rivals = [c for c in candidates if c is not best]
    if best.score >= SURE:
        if any(best.score - c.score <= ALIKE for c in rivals):
            return BrandChoice("ambiguous", score=best.score / 2)
        return BrandChoice("matched", best.facts, best.score)
    together = sum(c.score for c in candidates if c.score >= PLAUSIBLE)
    meant = rivals and together >= SURE
    return BrandChoice("ambiguous" if meant else "no_match", score=best.score)


def _by_domain(every: Sequence[BrandCandidate], domain: str, brand: str | None) -> BrandChoice:
    sure = [c for c in every if c.score >= SURE]
    at_home = [c for c in sure if _is_home_of(c, domain)]
    if brand is None:
        return _owner(at_home)
    owner = _owner([c for c in at_home if not c.is_called(brand)])
    called = [c for c in sure if c.is_called(brand)]
    living = [c for c in called if _lives_at(c, domain, owner)]
    named = _best([c for c in living if c.facts.domain == domain] or living)
    if named.facts is not None:
        facts = _with_owner(named.facts, domain, owner.facts)
        return BrandChoice("matched", facts, named.score)
    if named.status == "ambiguous":
        return named
    if owner.facts is None:
        return BrandChoice("ambiguous" if at_home or called else "no_match")
    return _of_owner(owner, domain, brand, known_elsewhere=bool(called))


def _of_owner(
    owner: BrandChoice, domain: str, brand: str, *, known_elsewhere: bool
) -> BrandChoice:
    """Choose for a *brand* that no source has at the *domain*, whose owner is known."""
    assert owner.facts is not None
    named_so = names_host(domain, brand) or _shortens(owner.facts, brand)
    if not named_so and known_elsewhere:
        return BrandChoice("ambiguous", score=owner.score / 2)
    if not (named_so or _lengthens(owner.facts, brand) or _has_brands(owner.facts)):
        return BrandChoice("ambiguous", score=owner.score / 2)
    facts = _by_other_name(owner.facts, domain, brand)
    return BrandChoice("matched", facts, owner.score)


def _shortens(owner: BrandFacts, brand: str) -> bool:
    """Say whether *brand* is how the owner's name begins: "Delta" at deltafaucet.com."""
    return any(begins_with(name, brand) for name in (owner.name, *owner.aliases))


def _lengthens(owner: BrandFacts, brand: str) -> bool:
    """Say whether *brand* is the owner's name with more words, or a typo of it."""
    names = (owner.name, *owner.aliases)
    if any(begins_with(brand, name) for name in names):
        return True
    key = name_keys(brand).company
    return any(is_typo(key, name_keys(name).company, _TYPO_AT_HOME) for name in names)


def _has_brands(owner: BrandFacts) -> bool:
    """Say whether *owner* is known by brands of other names, as Unilever is.

    Of an owner that only its own site names nothing is known: a title may say anything.
    """
    return is_house(owner.name) or owner.found_by.get("name") in COMPLETING


def _owner(at_home: Sequence[BrandCandidate]) -> BrandChoice:
    """Return the brand whose site it is; of several, the one that several sources know."""
    choice = _best(at_home)
    if choice.status != "ambiguous":
        return choice
    agreed = _best([c for c in at_home if len({each.source for each in c.matches}) > 1])
    return agreed if agreed.facts else choice


def _is_home_of(candidate: BrandCandidate, domain: str) -> bool:
    """Say whether a source that is sure has *domain*, or one above it, as the brand's."""
    facts = candidate.facts
    if facts.domain == domain:
        return True
    named = {facts.domain, *facts.mail_domains}
    return any(site in named for site in sites_of(domain))


def _lives_at(candidate: BrandCandidate, domain: str, owner: BrandChoice) -> bool:
    """Say whether a source ties *candidate* to *domain* or to the owner of it."""
    facts = candidate.facts
    if _is_home_of(candidate, domain):
        return True
    if owner.facts is None or facts.parent_company is None:
        return False
    return likeness(facts.parent_company, owner.facts.name) >= COMPANY


def _by_other_name(owner: BrandFacts, domain: str, brand: str) -> BrandFacts:
    """Return the facts of *brand*, a name that no source has, at *owner*'s *domain*."""
    if _shortens(owner, brand) or _lengthens(owner, brand):
        return owner
    if not names_host(domain, brand):
        return _brand_of(owner, brand)
    return msgspec.structs.replace(
        owner,
        name=brand,
        aliases=(owner.name, *owner.aliases),
        found_by=owner.found_by | {"name": ASKED},
    )


def _with_owner(facts: BrandFacts, domain: str, owner: BrandFacts | None) -> BrandFacts:
    """Return *facts* of a brand found by name, with the *domain* it was asked with."""
    mail = tuple(dict.fromkeys((*facts.mail_domains, domain)))
    if domain not in mail[:MAX_MAIL_DOMAINS]:
        mail = (*mail[: MAX_MAIL_DOMAINS - 1], domain)
    facts = msgspec.structs.replace(facts, mail_domains=mail)
    if owner is None or facts.parent_company is not None or names_host(domain, facts.name):
        return facts
    if best_likeness(facts.name, (owner.name, *owner.aliases)) >= COMPANY:
        return facts
    return msgspec.structs.replace(
        facts,
        parent_company=owner.name,
        found_by=facts.found_by | {"parent_company": owner.found_by["name"]},
    )


def _brand_of(owner: BrandFacts, brand: str) -> BrandFacts:
    """Return what is known of *brand*, unknown by itself, at its owner's site.

    The company page is the owner's, where its people are; the owner's own Instagram and
    TikTok are not this brand's.
    """
    found_by = {"name": ASKED, "parent_company": owner.found_by["name"]}
    shared = ("domain", "linkedin_company_url")
    return BrandFacts(
        name=brand,
        domain=owner.domain,
        linkedin_company_url=owner.linkedin_company_url,
        parent_company=owner.name,
        mail_domains=owner.mail_domains,
        found_by=found_by | {f: owner.found_by[f] for f in shared if f in owner.found_by},
    )


def on_owners_site(facts: BrandFacts) -> bool:
    """Say whether the domain of *facts* is its parent's site, not the brand's own."""
    if facts.domain is None or facts.parent_company is None:
        return False
    if names_host(facts.domain, facts.name):
        return False
    named_by_caller = facts.found_by.get("name") == ASKED
    return named_by_caller or names_host(facts.domain, facts.parent_company)


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
        query: A name that no source knew.
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
