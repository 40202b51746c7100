"""A headline read: the roles its writer says they hold, and where.

Reading goes part by part.  A part is a role (it has a level word, a calling or an
employer), a name (perhaps the employer of the role next to it), a topic (a line of
work, nobody's role) or nothing of interest.
"""

import re
from enum import Enum, auto

import msgspec

from cs.domain.headline import words
from cs.domain.headline.comma_list import by_commas
from cs.domain.headline.employer import last_name, split_at
from cs.domain.headline.parts import Part, parts
from cs.domain.headline.role_family import Family, family_named, family_of, is_bare, is_creator
from cs.domain.headline.role_level import has_level
from cs.domain.headline.scope_words import (
    SEVERAL,
    is_address,
    is_firm,
    is_offer,
    is_scope,
    looks_like_a_name,
)
from cs.domain.headline.spelling import flat
from cs.domain.headline.unspaced import split_firm


class ClaimedRole(msgspec.Struct, frozen=True):
    """A role somebody says they hold, as written, and with whom."""

    role: str
    company: str | None = None


class HeadlineReading(msgspec.Struct, frozen=True):
    """What a headline says: the roles of today in order, and the lines of work it lists."""

    claims: tuple[ClaimedRole, ...] = ()
    topics: tuple[str, ...] = ()


class _Kind(Enum):
    ROLE = auto()
    NAME = auto()
    TOPIC = auto()
    NOTHING = auto()


class _Item(msgspec.Struct, frozen=True):
    kind: _Kind
    text: str
    company: str | None = None
    joint: str = ""
    is_loose: bool = False  # the company stood in a comma list: it may be a scope


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
    items = _topic_as_role(_join_items(read_items))
    claims = tuple(
        _claim(item, item.company or _neighbouring_name(items, n))
        for n, item in enumerate(items)
        if item.kind is _Kind.ROLE
    )
    return HeadlineReading(claims, tuple(i.text for i in items if i.kind is _Kind.TOPIC))


def _claim(item: _Item, company: str | None) -> ClaimedRole:
    if company is None:
        return ClaimedRole(*last_name(item.text))
    return ClaimedRole(item.text, company)


def _without_roles_to_fill(items: list[_Item]) -> list[_Item]:
    """Leave out the roles that a recruiter names next to their own: they are for others."""
    own = next((n for n, item in enumerate(items) if _is_recruiter(item)), None)
    if own is None:
        return items
    return [
        _Item(_Kind.NAME, item.company, None, item.joint)
        if n > own and item.company and is_offer(item.text)
        else item
        for n, item in enumerate(items)
        if n <= own or item.kind is not _Kind.ROLE or (item.company and not item.is_loose)
    ]


def _is_recruiter(item: _Item) -> bool:
    return item.kind is _Kind.ROLE and words.RECRUITER.found(flat(item.text))


def _may_be_person(text: str) -> bool:
    return not has_level(text) and family_named(text) is Family.OTHER


def _is_name(text: str) -> bool:
    return (
        looks_like_a_name(text)
        and not is_scope(text)
        and _kind(text, marked=False) is _Kind.NAME
    )


def _items(part: Part) -> list[_Item]:
    """Return the items of one part: mostly one, more if it names several employers."""
    items: list[_Item] = []
    text, joint = part.text, part.joint
    if (named := _BEFORE_COLON.match(text)) and _is_name(named["name"]):
        items.append(_Item(_Kind.NAME, named["name"], None, joint))
        text = named["rest"]
    for _ in range(6):
        role, company, rest = split_at(text)
        items.extend(_role_items(role, company, joint))
        if not rest:
            break
        text, joint = rest, ","
    return items


def _role_items(text: str, company: str | None, joint: str) -> list[_Item]:
    if words.TAGLINE.match(text) and not _ends_in_role(text):
        return []
    if not is_firm(text) or has_level(text):
        text = words.LEAD_IN.sub("", text)
    text = words.TAIL.sub("", text).strip(" ,.:-–")
    if (hit := _FOR_ROLES.match(text)) and words.RECRUITER.found(flat(hit["own"])):
        text = hit["own"]
    if ":" in text and words.RECRUITER.found(flat(text.partition(":")[0])):
        text = text.partition(":")[0].strip()
    if not text:
        return [_Item(_Kind.NAME, company, None, joint)] if company else []
    role, employer = by_commas(text, marked=company is not None)
    kind = _kind(role, marked=company is not None)
    if kind is _Kind.ROLE:
        if not (company or employer):
            employer, role = split_firm(role)
            return [_Item(kind, role, employer, joint)]
        return [_Item(kind, role, company or employer, joint, is_loose=company is None)]
    if kind is _Kind.NAME and employer:
        return [_Item(kind, text, None, joint)]
    return [_Item(kind, role, company or employer, joint)]


def _ends_in_role(text: str) -> bool:
    """A list that begins with hobbies may hold a role: "Mom, runner, Head of Social"."""
    return any(
        _kind(piece.strip(), marked=False) is _Kind.ROLE and not SEVERAL.found(flat(piece))
        for piece in text.split(",")[1:]
    )


