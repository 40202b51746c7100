"""A headline read: the roles its writer says they hold, and where.

Reading goes part by part.  A part is a role (it has a level word, a calling or an
employer), a name (perhaps the employer of the role next to it), a topic (a line of
work, nobody's role) or nothing of interest.
"""

import re

import msgspec

from cs.domain.headline import words
from cs.domain.headline.comma_list import by_commas
from cs.domain.headline.employer import last_name, split_at
from cs.domain.headline.items import Item, Kind, join_items, topic_as_role
from cs.domain.headline.parts import Part, parts
from cs.domain.headline.role_family import Family, family_named, is_creator
from cs.domain.headline.role_level import has_level
from cs.domain.headline.scope_words import (
    ROLES_TO_FILL,
    SEVERAL,
    is_address,
    is_firm,
    is_offer,
    is_place,
    is_scope,
    looks_like_a_name,
)
from cs.domain.headline.spelling import flat
from cs.domain.headline.unspaced import split_firm


class ClaimedRole(msgspec.Struct, frozen=True):
    """A role somebody says they hold, as written, and with whom.

    ``is_left``: they name no employer of today with it, and one of the past.
    """

    role: str
    company: str | None = None
    is_left: bool = False


class HeadlineReading(msgspec.Struct, frozen=True):
    """What a headline says: the roles of today in order, and the lines of work it lists."""

    claims: tuple[ClaimedRole, ...] = ()
    topics: tuple[str, ...] = ()


_NETWORK = re.compile(
    r"\s*(?:[|•·]|[-–—])\s*(?:LinkedIn|领英|領英|링크드인)(?:\s[^|]{0,30})?\s*$", re.IGNORECASE
)
#: Whom a recruiter finds.
_FOR_ROLES = re.compile(
    r"(?P<own>\S+(?:\s\S+){0,2}?)\s(?:for|für|de perfiles|pour|per|para|voor|dla|di)\s.+$",
    re.IGNORECASE,
)
#: Some firms write themselves small: "adidas".
#: "Manchester City: Partnership Manager", "Join: finds creators for you".
_BEFORE_COLON = re.compile(r"(?P<name>[^:,]{2,40}):\s(?P<rest>.+)$")
_ONE_WORD = re.compile(r"[a-z]{3,}")


def read(headline: str) -> HeadlineReading:
    """Return what *headline* says of the roles of its writer today.

    >>> read("Founder @ Small Batch Soap | Brand Manager at Weleda").claims[1].company
    'Weleda'
    """
    titled = _NETWORK.sub("", headline.strip()[:4_000])
    found = parts(titled)
    if titled != headline.strip()[:4_000] and len(found) > 1 and _may_be_person(found[0].text):
        found = found[1:]
    read_items = _without_roles_to_fill([item for part in found for item in _items(part)])
    items = topic_as_role(join_items(read_items))
    claims = tuple(
        _claim(item, item.company or _neighbouring_name(items, n))
        for n, item in enumerate(items)
        if item.kind is Kind.ROLE
    )
    return HeadlineReading(claims, tuple(i.text for i in items if i.kind is Kind.TOPIC))


def _claim(item: Item, company: str | None) -> ClaimedRole:
    if company is None:
        role, named = last_name(item.text)
        return ClaimedRole(role, named, item.is_left and named is None)
    return ClaimedRole(item.text, company)


def _without_roles_to_fill(items: list[Item]) -> list[Item]:
    """Leave out the roles that a recruiter names next to their own: they are for others."""
    own = next((n for n, item in enumerate(items) if _is_recruiter(item)), None)
    if own is None:
        return items
    return [
        Item(Kind.NAME, item.company, None, item.joint)
        if n > own and item.company and is_offer(item.text)
        else item
        for n, item in enumerate(items)
        if n <= own or item.kind is not Kind.ROLE or (item.company and not item.is_loose)
    ]


def _is_recruiter(item: Item) -> bool:
    return item.kind is Kind.ROLE and words.RECRUITER.found(flat(item.text))


def _may_be_person(text: str) -> bool:
    return not has_level(text) and family_named(text) is Family.OTHER


def _is_name(text: str) -> bool:
    return (
        looks_like_a_name(text)
        and not is_scope(text)
        and _kind(text, marked=False) is Kind.NAME
    )


