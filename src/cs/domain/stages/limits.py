"""What a message on the bus may hold, shape by shape, and what is left of one beyond that.

A message comes from whoever may write to the topic, and what it says ends in databases,
in events that are kept for ever and in answers to callers.  `check` refuses one that goes
beyond `LIMITS` when it is read; `fitted` is for whoever sends: it leaves out what the
other side would refuse.  Stored events are not held to this: what happened, happened.

The numbers: 100 people (`cs.domain.lookup.contacts.PEOPLE`) with every field at its limit,
four bytes a character, still fit into one record of 1 MiB, Kafka's limit as it comes
(``max.message.bytes``); within that each is several times what was ever seen.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from cs.domain.contact import (
    BrandFacts,
    Candidate,
    Checked,
    LeftOut,
    Person,
    Query,
    Ranked,
    Sighting,
)
from cs.domain.mail.mailbox import DomainFacts, Evidence, Line
from cs.domain.names.brand_names import BRAND_MAX
from cs.domain.stages.field_limits import (
    ATTEMPT,
    CAUSES_BY_SOURCE,
    FULL_NAME,
    HEADLINE,
    HOST,
    ITEM,
    LABEL,
    LINE,
    LOOKUP,
    MAILBOX,
    NAME,
    PAGE,
    PEOPLE_AT_ONCE,
    PERSON,
    RECEIPT,
    SHARE,
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
from cs.domain.stages.table import STAGES, item_of
from cs.domain.stages.work import (
    AnyFinding,
    Failed,
    Outcome,
    Work,
    checked_in,
    sightings_in,
    with_people,
)

T = TypeVar("T")


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
        "item": ITEM,
        "attempt": ATTEMPT,
        "deadline_at": MomentLimit(),
        "receipt": RECEIPT,
    },
    Outcome: {"lookup": LOOKUP, "item": ITEM, "attempt": ATTEMPT, "receipt": RECEIPT},
    **{shape: limits for row in STAGES.values() for shape, limits in row.limits.items()},
    Failed: {
        "why": WORD,
        "retry_in_s": WAIT_S,
        "checked": PEOPLE_AT_ONCE,
        "causes": CAUSES_BY_SOURCE,
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
    Ranked: {
        "person": PERSON,
        "title": HEADLINE,  # it is taken from there
        "family": WORD,
        "level": WORD,
        "score": SHARE,
    },
    LeftOut: {"person": PERSON, "why": WORD},
    Candidate: {
        "person": PERSON,
        "full_name": NAME,
        "first_name": NAME,
        "last_name": NAME,
        "addresses": ListLimit(5, MAILBOX),
    },
    Checked: {
        "person": PERSON,
        "mail_domain": HOST,
        "address": MAILBOX,
        "verifier": WORD,
        "evidence": ListLimit(100),
    },
    Evidence: {
        "address": MAILBOX,
        "reason": WORD,
        "verifier": WORD,
        "at": MomentLimit(),
        "mx": LABEL,
        "conversation": ListLimit(500),
        "retry_in_s": WAIT_S,
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
    has_items = STAGES[outcome.stage].item is not None
    if bool(outcome.item) != has_items:
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
        limits = LIMITS.get(type(value), {})
        for name in type(value).__struct_fields__:
            try:
                part = getattr(value, name)
                if part is not None and (limit := limits.get(name)) is not None:
                    _check_one(part, limit)
                check(part)
            except BeyondLimits as beyond:
                raise beyond.within(name) from None
    elif isinstance(value, tuple):
        for each in value:
            check(each)


def _check_one(value: Any, limit: Limit | None) -> None:
    fits = True
    match limit:
        case None:
            pass  # it has limits of its own
        case TextLimit() | NumberLimit() | MomentLimit():
            fits = limit.admits(value)
        case ListLimit(most, each):
            fits = len(value) <= most
            for part in value if fits else ():
                _check_one(part, each)
        case MapLimit(most, name, text):
            fits = len(value) <= most and all(
                name.admits(key) and text.admits(part) for key, part in value.items()
            )
    if not fits:
        raise BeyondLimits("")


def fitted(value: T) -> T:
    r"""Return *value* without what `check` would refuse.

    Text loses the characters that no message may hold and what is beyond its length;
    numbers go to the nearest one allowed.  What cannot be mended goes: an optional field
    is ``None``, an element of a list is left out.

    Raises:
        BeyondLimits: What is left could not be said without it.

    >>> jo = fitted(Sighting(full_name="Jo\x00 Lane", addresses=("none",), source="x"))
    >>> jo.full_name, jo.addresses
    ('Jo Lane', ())
    """
    if not isinstance(value, msgspec.Struct):
        return value
    limits = LIMITS.get(type(value), {})
    changed: dict[str, Any] = {}
    for field in msgspec.structs.fields(value):
        before = getattr(value, field.name)
        try:
            after = _fitted_part(before, limits.get(field.name))
        except BeyondLimits as beyond:
            after = None
            if field.default is not None:
                raise beyond.within(field.name) from None
        if after is None and field.default is not None:
            raise BeyondLimits(field.name)
        if after is not before:
            changed[field.name] = after
    return replace(value, **changed) if changed else value


def lighter(finding: AnyFinding, share: float) -> AnyFinding:
    """Return *finding* for a message of which only *share* may be sent (0 to 1).

    Conversations with mail servers go, which decide nothing; of people who were found, those
    at the end.
    """
    sightings = sightings_in(finding)
    left = sightings[: int(len(sightings) * share * 0.9)]
    return with_people(finding, left, tuple(map(_without_conversations, checked_in(finding))))


def _without_conversations(checked: Checked) -> Checked:
    evidence = (replace(each, conversation=()) for each in checked.evidence)
    return replace(checked, evidence=tuple(evidence))


def _fitted_part(value: Any, limit: Limit | None) -> Any:
    match limit, value:
        case _, None:
            return None
        case TextLimit(), str():
            return _fitted_text(value, limit)
        case NumberLimit(least, most), int() | float() if not math.isnan(value):
            return min(max(value, type(value)(least)), type(value)(most))
        case MomentLimit(), datetime():
            _check_one(value, limit)
            return value
        case ListLimit(most, each), tuple() | list():
            return tuple(_fitting(value, each))[:most]
        case MapLimit(most, name, text), dict():
            pairs = list(value.items())[:most]
            return {_fitted_text(k, name): _fitted_text(v, text) for k, v in pairs}
        case None, _:
            return fitted(value)
        case _:
            raise BeyondLimits("")


def _fitting(values: Sequence[Any], each: Limit | None) -> Iterator[Any]:
    for value in values:
        try:
            yield _fitted_part(value, each)
        except BeyondLimits:
            continue


def _fitted_text(text: str, limit: TextLimit) -> str:
    if limit.admits(text):
        return text
    cleaned = limit.clean(text)
    if limit.may_be_cut:
        cleaned = cleaned[: limit.most]
    if not limit.admits(cleaned):
        raise BeyondLimits("")
    return cleaned