def _kind(text: str, *, marked: bool) -> _Kind:
    words_of = flat(text)
    if not words_of or (words.NO_ROLE.found(words_of) and not _ends_in_role(text)):
        return _Kind.NOTHING
    if has_level(text) or words.CALLING.found(words_of) or words.FILLER.found(words_of):
        return _Kind.ROLE
    if is_offer(text):
        return _Kind.NOTHING
    if marked or is_creator(text):
        return _Kind.ROLE
    if is_firm(text) and not is_scope(text):
        return _Kind.NAME
    if is_scope(text):
        return _Kind.TOPIC
    if is_address(text):
        return _Kind.NOTHING
    if family_named(text) is not Family.OTHER and not looks_like_a_name(text):
        return _Kind.TOPIC
    if looks_like_a_name(text) or not text.isascii() or _ONE_WORD.fullmatch(text):
        return _Kind.NAME
    return _Kind.NOTHING


def _topic_as_role(items: list[_Item]) -> list[_Item]:
    """Take "Partnerships | Acme" for a role without a level: one line of work, one firm."""
    kinds = [item.kind for item in items]
    if _Kind.ROLE in kinds or kinds.count(_Kind.TOPIC) != 1:
        return items
    topic = kinds.index(_Kind.TOPIC)
    if kinds[topic + 1 :] != [_Kind.NAME]:
        return items
    return [_Item(_Kind.ROLE, items[topic].text, items[topic + 1].text)]


def _join_items(items: list[_Item]) -> list[_Item]:
    """Join "Director - Influencer Marketing" and its like into one role."""
    joined: list[_Item] = []
    for n, item in enumerate(items):
        last = joined[-1] if joined else None
        if last is None or not (
            _is_one_role(last, item) or _is_scope_before_name(last, item, items[n + 1 : n + 2])
        ):
            joined.append(item)
            continue
        role = _Item(
            _Kind.ROLE, f"{last.text}, {item.text}", last.company or item.company, last.joint
        )
        joined[-1] = role
    return [_scope_not_employer(item, joined[n + 1 : n + 2]) for n, item in enumerate(joined)]


def _is_scope_before_name(last: _Item, item: _Item, following: list[_Item]) -> bool:
    """Say whether *item* parts a role from its employer: "Head of Brand - UK - Acme"."""
    if last.kind is not _Kind.ROLE or last.company or item.joint != "-":
        return False
    if not following or following[0].kind is not _Kind.NAME or following[0].joint != "-":
        return False
    if item.kind is _Kind.NAME:
        return family_of(last.text) is Family.BRAND and not is_firm(item.text)
    return item.kind is _Kind.TOPIC


def _scope_not_employer(item: _Item, following: list[_Item]) -> _Item:
    """Take "Cheerios" of "Brand Manager, Cheerios | General Mills" for a scope."""
    if item.is_loose and following and following[0].kind is _Kind.NAME:
        return _Item(item.kind, f"{item.text}, {item.company}", None, item.joint)
    return item


def _is_one_role(last: _Item, item: _Item) -> bool:
    kinds = (last.kind, item.kind)
    if item.joint == "/" and item.kind is _Kind.ROLE and last.kind is not _Kind.NAME:
        # "Social Media / Influencer Manager"
        one = last.company is None and is_scope(last.text) and _ends_in_level(item.text)
        if one:
            return True
    if kinds == (_Kind.TOPIC, _Kind.ROLE):
        return is_bare(item.text) and item.joint != "."
    if last.company is not None or item.joint not in {"-", "/", "|", ","}:
        return False
    if last.kind is _Kind.ROLE and _is_marked_scope(item):
        return item.joint == "-" and has_level(last.text)
    if last.kind is not _Kind.ROLE or not is_scope(item.text) or item.text.isupper():
        return False
    if item.joint == "/" and item.kind is _Kind.TOPIC:
        return not _ends_in_level(last.text)
    if item.kind is not _Kind.TOPIC and (has_level(item.text) or not item.company):
        return False
    return is_bare(last.text) or (item.joint == "-" and family_of(last.text) is Family.OTHER)


def _ends_in_level(text: str) -> bool:
    return has_level(flat(text).rpartition(" ")[2])


def _is_marked_scope(item: _Item) -> bool:
    """Say whether *item* is "Cheerios at General Mills": no work, and yet an employer."""
    return (
        item.kind is _Kind.ROLE
        and item.company is not None
        and not has_level(item.text)
        and not words.CALLING.found(flat(item.text))
        and not is_scope(item.text)
    )


def _neighbouring_name(items: list[_Item], n: int) -> str | None:
    """Return the name that stands next to role *n*: after it, else before it.

    Creators have none: the names next to them are brands they are proud of.
    """
    if is_creator(items[n].text):
        return None
    for item in items[n + 1 :]:
        if item.kind is _Kind.NAME:
            return item.text.lstrip("@ ")
        if item.kind is _Kind.ROLE:
            if item.joint == "/" and item.company:
                return item.company
            break
    if n and items[n - 1].kind is _Kind.NAME:
        return items[n - 1].text.lstrip("@ ")
    return None
