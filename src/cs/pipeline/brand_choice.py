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
    likeness,
    names_host,
)
from cs.pipeline.brand_candidates import (
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

#: In ``found_by``: sent by the caller, and found by no source.
ASKED = "query"


class BrandChoice(msgspec.Struct, frozen=True):
    status: Status
    facts: BrandFacts | None = None


def choose(query: Query, answers: Sequence[BrandAnswer]) -> BrandChoice:
    """Choose the brand of *query* from *answers*, which are in falling order of trust."""
    candidates = [c for c in brand_candidates(answers) if c.score >= SURE]
    if query.domain is not None:
        return _by_domain(candidates, query.domain, query.brand)
    with_site = [c for c in candidates if c.facts.domain is not None]
    return _best(with_site or candidates)


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
    """Say whether a source ties *candidate* to *domain* or to the owner of it."""
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
