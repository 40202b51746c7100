"""What a message on the bus may hold, shape by shape.

A message comes from whoever may write to the topic, and what it says ends in databases, in
events that are stored for ever and in answers to callers.  `check` refuses one that goes
beyond `LIMITS` when it is read; whoever sends makes it fit first (`cs.domain.stages.fitting`).
Stored events are not checked: what happened, happened.

The numbers: 100 people (`cs.domain.lookup.contacts.PEOPLE`) with every field at its limit,
four bytes a character, still fit into one record of 1 MiB, Kafka's limit as it comes
(``max.message.bytes``); within that each is several times what was ever seen.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, assert_never

import msgspec

from cs.domain.contact import (
    BrandFacts,
    BrandMatch,
    Candidate,
    CheckedPerson,
    LeftOut,
    Opinion,
    Person,
    PersonFacts,
    Query,
    RankedPerson,
    Sighting,
    SourceMatches,
)
from cs.domain.mail.mailbox import DomainFacts, Evidence, Line
from cs.domain.names.brand_names import BRAND_MAX
from cs.domain.source_cost import SourceCost, SourceFigures
from cs.domain.stages.field_limits import (
    ATTEMPT,
    CAUSES_BY_SOURCE,
    COSTS,
    COUNT,
    FULL_NAME,
    HEADLINE,
    HOST,
    ITEM,
    LABEL,
    LINE,
    LOOKUP,
    MAILBOX,
    MICROS,
    NAME,
    PAGE,
    PEOPLE_AT_ONCE,
    PERSON,
    RECEIPT,
    SHARE,
    SUM,
    WAIT_S,
    WORD,
    Limit,
    ListLimit,
    MapLimit,
    MomentLimit,
    NumberLimit,
    TextLimit,
    plain_text,
)
from cs.domain.stages.table import OWN_STAGES, STAGES, item_of
from cs.domain.stages.work import ExtraInput, FactsFound, Failed, Outcome, Work


class BeyondLimits(ValueError):
    """A value that no message may hold.

    Attributes:
        where: Its place, in names of fields; never the value, which may name a person.
    """

    def __init__(self, where: str) -> None:
        super().__init__(f"beyond the limits of a message: {where}")
        self.where = where

    def within(self, field: str) -> "BeyondLimits":
        """Return the same, seen from around *field*."""
        return BeyondLimits(f"{field}.{self.where}" if self.where else field)


#: The limits of each shape, by field.  A field that is not here is a shape of its own,
#: true or false, or one of a closed set of words.
LIMITS: Mapping[type[msgspec.Struct], Mapping[str, Limit]] = {
    Work: {
        "lookup": LOOKUP,
        "stage": WORD,
        "item": ITEM,
        "attempt": ATTEMPT,
        "deadline_at": MomentLimit(),
        "receipt": RECEIPT,
        "figures": COSTS,
    },
    Outcome: {
        "lookup": LOOKUP,
        "stage": WORD,
        "item": ITEM,
        "attempt": ATTEMPT,
        "receipt": RECEIPT,
    },
    **{shape: limits for row in OWN_STAGES.values() for shape, limits in row.limits.items()},
    ExtraInput: {"people": PEOPLE_AT_ONCE, "item": ITEM},
    FactsFound: {"people": PEOPLE_AT_ONCE, "causes": CAUSES_BY_SOURCE, "costs": COSTS},
    Failed: {
        "why": WORD,
        "retry_in_s": WAIT_S,
        "checked": PEOPLE_AT_ONCE,
        "causes": CAUSES_BY_SOURCE,
        "costs": COSTS,
    },
    SourceFigures: {
        "stage": WORD,
        "name": WORD,
        "asked": SUM,
        "calls": SUM,
        "micros": SUM,
        "found": SUM,
        "used": SUM,
        "verified": SUM,
    },
    SourceCost: {
        "name": WORD,
        "asked": COUNT,
        "calls": COUNT,
        "micros": MICROS,
        "found": COUNT,
        "used": COUNT,
        "expected_micros": MICROS,
    },
    Query: {"brand": plain_text(BRAND_MAX), "domain": HOST},
    BrandFacts: {
        "name": LABEL,
        "domain": HOST,
        "linkedin_company_url": PAGE,
        "parent_company": LABEL,
        "instagram": PAGE,
        "tiktok": PAGE,
        "aliases": ListLimit(50, WORD),
        "mail_domains": ListLimit(10, HOST),
        "found_by": MapLimit(20, WORD, WORD),
    },
    SourceMatches: {"source": WORD, "matches": ListLimit(20)},
    BrandMatch: {"score": SHARE, "key": LABEL},
    Sighting: {
        "full_name": FULL_NAME,
        "first_name": NAME,
        "last_name": NAME,
        "headline": HEADLINE,
        "company": LABEL,
        "linkedin_url": PAGE,
        "location": LABEL,
        "addresses": ListLimit(5, MAILBOX),
        "source": WORD,
    },
    Person: {
        "person": PERSON,
        "full_name": NAME,
        "first_name": NAME,
        "last_name": NAME,
        "headline": HEADLINE,
        "company": LABEL,
        "linkedin_url": PAGE,
        "location": LABEL,
        "addresses": ListLimit(5, MAILBOX),
        "sources": ListLimit(64, WORD),
    },
    RankedPerson: {
        "person": PERSON,
        "title": HEADLINE,  # it is taken from there
        "family": WORD,
        "level": WORD,
        "score": SHARE,
    },
    PersonFacts: {"person": PERSON, "facts": MapLimit(5, WORD, LABEL)},
    LeftOut: {"person": PERSON, "why": WORD},
    Opinion: {
        "person": PERSON,
        "doubts": ListLimit(10, WORD),
        "family": WORD,
        "level": WORD,
        "title": HEADLINE,
        "company": LABEL,
        "model": LABEL,
        "prompt": WORD,
    },
    Candidate: {
        "person": PERSON,
        "full_name": NAME,
        "first_name": NAME,
        "last_name": NAME,
        "addresses": ListLimit(5, MAILBOX),
        "settled": ListLimit(20),
    },
    CheckedPerson: {
        "person": PERSON,
        "mail_domain": HOST,
        "address": MAILBOX,
        "verifier": WORD,
        "evidence": ListLimit(100),
        "rules": WORD,
    },
    Evidence: {
        "address": MAILBOX,
        "reason": WORD,
        "verifier": WORD,
        "at": MomentLimit(),
        "mx": LABEL,
        "conversation": ListLimit(500),
        "retry_in_s": WAIT_S,
        "rules": WORD,
    },
    # Before the address began, to a stage that counts from then.
    Line: {"at_ms": NumberLimit(-86_400_000, 86_400_000), "who": plain_text(10), "text": LINE},
    DomainFacts: {"pattern": WORD},
}


def check_work(work: Work) -> None:
    """Pass if *work* is within `LIMITS`, and its input and item are those of its stage.

    Raises:
        BeyondLimits: It is not.
    """
    check(work)
    if work.stage not in STAGES:
        raise BeyondLimits("stage")
    if not isinstance(work.input, STAGES[work.stage].input):
        raise BeyondLimits("input")
    if work.item != item_of(work.input):
        raise BeyondLimits("item")


def check_outcome(outcome: Outcome) -> None:
    """Pass if *outcome* is within `LIMITS`, and names an item if its stage has some.

    Raises:
        BeyondLimits: It is not.
    """
    check(outcome)
    if outcome.stage not in STAGES:
        raise BeyondLimits("stage")
    own = OWN_STAGES.get(outcome.stage)
    if own is not None and bool(outcome.item) != (own.item is not None):
        raise BeyondLimits("item")


def check(value: object) -> None:
    """Pass if *value*, a message or a part of one, is within `LIMITS`.

    Raises:
        BeyondLimits: It is not.

    >>> check(Failed(why="timeout", retryable=True, retry_in_s=1e308))
    Traceback (most recent call last):
    ...
    cs.domain.stages.limits.BeyondLimits: beyond the limits of a message: retry_in_s
    """
    if isinstance(value, msgspec.Struct):
        for name, limit in _limits_of(type(value)):
            part = getattr(value, name)
            if part is None:
                continue
            if isinstance(limit, _ONE_VALUE):  # most are, and hold no other shape
                if not limit.admits(part):
                    raise BeyondLimits(name)
            else:
                _check_part(name, part, limit)
    elif isinstance(value, tuple):
        for each in value:
            check(each)


def _check_part(name: str, part: object, limit: Limit | None) -> None:
    try:
        if limit is not None:
            check_field(part, limit)
        if isinstance(part, msgspec.Struct | tuple):
            check(part)
    except BeyondLimits as beyond:
        raise beyond.within(name) from None


_ONE_VALUE = (TextLimit, NumberLimit, MomentLimit)


@cache
def _limits_of(shape: type[msgspec.Struct]) -> Sequence[tuple[str, Limit | None]]:
    """Return the fields of *shape* that something is to be checked of."""
    limits = LIMITS.get(shape, {})
    info = msgspec.inspect.type_info(shape)
    assert isinstance(info, msgspec.inspect.StructType)
    return tuple(
        (field.name, limits.get(field.name))
        for field in info.fields
        if field.name in limits or _has_shapes(field.type)
    )


def _has_shapes(kind: msgspec.inspect.Type) -> bool:
    """Say whether values of *kind* may be or hold shapes."""
    match kind:
        case msgspec.inspect.UnionType(types=types):
            return any(map(_has_shapes, types))
        case msgspec.inspect.VarTupleType(item_type=item):
            return _has_shapes(item)
        case msgspec.inspect.TupleType(item_types=items):
            return any(map(_has_shapes, items))
        case _:
            return isinstance(kind, msgspec.inspect.StructType)


def check_field(value: Any, limit: Limit) -> None:
    """Pass if *value*, of one field, is within *limit*.

    Raises:
        BeyondLimits: It is not; where it stands is for the caller to add.
    """
    match limit:
        case TextLimit() | NumberLimit() | MomentLimit():
            fits = limit.admits(value)
        case ListLimit(most, each):
            fits = len(value) <= most
            if fits and each is not None:  # else they have limits of their own
                for part in value:
                    check_field(part, each)
        case MapLimit(most, name, text):
            fits = len(value) <= most and all(
                name.admits(key) and text.admits(part) for key, part in value.items()
            )
        case _:
            assert_never(limit)
    if not fits:
        raise BeyondLimits("")
