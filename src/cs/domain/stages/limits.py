"""What a message on the bus may hold, field by field, and what makes one fit.

A message comes from any program that may write to the topic, and what it says ends in
databases, in events that are stored for ever and in answers to callers.  `check` refuses one
that goes beyond `LIMITS` when it is read.  The sender makes it fit first: `fitted` shortens or
leaves out what a source or a verifier said and the other side would refuse, so that one odd
field does not cost everything else in a message.  Stored events are not checked: what
happened, happened.

The numbers: 100 people (`cs.domain.lookup.contacts.PEOPLE`) with every field at its limit,
four bytes a character, still fit into one record of 1 MiB, Kafka's limit as it comes
(``max.message.bytes``); within that each is several times what was ever seen.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from cs.domain.cause import CAUSE, CAUSES
from cs.domain.contact import (
    BrandFacts,
    CheckedPerson,
    Person,
    Sighting,
    SourceMatches,
)
from cs.domain.mail.syntax import ascii_mailbox, is_mail_domain, is_mailbox
from cs.domain.names.brand_names import BRAND_MAX
from cs.domain.source_cost import SourceFigures
from cs.domain.stages.table import OWN_STAGES, STAGES, item_of
from cs.domain.stages.work import (
    AnyFinding,
    Outcome,
    Work,
    checked_in,
    sightings_in,
    with_people,
)

T = TypeVar("T")

#: Neither NUL and its like, which databases and terminals do not take, nor a lone
#: surrogate, which no UTF-8 has (JSON cannot bring one; a plug-in can).
_UNFIT = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIT = r"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]"
_PLAIN = rf"^{_FIT}*$"
_HOST = r"^[a-z0-9-]+(\.[a-z0-9-]+)+$"

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(2200, 1, 1, tzinfo=UTC)


class TextLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A string of at most ``most`` code points.

    Attributes:
        pattern: What all of it matches, in the syntax that Python and ECMA 262 share.
        holds: A further rule that is no regular expression.
        clean: Makes what fits of what does not, if that can be.
        may_be_cut: What is too long means the same without its end, more or less.
    """

    most: int
    pattern: str
    holds: Callable[[str], bool] | None = None
    clean: Callable[[str], str] = str
    may_be_cut: bool = False

    def admits(self, text: object) -> bool:
        return (
            isinstance(text, str)
            and len(text) <= self.most
            and (text.isascii() or _SURROGATE.search(text) is None)
            and _compiled(self.pattern).fullmatch(text) is not None
            and (self.holds is None or self.holds(text))
        )


class NumberLimit(msgspec.Struct, frozen=True):
    """A number from ``least`` to ``most``, both included."""

    least: float
    most: float

    def admits(self, number: object) -> bool:
        return isinstance(number, (int, float)) and self.least <= number <= self.most


class MomentLimit(msgspec.Struct, frozen=True):
    """A moment with its offset, between 1970 and 2200: far from where arithmetic ends."""

    def admits(self, moment: object) -> bool:
        return (
            isinstance(moment, datetime)
            and moment.tzinfo is not None
            and _FIRST <= moment < _LAST
        )


class ListLimit(msgspec.Struct, frozen=True):
    """At most ``most`` values, each within ``each``."""

    most: int
    each: "Limit | None" = None


class MapLimit(msgspec.Struct, frozen=True):
    """At most ``most`` texts by name."""

    most: int
    name: TextLimit
    value: TextLimit


Limit = TextLimit | NumberLimit | MomentLimit | ListLimit | MapLimit


def plain_text(most: int, pattern: str = _PLAIN) -> TextLimit:
    """Return the limit of text for people, which loses what no message may hold."""
    return TextLimit(
        most=most, pattern=pattern, clean=lambda text: _UNFIT.sub("", text), may_be_cut=True
    )