def _items(part: Part) -> list[Item]:
    """Return the items of one part: mostly one, more if it names several employers."""
    items: list[Item] = []
    text, joint = part.text, part.joint
    if (named := _BEFORE_COLON.match(text)) and _is_name(named["name"]):
        items.append(Item(Kind.NAME, named["name"], None, joint))
        text = named["rest"]
    for _ in range(6):
        role, company, rest = split_at(text)
        items.extend(_role_items(role, company, joint))
        if not rest:
            break
        text, joint = rest, ","
    if part.is_left:
        return [msgspec.structs.replace(item, is_left=item.company is None) for item in items]
    return items


def _role_items(text: str, company: str | None, joint: str) -> list[Item]:
    if words.TAGLINE.match(text) and not _ends_in_role(text):
        return []
    if not is_firm(text):
        text = words.LEAD_IN.sub("", text)
    text = words.TAIL.sub("", text).strip(" ,.:-–")
    if (hit := _FOR_ROLES.match(text)) and words.RECRUITER.found(flat(hit["own"])):
        last = text.rpartition(",")[2].strip() if "," in text else ""
        if (
            company is None
            and _is_name(last)
            and not (SEVERAL.found(flat(last)) or is_place(last))
        ):
            company = last
        text = hit["own"]
    if ":" in text and words.RECRUITER.found(flat(text.partition(":")[0])):
        text = text.partition(":")[0].strip()
    if not text:
        return [Item(Kind.NAME, company, None, joint)] if company else []
    if ":" in text and ROLES_TO_FILL.found(flat(text.partition(":")[0])):
        return []
    role, employer = by_commas(text, marked=company is not None)
    if words.is_sentence(role) and family_named(role) is not Family.OTHER:
        return []
    kind = _kind(role, marked=company is not None)
    if kind is Kind.ROLE:
        if not (company or employer):
            employer, role = split_firm(role)
            return [Item(kind, role, employer, joint)]
        return [Item(kind, role, company or employer, joint, is_loose=company is None)]
    if kind is Kind.NAME and employer:
        return [Item(kind, text, None, joint)]
    return [Item(kind, role, company or employer, joint)]


def _ends_in_role(text: str) -> bool:
    """Return whether a list ends in a role though it begins with hobbies.

    For example: "Mom, runner, Head of Social".
    """
    return any(
        _kind(piece.strip(), marked=False) is Kind.ROLE and not SEVERAL.found(flat(piece))
        for piece in text.split(",")[1:]
    )


def _kind(text: str, *, marked: bool) -> Kind:
    words_of = flat(text)
    if not words_of or (words.NO_ROLE.found(words_of) and not _ends_in_role(text)):
        return Kind.NOTHING
    if not marked and _is_of_several(words_of):
        return Kind.NOTHING
    if has_level(text) or words.CALLING.found(words_of) or words.FILLER.found(words_of):
        return Kind.ROLE
    if is_offer(text):
        return Kind.NOTHING
    if marked or is_creator(text):
        return Kind.ROLE
    if is_firm(text) and not is_scope(text):
        return Kind.NAME
    if is_scope(text):
        return Kind.TOPIC
    if is_address(text):
        return Kind.NOTHING
    if family_named(text) is not Family.OTHER and not looks_like_a_name(text):
        return Kind.TOPIC
    if looks_like_a_name(text) or not text.isascii() or _ONE_WORD.fullmatch(text):
        return Kind.NAME
    return Kind.NOTHING


def _is_of_several(words_of: str) -> bool:
    """Say whether *words_of* are roles to fill and nobody's: "Partnership Directors"."""
    before, _, last = words_of.rpartition(" ")
    return bool(before) and SEVERAL.found(last) and not has_level(before)


def _neighbouring_name(items: list[Item], n: int) -> str | None:
    """Return the name that stands next to role *n*: after it, else before it.

    Creators have none: the names next to them are brands they are proud of.
    """
    if is_creator(items[n].text):
        return None
    for item in items[n + 1 :]:
        if item.kind is Kind.NAME:
            return item.text.lstrip("@ ")
        if item.kind is Kind.ROLE:
            if item.joint == "/" and item.company:
                return item.company
            break
    if n and items[n - 1].kind is Kind.NAME:
        return items[n - 1].text.lstrip("@ ")
    return None
