"""Makes a message fit `cs.domain.stages.limits`, for whoever sends it.

What a source or a verifier says comes from anywhere.  Whatever the other side would refuse is
shortened or left out here, so that one odd field does not cost everything else in a message.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from cs.domain.contact import CheckedPerson
from cs.domain.stages.field_limits import (
    Limit,
    ListLimit,
    MapLimit,
    MomentLimit,
    NumberLimit,
    TextLimit,
)
from cs.domain.stages.limits import LIMITS, BeyondLimits, check_field
from cs.domain.stages.work import AnyFinding, checked_in, sightings_in, with_people

T = TypeVar("T")


def fitted(value: T) -> T:
    r"""Return *value* without what `cs.domain.stages.limits.check` would refuse.

    Text loses the characters that no message may hold and what is beyond its length;
    numbers go to the nearest one allowed.  What cannot be mended goes: an optional field
    is ``None``, an element of a list is left out.

    Raises:
        BeyondLimits: A required field cannot be made to fit; named in ``where``.

    >>> from cs.domain.contact import Sighting
    >>> jo = fitted(Sighting(full_name="Jo\x00 Lane", addresses=("none",), source="x"))
    >>> jo.full_name, jo.addresses
    ('Jo Lane', ())
    """
    if not isinstance(value, msgspec.Struct):
        return value
    changed: dict[str, Any] = {}
    for name, limit, may_be_none in _fields(type(value)):
        before = getattr(value, name)
        try:
            after = _fitted_part(before, limit)
        except BeyondLimits as beyond:
            after = None
            if not may_be_none:
                raise beyond.within(name) from None
        if after is None and not may_be_none:
            raise BeyondLimits(name)
        if after is not before:
            changed[name] = after
    return replace(value, **changed) if changed else value


@cache  # msgspec reads the annotations anew each time
def _fields(shape: type[msgspec.Struct]) -> Sequence[tuple[str, Limit | None, bool]]:
    """Return name and limit of each field of *shape*, and whether it may be ``None``."""
    limits = LIMITS.get(shape, {})
    return tuple(
        (field.name, limits.get(field.name), field.default is None)
        for field in msgspec.structs.fields(shape)
    )


def lighter(finding: AnyFinding, share: float) -> AnyFinding:
    """Return *finding* shortened to about *share* (0 to 1) of its size in bytes.

    Left out are conversations with mail servers, which decide nothing, and, of people who
    were found, those at the end.
    """
    sightings = sightings_in(finding)
    left = sightings[: int(len(sightings) * share * 0.9)]
    return with_people(finding, left, tuple(map(_without_conversations, checked_in(finding))))


def _without_conversations(checked: CheckedPerson) -> CheckedPerson:
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
            check_field(value, limit)
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