WORD = plain_text(100)  # names of sources, verifiers, families; short reasons
NAME = plain_text(150)  # of a person
#: Of a person who is not erased.
FULL_NAME = plain_text(150, rf"^{_FIT}*[^\u0000-\u0020\u007f]{_FIT}*$")
LABEL = plain_text(200)  # names of brands and companies, places, titles
#: The network caps a headline at 220; what a search result shows is some 300.
HEADLINE = plain_text(1_000)
#: A transcript has 512 characters of a line (`cs.verifiers.smtp.transcript`).
LINE = plain_text(600)
MAILBOX = TextLimit(
    most=254,
    pattern=r"^[ -~]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$",
    holds=is_mailbox,
    clean=ascii_mailbox,
)
HOST = TextLimit(most=253, pattern=_HOST, holds=is_mail_domain, clean=str.lower)
PAGE = TextLimit(
    most=1_000, pattern=r"^https?://[^\u0000-\u0020\u007f-\u00a0\u0022<>\\^`{|}]+$"
)
LOOKUP = TextLimit(
    most=200, pattern=r"^brand-[0-9a-z]{1,64}\.[1-9][0-9]{0,9}(-[0-9a-z]{1,64})?$"
)
#: The mail domain, in verification; nothing elsewhere.
ITEM = TextLimit(
    most=253,
    pattern=r"^([a-z0-9-]+(\.[a-z0-9-]+)+)?$",
    holds=lambda item: not item or is_mail_domain(item),
)
RECEIPT = TextLimit(most=64, pattern=r"^[0-9A-Za-z_-]*$")

#: Several sources at once; a lookup stores 100 of them.
PEOPLE_AT_ONCE = ListLimit(1_000)
COUNT = NumberLimit(0, 1_000_000)
#: A million US dollars, in millionths of one.
MICROS = NumberLimit(0, 1_000_000_000_000)
#: Of a quarter of a year.
SUM = NumberLimit(0, 1_000_000_000_000_000)
#: Of the services that a stage asks: what each cost, why it could not answer, and so on.
SERVICES = 64

#: The limit of each field, by its name, in whatever shape it is.  A field that is not here is a
#: shape of its own, true or false, or one of a closed set of words.
LIMITS: Mapping[str, Limit] = {
    # Messages.
    "lookup": LOOKUP,
    "stage": WORD,
    "item": ITEM,
    "attempt": NumberLimit(1, 1_000_000),  # a handful, restarts included
    "deadline_at": MomentLimit(),
    "receipt": RECEIPT,
    # Inputs and findings.
    "brand": plain_text(BRAND_MAX),
    "domain": HOST,
    "mail_domain": HOST,
    "contacts": NumberLimit(0, 10_000),
    **dict.fromkeys(("people", "candidates", "ranked", "left_out", "checked"), PEOPLE_AT_ONCE),
    "opinions": ListLimit(100),
    "sources": MapLimit(SERVICES, WORD, WORD),
    "causes": MapLimit(CAUSES, WORD, plain_text(CAUSE)),
    "matches": ListLimit(SERVICES),
    "costs": ListLimit(SERVICES),
    "figures": ListLimit(SERVICES),
    "rules": WORD,
    "why": WORD,
    "retry_in_s": NumberLimit(0, 366 * 86_400),  # longer than anything waits for
    # Brands.
    "name": WORD,
    "key": LABEL,
    "parent_company": LABEL,
    **dict.fromkeys(("linkedin_company_url", "instagram", "tiktok", "linkedin_url"), PAGE),
    "aliases": ListLimit(50, WORD),
    "mail_domains": ListLimit(10, HOST),
    "found_by": MapLimit(20, WORD, WORD),
    "source": WORD,
    "score": NumberLimit(0, 1),
    # People.
    "person": TextLimit(most=10, pattern=r"^p[1-9][0-9]*$"),
    "full_name": NAME,
    "first_name": NAME,
    "last_name": NAME,
    "headline": HEADLINE,
    "title": HEADLINE,  # it is taken from there
    "company": LABEL,
    "location": LABEL,
    "addresses": ListLimit(5, MAILBOX),
    "family": WORD,
    "level": WORD,
    "facts": MapLimit(5, WORD, LABEL),
    "doubts": ListLimit(10, WORD),
    "model": LABEL,
    "prompt": WORD,
    # Mailboxes.
    "address": MAILBOX,
    "verifier": WORD,
    "settled": ListLimit(20),
    "evidence": ListLimit(100),
    "reason": WORD,
    "at": MomentLimit(),
    "mx": LABEL,
    "conversation": ListLimit(500),
    "at_ms": NumberLimit(-86_400_000, 86_400_000),  # negative: before the stage began to count
    "who": plain_text(10),
    "text": LINE,
    "pattern": WORD,
    # Money and questions.
    **dict.fromkeys(("asked", "calls", "found", "used"), COUNT),
    "verified": SUM,
    "micros": MICROS,
    "expected_micros": MICROS,
}
#: Fields with another limit than those of the same name elsewhere.
OWN_LIMITS: Mapping[type[msgspec.Struct], Mapping[str, Limit]] = {
    BrandFacts: {"name": LABEL},
    SourceMatches: {"matches": ListLimit(20)},
    Sighting: {"full_name": FULL_NAME},
    Person: {"sources": ListLimit(SERVICES, WORD)},
    SourceFigures: dict.fromkeys(("asked", "calls", "micros", "found", "used"), SUM),
}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def limit_of(shape: type[msgspec.Struct], field: str) -> Limit | None:
    """Return the limit of *field* of *shape*; ``None``: its type bounds it."""
    return OWN_LIMITS.get(shape, {}).get(field, LIMITS.get(field))


