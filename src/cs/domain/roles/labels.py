"""Family and level of a role, read from its labels."""

import re
from enum import StrEnum

from cs.domain.roles.lexicon import LEVELS
from cs.domain.roles.piece import piece


class Family(StrEnum):
    """The four families asked for (contract text 1), in the order they count, and the rest."""

    INFLUENCER = "influencer"
    SOCIAL = "social"
    PARTNERSHIPS = "partnerships"
    BRAND = "brand"
    OTHER = "other"


class Level(StrEnum):
    INTERN = "intern"
    COORDINATOR = "coordinator"  # also specialist, associate, executive (UK), analyst, ...
    MANAGER = "manager"
    SENIOR_MANAGER = "senior_manager"
    DIRECTOR = "director"
    HEAD = "head"
    VP = "vp"
    C_LEVEL = "c_level"
    UNKNOWN = "unknown"


_HIGH = frozenset({Level.DIRECTOR, Level.HEAD, Level.VP, Level.C_LEVEL})
#: "Manager level and up" (contract text 1).
ELIGIBLE = _HIGH | {Level.MANAGER, Level.SENIOR_MANAGER}
_GROUP = re.compile(r"\bgroup (?:\w+ ){0,3}manager")


def level_of(role: str) -> Level:
    """Return the level of *role*, the text of one role.

    Of several level words the highest counts, in the order c_level, vp, head or director
    (the one written first), senior_manager, manager; but an intern stays an intern, and an
    assistant or junior manager is a coordinator.

    >>> level_of("SVP, Head of Brand").value
    'vp'
    """
    text = piece(role)
    if text.has("intern"):
        return Level.INTERN
    if text.has("c_level"):
        return Level.C_LEVEL
    if text.has("vp"):
        return Level.VP
    few = {hit.end for hit in text.hits if hit.kind == "few"}
    leaders = [h for h in text.hits if h.kind in {"head", "director"} and h.end not in few]
    if leaders:
        first = min(leaders, key=lambda hit: (hit.start, hit.kind == "director"))
        return Level.HEAD if first.kind == "head" else Level.DIRECTOR
    if text.has("manager", "few"):
        if text.has("under"):
            return Level.COORDINATOR
        is_senior = text.has("senior") or _GROUP.search(text.flat)
        return Level.SENIOR_MANAGER if is_senior else Level.MANAGER
    return Level.COORDINATOR if text.has("coordinator") else Level.UNKNOWN


_LEVEL_WORDS = LEVELS | {"senior", "under", "few", "bare"}


def is_bare(role: str) -> bool:
    """Say whether *role* is a level and nothing else, and no compound of one and a family.

    >>> is_bare("Senior Manager"), is_bare("Brandmanagerin")
    (True, False)
    """
    text = piece(role)
    if not text.has_level or family_named(role) is not Family.OTHER:
        return False
    return not text.left(_LEVEL_WORDS)


_JOINT = re.compile(
    r"\s?([,&+/|]|(?<![\w-])(?:and|und|et|e|y|i|og|och|ve)(?![\w-])|と|及び|및)\s?",
    re.IGNORECASE,
)


def family_of(role: str) -> Family:
    """Return the family of *role*, the text of one role without its employer.

    A role that names several is of the first in the order of `Family`.

    >>> family_of("Brand & Social Lead").value
    'social'
    """
    is_other = piece(role).has("other_work") or _is_founder_only(role)
    return Family.OTHER if is_other else family_named(role)


def family_named(role: str) -> Family:
    """Return the first family that the words of *role* name."""
    text = piece(role)
    if text.has("influencer"):
        return Family.INFLUENCER
    if text.has("social") or (text.has("community") and not text.has("other_community")):
        return Family.SOCIAL
    if text.has("partnerships") and (
        text.has("marketing_partners") or not text.has("other_partners", "no_social")
    ):
        return Family.PARTNERSHIPS
    if text.has("brand") and not text.has("no_brand_work"):
        brands = {hit[:2] for hit in text.hits if hit.kind == "brands"}
        if not text.has("for_brands") or any(
            hit.kind == "brand" and not any(s <= hit.start and hit.end <= e for s, e in brands)
            for hit in text.hits
        ):
            return Family.BRAND
    return Family.OTHER


def names_role(text: str) -> bool:
    """Say whether *text* has a level or a family."""
    return piece(text).has_level or family_named(text) is not Family.OTHER


def is_work(text: str) -> bool:
    """Say whether *text* speaks of a role or a line of work and not of a firm."""
    return piece(text).is_scope or names_role(text)


def is_community(role: str) -> bool:
    """Say whether *role* is of the social family only by its community."""
    text = piece(role)
    return text.has("community") and not text.has("social")


def is_creator(role: str) -> bool:
    """Say whether *role* is that of a creator, not of a person who works with creators."""
    pieces = [each for each in _JOINT.split(role)[::2] if each.strip()]
    return bool(pieces) and all(map(_is_creator, pieces))


def _is_creator(role: str) -> bool:
    """Say whether *role* ends in a creator: "Fashion, beauty and lifestyle influencer"."""
    text = piece(role)
    if not text.tokens or text.has_level:
        return False
    end = text.tokens[-1].end
    return any(
        hit.kind == "creator" and hit.end == end and text.text.count(" ", 0, hit.start) <= 5
        for hit in text.hits
    )


def _is_founder_only(role: str) -> bool:
    """Founders, owners and CEOs lead a firm; its trade is not their role."""
    if not piece(role).has("founder"):
        return False
    others = [
        each
        for each in _JOINT.split(role)[::2]
        if not piece(each).has("founder") and level_of(each) in ELIGIBLE
    ]
    return all(family_named(each) is Family.OTHER for each in others)


#: Between an assistant and the one who is helped.
_ASSISTS = re.compile(
    r"(?: (?:e[jx]ecutiv[aeo]|pessoal|particular|administrativ[ao]))? (?P<of>to|for|of|der|des|"
    r"dem|von|del?|dell|della|do|da|du|di|d|alla?|a la|a l|al|a|au|an|van het|van de|van|till?|"
    r"dla|av|fur(?: die| den)?) "
)
#: Words after "to" in which a leader is named: "Deputy to the Chief Brand Officer".
_NEAR = 4
_LEADERS = frozenset({"head", "director", "vp", "c_level", "leaders"})


def helps_a_leader(role: str) -> bool:
    """Say whether *role* helps another person lead: "Assistant to the CMO"."""
    text = piece(role).flat
    helped = piece(" ".join(text.partition(" to ")[2].split()[:_NEAR]))
    if helped.has("leadership", *_LEADERS):
        return True
    hits = piece(text).hits
    leaders = {end for hit in hits if hit.kind in _LEADERS for end in (hit.end, hit.end + 1)}
    for each in hits:
        if each.kind == "assistant_after" and each.start in leaders:
            return True  # "director's assistant"
        if each.kind == "assistant" and (of := _ASSISTS.match(text, each.end)):
            rest = text[of.end() :]
            # "asistente de gerente" is an assistant manager
            levels = _HIGH if of["of"] == "de" else ELIGIBLE
            return piece(rest).has("leadership") or level_of(rest) in levels
        if each.kind == "assistant_of" and level_of(text[each.end :]) in _HIGH:
            return True
    return False
