"""The items of a headline joined: a role, its scope and its employer may be parted by bars."""

from enum import Enum, auto

import msgspec

from cs.domain.headline import words
from cs.domain.headline.role_family import Family, family_of, is_bare, is_creator
from cs.domain.headline.role_level import has_level
from cs.domain.headline.scope_words import (
    is_firm,
    is_place,
    is_region,
    is_scope,
    looks_like_a_name,
)
from cs.domain.headline.spelling import flat


class Kind(Enum):
    """What a part of a headline is."""

    ROLE = auto()
    NAME = auto()
    TOPIC = auto()
    NOTHING = auto()


class Item(msgspec.Struct, frozen=True):
    """A part of a headline, or a piece of one.  ``joint`` is what stood before it."""

    kind: Kind
    text: str
    company: str | None = None
    joint: str = ""
    is_loose: bool = False  # the company stood in a comma list: it may be a scope
    is_left: bool = False  # a firm of the past stood next to it, and none of today


def topic_as_role(items: list[Item]) -> list[Item]:
    """Take "Partnerships | Acme" for a role without a level: one line of work, one firm."""
    kinds = [item.kind for item in items]
    if Kind.ROLE in kinds or kinds.count(Kind.TOPIC) != 1:
        return items
    topic = kinds.index(Kind.TOPIC)
    if kinds[topic + 1 :] != [Kind.NAME]:
        return items
    return [Item(Kind.ROLE, items[topic].text, items[topic + 1].text)]


def join_items(items: list[Item]) -> list[Item]:
    """Join "Director - Influencer Marketing" and its like into one role."""
    joined: list[Item] = []
    for n, item in enumerate(items):
        last = joined[-1] if joined else None
        if last is not None and _is_firm_of(last, item):
            joined.append(Item(Kind.NAME, item.text, None, item.joint))
            continue
        if last is not None and (split := _scope_and_firm(last, item)):
            joined[-1] = split
            continue
        if last is None or not (
            _is_one_role(last, item) or _is_scope_before_name(last, item, items[n + 1 : n + 2])
        ):
            joined.append(item)
            continue
        role = Item(
            Kind.ROLE, f"{last.text}, {item.text}", last.company or item.company, last.joint
        )
        joined[-1] = role
    return [_scope_not_employer(item, joined[n + 1 : n + 2]) for n, item in enumerate(joined)]


def _is_scope_before_name(last: Item, item: Item, following: list[Item]) -> bool:
    """Say whether *item* parts a role from its employer: "Head of Brand - UK - Acme"."""
    if last.kind is not Kind.ROLE or last.company or item.joint != "-":
        return False
    if not following or following[0].kind is not Kind.NAME:
        return False
    if following[0].joint == "|" and item.kind is Kind.TOPIC:
        return has_level(last.text) and not is_place(following[0].text)
    if following[0].joint != "-":
        return False
    if item.kind is Kind.NAME:
        return family_of(last.text) is Family.BRAND and not is_firm(item.text)
    return item.kind is Kind.TOPIC


def _is_firm_of(last: Item, item: Item) -> bool:
    """Say whether *item*, called like a role, employs *last*: "Bookkeeper | Leads Ltd"."""
    return (
        last.kind is Kind.ROLE
        and item.kind is Kind.ROLE
        and not (last.company or item.company or "," in item.text)
        and item.joint in {"-", "|"}
        and is_firm(item.text)
    )


def _scope_and_firm(last: Item, item: Item) -> Item | None:
    """Join "Brand Director" and "Retail & Events, Acme", which a dash parts, if it is so."""
    scope, comma, firm = item.text.rpartition(", ")
    if last.kind is not Kind.ROLE or last.company or item.joint != "-" or not comma:
        return None
    if item.kind is not Kind.NAME or item.company or is_place(firm):
        return None
    line = is_scope(scope) or scope[0].islower() or family_of(last.text) is Family.BRAND
    if not line or not looks_like_a_name(firm):
        return None
    return Item(Kind.ROLE, f"{last.text}, {scope}", firm, last.joint)


def _scope_not_employer(item: Item, following: list[Item]) -> Item:
    """Take "Cheerios" of "Brand Manager, Cheerios | General Mills" for a scope."""
    if item.is_loose and following and following[0].kind is Kind.NAME:
        return Item(item.kind, f"{item.text}, {item.company}", None, item.joint)
    return item


def _is_one_role(last: Item, item: Item) -> bool:
    kinds = (last.kind, item.kind)
    if item.joint == "/" and item.kind is Kind.ROLE and last.kind is not Kind.NAME:
        # "Social Media / Influencer Manager"
        one = last.company is None and is_scope(last.text) and _ends_in_level(item.text)
        if one:
            return True
    if item.joint == "/" and is_creator(item.text) and is_scope(item.text):
        return last.company is None and has_level(last.text) and not _ends_in_level(last.text)
    if kinds == (Kind.TOPIC, Kind.ROLE):
        return is_bare(item.text) and item.joint != "."
    if last.company is not None or item.joint not in {"-", "/", "|", ","}:
        return False
    if last.kind is Kind.ROLE and _is_marked_scope(item):
        return item.joint == "-" and has_level(last.text)
    if item.joint == "-" and last.kind is Kind.ROLE and is_region(item.text):
        return True
    if last.kind is not Kind.ROLE or not is_scope(item.text) or item.text.isupper():
        return False
    if item.joint == "/" and item.kind is Kind.TOPIC:
        return not _ends_in_level(last.text)
    if item.kind is not Kind.TOPIC and (has_level(item.text) or not item.company):
        return False
    return is_bare(last.text) or (item.joint == "-" and family_of(last.text) is Family.OTHER)


def _ends_in_level(text: str) -> bool:
    return has_level(flat(text).rpartition(" ")[2])


def _is_marked_scope(item: Item) -> bool:
    """Say whether *item* is "Cheerios at General Mills": no work, and yet an employer."""
    return (
        item.kind is Kind.ROLE
        and item.company is not None
        and not has_level(item.text)
        and not words.CALLING.found(flat(item.text))
        and not is_scope(item.text)
    )
