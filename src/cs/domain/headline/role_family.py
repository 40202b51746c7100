"""What a role works on: its family, read from the words of its title."""

import re
from enum import StrEnum

from cs.domain.headline import family_words as words
from cs.domain.headline.role_level import ELIGIBLE, Level, has_level, is_level, level_of
from cs.domain.headline.spelling import flat
from cs.domain.names.plain_text import folded


class Family(StrEnum):
    """The four families asked for (contract text 1), in the order they count, and the rest."""

    INFLUENCER = "influencer"
    SOCIAL = "social"
    PARTNERSHIPS = "partnerships"
    BRAND = "brand"
    OTHER = "other"


_JOINT = re.compile(
    r" ?([,&+/|]|(?<![\w-])(?:and|und|et|e|y|i|og|och|ve)(?![\w-])|と|及び|및) ?"
)
_AND = re.compile(r"[&+/]|と|及び|및")
_APART = re.compile(r"[,|;:]")


def family_of(role: str) -> Family:
    """Return the family of *role*, the text of one role without its employer.

    A role that names several is of the first in the order of `Family`.

    >>> family_of("Brand & Social Lead").value
    'social'
    """
    if helps_a_leader(role) or is_creator(role):
        return Family.OTHER
    return family_of_work(role)


def family_of_work(role: str) -> Family:
    """As `family_of`, of a role that is no creator's, and does not help a leader."""
    spoken = _spoken(role)
    if words.TALENT_AGENT.search(spoken) or words.OTHER_WORK.found(
        words.BESIDES.without(spoken)
    ):
        return Family.OTHER
    named = family_named(_of_others(role))
    if named is not Family.OTHER and _is_founder_only(role):
        return Family.OTHER
    return named


def family_named(role: str) -> Family:
    """Return the first family that the words of *role* name, whoever it is that says them."""
    text = _spoken(role)
    if _names_influencers(text):
        return Family.INFLUENCER
    if _names_social(text):
        return Family.SOCIAL
    if _names_partnerships(text):
        return Family.PARTNERSHIPS
    if _names_brand(text):
        return Family.BRAND
    return Family.OTHER


def is_bare(role: str) -> bool:
    """Say whether *role* is a level and nothing else, and no compound of one and a family.

    >>> is_bare("Senior Manager"), is_bare("Brandmanagerin")
    (True, False)
    """
    return is_level(role) and family_named(role) is Family.OTHER


def _folded(role: str) -> str:
    # "SoMe" is what Scandinavians call social media; "some" is a word.
    return folded(role.replace("SoMe", "social media"))


def _spoken(role: str) -> str:
    """Words as they are spoken; commas stay, so that words on both sides are not one phrase."""
    pieces = _APART.split(_AND.sub(" and ", _folded(role)))
    return " , ".join(flat(piece) for piece in pieces)


def helps_a_leader(role: str) -> bool:
    """Say whether *role* helps somebody else lead: "Assistant to the CMO"."""
    text = flat(role)
    if words.LEADERS_ASSISTANT.search(text):
        return True
    if hit := words.ASSISTANT_TO.search(text):
        helped = text[hit.end() :]
        if hit[0].endswith(" de ") and level_of(helped) in _OF_FEW:
            return False  # "asistente de gerente" is an assistant manager
        return words.LEADERSHIP.found(helped) or level_of(helped) not in _HELPERS
    hit = words.ASSISTANT_OF.search(text) or words.ASSISTANT_NEXT_TO.search(text)
    return hit is not None and level_of(text[hit.end() :]) in _HIGH


#: Whom a mere "assistant" with a case ending helps, and is no deputy of.
_HIGH = {Level.DIRECTOR, Level.HEAD, Level.VP, Level.C_LEVEL}
_OF_FEW = {Level.MANAGER, Level.SENIOR_MANAGER}
_HELPERS = {Level.UNKNOWN, Level.COORDINATOR, Level.INTERN}


def is_creator(role: str) -> bool:
    """Say whether *role* is that of a creator, not of somebody who works with creators."""
    pieces = [flat(piece) for piece in _JOINT.split(_folded(role))[::2]]
    return any(pieces) and all(map(_is_creator, filter(None, pieces)))


def _is_creator(piece: str) -> bool:
    names = piece.split(" ")
    # At most five words before: "Fashion, beauty and lifestyle influencer".
    ends = (" ".join(names[-n:]) for n in (1, 2, 3, 4) if len(names) - n <= 5)
    return not words.CREATORS.isdisjoint(ends) and not has_level(piece)


def _of_others(role: str) -> str:
    """Leave out of *role* that its holder is a creator too: "Social Lead & Content Creator"."""
    split = _JOINT.split(_folded(role))
    pieces, joints = split[::2], split[1::2]
    return "".join(
        piece + (f" {joints[n]} " if n < len(joints) else "")
        for n, piece in enumerate(pieces)
        if not _is_creator(flat(piece)) or not _is_besides(n, pieces, joints)
    )


def _is_besides(n: int, pieces: list[str], joints: list[str]) -> bool:
    """Say whether piece *n* is a calling of its own, not a word on what its neighbours do."""
    one_word = len(flat(pieces[n]).split()) == 1
    if one_word and (n == 0 or joints[n - 1] == "," or not _ends_in_level(pieces[n - 1])):
        return False
    return any(
        _ends_in_level(other) or (m > n and has_level(other))
        for m, other in enumerate(pieces)
        if m != n and not is_bare(other)
    )


def _ends_in_level(piece: str) -> bool:
    last = flat(piece).rpartition(" ")[2]
    return not is_bare(piece) and has_level(last)


def _is_founder_only(role: str) -> bool:
    """Founders, owners and CEOs lead a firm; its trade is not their role."""
    if not words.FOUNDER.found(flat(role)):
        return False
    others = [
        piece
        for piece in _JOINT.split(_folded(role))[::2]
        if not words.FOUNDER.found(flat(piece)) and level_of(piece) in ELIGIBLE
    ]
    return all(family_named(piece) is Family.OTHER for piece in others)


def _names_influencers(text: str) -> bool:
    text = words.NOT_INFLUENCER.without(text)
    return words.INFLUENCER.found(text)


def _names_social(text: str) -> bool:
    text = text.replace("social media", "socialmedia")
    if words.SOCIAL.found(words.NOT_SOCIAL.without(text)):
        return True
    return words.COMMUNITY.found(text) and not words.OTHER_COMMUNITY.found(text)


def is_community(role: str) -> bool:
    """Say whether *role* is of the social family only by its community."""
    text = _spoken(role).replace("social media", "socialmedia")
    return words.COMMUNITY.found(text) and not words.SOCIAL.found(
        words.NOT_SOCIAL.without(text)
    )


def _names_partnerships(text: str) -> bool:
    text = words.NOT_PARTNERSHIPS.without(text)
    if not words.PARTNERSHIPS.found(text):
        return False
    if words.MARKETING_PARTNERS.found(text):
        return True
    return not (words.OTHER_PARTNERS.found(text) or words.NOT_SOCIAL.found(text))


def _names_brand(text: str) -> bool:
    if words.NO_BRAND_WORK.found(words.BESIDES.without(text)):
        return False
    text = words.NOT_BRAND.without(text)
    if words.FOR_BRANDS.found(text):
        text = words.BRANDS.without(text)
    return words.BRAND.found(text)