class BeyondLimits(ValueError):
    """A value that no message may hold.

    Attributes:
        where: Its place, in names of fields; never the value, which may name a person.
    """

    def __init__(self, where: str) -> None:
        super().__init__(f"beyond the limits of a message: {where}")
        self.where = where


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

    >>> from cs.domain.stages.work import Failed
    >>> check(Failed(why="timeout", retryable=True, retry_in_s=1e308))
    Traceback (most recent call last):
    ...
    cs.domain.stages.limits.BeyondLimits: beyond the limits of a message: retry_in_s
    """
    misfits: list[str] = []
    _fitted(value, None, "", misfits)
    if misfits:
        raise BeyondLimits(misfits[0])


def fitted(value: T) -> T:
    r"""Return *value* without what `check` would refuse.

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
    made: T = _fitted(value, None, "", [])
    return made


def _fitted(value: Any, limit: Limit | None, place: str, misfits: list[str]) -> Any:
    """Return *value* made to fit *limit*; add to *misfits* the places of what did not fit."""
    before, after = value, value
    match value, limit:
        case msgspec.Struct(), _:
            return _fitted_fields(value, place, misfits)
        case tuple() | list(), ListLimit() | None:
            most, each = (limit.most, limit.each) if limit else (len(value), None)
            before, after = tuple(value), tuple(_fitting(value, each, place, misfits))[:most]
        case dict(), MapLimit(most, name, text):
            after = {
                _fitted_text(key, name, place): _fitted_text(word, text, place)
                for key, word in list(value.items())[:most]
            }
        case (_, None) | (None, _):
            pass
        case _, TextLimit() | NumberLimit() | MomentLimit() if limit.admits(value):
            pass
        case str(), TextLimit():
            after = _fitted_text(value, limit, place)
        case int() | float(), NumberLimit(least, most) if not _is_nan(value):
            after = min(max(value, type(value)(least)), type(value)(most))
        case _:
            raise BeyondLimits(place)
    if after == before:
        return value
    misfits.append(place)
    return after


def _is_nan(number: int | float) -> bool:  # noqa: PYI041 - too long an int is none
    return isinstance(number, float) and math.isnan(number)


def _fitted_fields(value: msgspec.Struct, place: str, misfits: list[str]) -> msgspec.Struct:
    changed: dict[str, Any] = {}
    for name, limit, may_be_none in _fields(type(value)):
        before = getattr(value, name)
        if isinstance(limit, TextLimit | NumberLimit) and limit.admits(before):
            continue  # as most fields: this is a tenth of a search's processor time
        within = f"{place}.{name}" if place else name
        try:
            after = _fitted(before, limit, within, misfits)
        except BeyondLimits as beyond:
            if not may_be_none:
                raise
            misfits.append(beyond.where)
            after = None
        if after is None and not may_be_none:
            raise BeyondLimits(within)
        if after is not before:
            changed[name] = after
    return replace(value, **changed) if changed else value


@cache  # msgspec reads the annotations again each time
def _fields(shape: type[msgspec.Struct]) -> Sequence[tuple[str, Limit | None, bool]]:
    """Return name and limit of each field of *shape*, and whether it may be ``None``."""
    return tuple(
        (field.name, limit_of(shape, field.name), field.default is None)
        for field in msgspec.structs.fields(shape)
    )


def _fitting(
    values: Sequence[Any], each: Limit | None, place: str, misfits: list[str]
) -> Iterator[Any]:
    for value in values:
        try:
            yield _fitted(value, each, place, misfits)
        except BeyondLimits as beyond:
            misfits.append(beyond.where)


def _fitted_text(text: str, limit: TextLimit, place: str) -> str:
    if limit.admits(text):
        return text
    cleaned = limit.clean(text)
    if limit.may_be_cut:
        cleaned = cleaned[: limit.most]
    if not limit.admits(cleaned):
        raise BeyondLimits(place)
    return cleaned


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
