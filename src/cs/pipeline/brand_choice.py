"""Which brand is meant, by the answers of the sources.  Pure.

A wrong brand sells a stranger's people, a miss costs one more question (contract
R7): two brands that answer a bare name equally well are ambiguous, and an asked domain
decides (B4), with the asked brand as the name of a brand of the domain's owner.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from cs.domain.contact import BrandFacts, Query
from cs.domain.names.brand_match import (
    COMPANY,
    begins_with,
    best_likeness,
    is_house,
    likeness,
    name_keys,
    names_host,
)
from cs.domain.names.brand_names import sites_of
from cs.domain.names.typos import is_typo
from cs.pipeline.brand_candidates import (
    COMPLETING,
    MAX_MAIL_DOMAINS,
    SURE,
    BrandCandidate,
    brand_candidates,
)
from cs.plugins.sources import BrandAnswer

Status = Literal["matched", "no_match", "ambiguous"]

#: Scores this close are alike.  An exact name (0.9) and the same without its accents
#: (0.87) are not: "Nike" is not "Niké" while there is a brand written as asked.
ALIKE = 0.02

#: Less than this is not counted among what may be meant.
PLAUSIBLE = 0.1
#: Of a name beside the owner's own domain more may be wrong than of a name alone.
_TYPO_AT_HOME = 0.2

#: In ``found_by``: sent by the caller, and found by no source.
ASKED = "query"


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
    return _best(with_site if any(c.score >= SURE for c in with_site) else every)


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
