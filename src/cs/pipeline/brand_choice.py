"""Which brand is meant, given the answers of the sources.  Pure.

A wrong brand sells a stranger's people, a miss costs one more question (contract
R7): two brands that answer a bare name equally well are ambiguous, and an asked domain
decides (B4), with the asked brand as the name of a brand of the domain's owner.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from cs.domain.contact import BrandFacts, Query
from cs.domain.names.brand_match import (
    COMPANY,
    begins_with,
    best_likeness,
    likeness,
    names_host,
)
from cs.plugins.sources import BrandAnswer, BrandMatch

Status = Literal["matched", "no_match", "ambiguous"]

#: Below this a source names something similar, not the brand asked for.
SURE = 0.7
#: Scores this close are alike.  An exact name (0.9) and the same without its accents
#: (0.87) are not: "Nike" is not "Niké" while there is a brand written as asked.
ALIKE = 0.02
#: Every mail domain costs a check of every person.
MAX_MAIL_DOMAINS = 4

#: In ``found_by``: sent by the caller, and found by no source.
ASKED = "query"

_SINGLE = ("name", "domain", "linkedin_company_url", "parent_company", "instagram", "tiktok")


class BrandChoice(msgspec.Struct, frozen=True):
    status: Status
    facts: BrandFacts | None = None


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


def choose(query: Query, answers: Sequence[BrandAnswer]) -> BrandChoice:
    """Choose the brand of *query* from *answers*, given in falling order of trust."""
    candidates = [c for c in _candidates(answers) if c.score >= SURE]
    if query.domain is not None:
        return _by_domain(candidates, query.domain, query.brand)
    with_site = [c for c in candidates if c.facts.domain is not None]
    return _best(with_site or candidates)


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


def _candidates(answers: Sequence[BrandAnswer]) -> list[BrandCandidate]:
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

    Two sources that are sure of one domain mean its owner; one source that tells of two
    names there means two brands.
    """
    domain = match.facts.domain
    if domain is None or match.score < SURE:
        return None
    there = [c for c in candidates if c.score >= SURE and c.facts.domain == domain]
    called_so = [c for c in there if names_host(domain, c.facts.name)]
    return next(iter(called_so or there), None) if len(there) == 1 or called_so else None


def _best(candidates: Sequence[BrandCandidate]) -> BrandChoice:
    """Return the candidate that scores highest, unless another scores alike."""
    if not candidates:
        return BrandChoice("no_match")
    best = max(candidates, key=lambda c: c.score)
    if any(c is not best and best.score - c.score <= ALIKE for c in candidates):
        return BrandChoice("ambiguous")
    return BrandChoice("matched", best.facts)


def _by_domain(
    candidates: Sequence[BrandCandidate], domain: str, brand: str | None
) -> BrandChoice:
    at_home = [c for c in candidates if c.facts.domain == domain]
    if brand is None:
        return _owner(at_home)
    owner = _owner([c for c in at_home if not c.is_called(brand)])
    called = [c for c in candidates if c.is_called(brand) and _lives_at(c, domain, owner)]
    named = _best([c for c in called if c.facts.domain == domain] or called)
    if named.facts is not None:
        return BrandChoice("matched", _with_owner(named.facts, domain, owner.facts))
    if named.status == "ambiguous" or owner.facts is None:
        return BrandChoice("ambiguous" if at_home else "no_match")
    return BrandChoice("matched", _by_other_name(owner.facts, domain, brand))


def _owner(at_home: Sequence[BrandCandidate]) -> BrandChoice:
    """Return the brand whose site it is; of several, the one that several sources know."""
    choice = _best(at_home)
    if choice.status != "ambiguous":
        return choice
    agreed = _best([c for c in at_home if len({each.source for each in c.matches}) > 1])
    return agreed if agreed.facts else choice


def _lives_at(candidate: BrandCandidate, domain: str, owner: BrandChoice) -> bool:
    """Tell whether a source ties *candidate* to *domain* or to the owner of it."""
    facts = candidate.facts
    if domain in {facts.domain, *facts.mail_domains}:
        return True
    if owner.facts is None or facts.parent_company is None:
        return False
    return likeness(facts.parent_company, owner.facts.name) >= COMPANY


def _by_other_name(owner: BrandFacts, domain: str, brand: str) -> BrandFacts:
    """Return the facts of *brand*, a name that no source has, at *owner*'s *domain*."""
    if begins_with(owner.name, brand):  # "Delta" at deltafaucet.com
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
    kept = ("domain", "linkedin_company_url")
    return BrandFacts(
        name=brand,
        domain=owner.domain,
        linkedin_company_url=owner.linkedin_company_url,
        parent_company=owner.name,
        mail_domains=owner.mail_domains,
        found_by=found_by | {f: owner.found_by[f] for f in kept if f in owner.found_by},
    )


def on_owners_site(facts: BrandFacts) -> bool:
    """Tell whether the domain of *facts* is its parent's site, not the brand's own."""
    if facts.domain is None or facts.parent_company is None:
        return False
    if names_host(facts.domain, facts.name):
        return False
    named_by_caller = facts.found_by.get("name") == ASKED
    return named_by_caller or names_host(facts.domain, facts.parent_company)
