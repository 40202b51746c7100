"""A comma list within one part of a headline: the role, its scope, an employer, asides."""

import re

from cs.domain.headline import words
from cs.domain.headline.employer import LEGAL, is_work, named_last
from cs.domain.headline.family_words import FOUNDER
from cs.domain.headline.role_family import Family, family_named, is_bare, is_creator
from cs.domain.headline.role_level import has_level
from cs.domain.headline.scope_words import (
    SEVERAL,
    is_firm,
    is_offer,
    is_place,
    is_scope,
    looks_like_a_name,
)
from cs.domain.headline.spelling import flat


def by_commas(text: str, *, marked: bool) -> tuple[str, str | None]:
    """Return the role in a comma list, and the employer if an unmarked one is in it."""
    pieces = [piece.strip() for piece in re.split(r"\s*,\s+|,(?=\D)", text) if piece.strip()]
    first = next((n for n, piece in enumerate(pieces) if _begins_role(piece)), None)
    if first is None or len(pieces) == 1:
        return without_asides(text), None
    role, company = [without_asides(pieces[first])], None
    if first == 1 and not marked and _is_one_name(pieces[0]):
        company = pieces[0]
        marked = True
    for n, piece in enumerate(pieces[first + 1 :], first + 1):
        if LEGAL.fullmatch(piece):
            continue
        if SEVERAL.found(flat(piece)) and words.RECRUITER.found(flat(role[0])):
            continue
        if words.FILLER.found(flat(piece)) or words.NO_ROLE.found(flat(piece)):
            break
        if is_offer(piece) and not marked:
            company = company or named_last(piece)
            break
        leads_firm = (
            FOUNDER.found(flat(role[0])) and not has_level(piece) and not is_place(piece)
        )
        if not marked and is_work(piece) and _is_before_name(pieces, n):
            role.append(piece)
            continue
        if not marked and ((is_firm(piece) and not is_scope(piece)) or leads_firm):
            company = piece
            break
        if marked or is_scope(piece) or is_place(piece) or has_level(piece):
            role.append(piece)
        elif looks_like_a_name(piece) and not (is_bare(pieces[first]) and is_work(piece)):
            if ":" not in pieces[first] and _is_line_of_brand(pieces, n):
                role.append(piece)
                continue
            company = piece
            break
        elif is_work(piece) or _is_before_name(pieces, n):
            role.append(piece)
        else:
            break
    return ", ".join(role), company


def _is_one_name(piece: str) -> bool:
    """Say whether *piece*, before a role, is its employer: "Sephora, Director of Social"."""
    single = " " not in piece and looks_like_a_name(piece) and not is_work(piece)
    return (single or is_firm(piece)) and not words.NO_ROLE.found(flat(piece))


def _is_before_name(pieces: list[str], n: int) -> bool:
    """Say whether piece *n* is a few words before the employer: "student living, Unite"."""
    following = pieces[n + 1 : n + 2]
    few = len(pieces[n].split()) <= 3 and not words.TAGLINE.match(pieces[n])
    return (
        few
        and bool(following)
        and looks_like_a_name(following[0])
        and not is_place(following[0])
    )


def _is_line_of_brand(pieces: list[str], n: int) -> bool:
    """Say whether piece *n* is whose brand it is: "Brand Manager, Dove, Unilever"."""
    following = pieces[n + 1 : n + 2]
    return (
        bool(following)
        and family_named(pieces[0]) is Family.BRAND
        and looks_like_a_name(following[0])
        and not (is_place(following[0]) or LEGAL.fullmatch(following[0]) or is_firm(pieces[n]))
        and not words.NO_ROLE.found(flat(following[0]))
    )


def _begins_role(piece: str) -> bool:
    text = flat(piece)
    if words.NO_ROLE.found(text) or words.FILLER.found(text) or words.TAGLINE.match(piece):
        return False
    return (
        has_level(piece)
        or family_named(piece) is not Family.OTHER
        or (words.CALLING.found(text))
    )


def without_asides(text: str) -> str:
    """Leave out a mere calling next to a role: "Speaker & Head of Social"."""
    for joint in (" & ", " and ", " + "):
        left, found, right = text.partition(joint)
        if found and _is_aside(left) and has_level(right):
            return right
        if found and _is_aside(right) and has_level(left):
            return left
    return text


def _is_aside(text: str) -> bool:
    words_of = flat(text)
    mere = words.FILLER.found(words_of) or (" " in words_of and is_creator(text))
    return mere and not has_level(text)
