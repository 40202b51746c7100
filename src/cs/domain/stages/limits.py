"""What a message on the bus may hold, shape by shape, and what makes one fit.

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
from cs.domain.mail.syntax import ascii_mailbox, is_mail_domain, is_mailbox
from cs.domain.names.brand_names import BRAND_MAX
from cs.domain.source_cost import SourceCost, SourceFigures
from cs.domain.stages.table import OWN_STAGES, STAGES, item_of
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    DomainVerified,
    ExtraInput,
    FactsFound,
    Failed,
    MailboxChecked,
    Outcome,
    PeopleSeen,
    RankingDone,
    RankingInput,
    ResolutionInput,
    Resolved,
    VerificationInput,
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

    def admits(self, text: str) -> bool:
        if len(text) > self.most:
            return False
        if self.pattern is _PLAIN and self.holds is None and text.isprintable():
            return True  # most are: neither a control nor a surrogate is
        return (
            (text.isascii() or _SURROGATE.search(text) is None)
            and _compiled(self.pattern).fullmatch(text) is not None
            and (self.holds is None or self.holds(text))
        )


class NumberLimit(msgspec.Struct, frozen=True):
    """A number from ``least`` to ``most``, both included."""

    least: float
    most: float

    def admits(self, number: float) -> bool:
        return self.least <= number <= self.most  # false of NaN


class MomentLimit(msgspec.Struct, frozen=True):
    """A moment with its offset, between 1970 and 2200: far from where arithmetic ends."""

    def admits(self, moment: datetime) -> bool:
        return moment.tzinfo is not None and _FIRST <= moment < _LAST


class ListLimit(msgspec.Struct, frozen=True):
    """At most ``most`` values, each within ``each``."""

    most: int
    each: "Limit | None" = None

    def admits(self, values: Sequence[Any]) -> bool:
        fits = len(values) <= self.most
        return fits and (self.each is None or all(map(self.each.admits, values)))


class MapLimit(msgspec.Struct, frozen=True):
    """At most ``most`` texts by name."""

    most: int
    name: TextLimit
    value: TextLimit

    def admits(self, texts: Mapping[str, str]) -> bool:
        return (
            len(texts) <= self.most
            and all(map(self.name.admits, texts))
            and all(map(self.value.admits, texts.values()))
        )


Limit = TextLimit | NumberLimit | MomentLimit | ListLimit | MapLimit


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _without_controls(text: str) -> str:
    return _UNFIT.sub("", text)


def plain_text(most: int, pattern: str = _PLAIN) -> TextLimit:
    """Return the limit of text for people, which loses what no message may hold."""
    return TextLimit(most=most, pattern=pattern, clean=_without_controls, may_be_cut=True)


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
HOST = TextLimit(
    most=253,
    pattern=_HOST,
    holds=is_mail_domain,
    clean=str.lower,
)
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
PERSON = TextLimit(most=10, pattern=r"^p[1-9][0-9]*$")
#: Attempts of one piece of work are a handful, restarts included.
ATTEMPT = NumberLimit(1, 1_000_000)
SHARE = NumberLimit(0, 1)
#: A year: longer than anything waits for.
WAIT_S = NumberLimit(0, 366 * 86_400)

PEOPLE_AT_ONCE = ListLimit(1_000)  # several sources at once; a lookup stores 100 of them
OPINIONS_AT_ONCE = ListLimit(100)
#: How each source's run ended, and why those that could not answer could not.
SOURCES = MapLimit(64, WORD, WORD)
CAUSES_BY_SOURCE = MapLimit(CAUSES, WORD, plain_text(CAUSE))
#: What each source or verifier cost, the questions put to it, and the money.
COSTS = ListLimit(64)
COUNT = NumberLimit(0, 1_000_000)
#: A million US dollars, in millionths of one.
MICROS = NumberLimit(0, 1_000_000_000_000)
#: Of a quarter of a year.
SUM = NumberLimit(0, 1_000_000_000_000_000)


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
    ResolutionInput: {},
    Resolved: {
        "sources": SOURCES,
        "causes": CAUSES_BY_SOURCE,
        "matches": ListLimit(64),
        "rules": WORD,
        "costs": COSTS,
    },
    DiscoveryInput: {},
    PeopleSeen: {"people": PEOPLE_AT_ONCE},
    Discovered: {
        "people": PEOPLE_AT_ONCE,
        "sources": SOURCES,
        "causes": CAUSES_BY_SOURCE,
        "costs": COSTS,
    },
    RankingInput: {"people": PEOPLE_AT_ONCE, "contacts": NumberLimit(0, 10_000)},
    RankingDone: {
        "ranked": PEOPLE_AT_ONCE,
        "left_out": PEOPLE_AT_ONCE,
        "rules": WORD,
        "opinions": OPINIONS_AT_ONCE,
        "causes": CAUSES_BY_SOURCE,
        "costs": COSTS,
    },
    VerificationInput: {"mail_domain": HOST, "candidates": PEOPLE_AT_ONCE},
    MailboxChecked: {},
    DomainVerified: {"checked": PEOPLE_AT_ONCE, "costs": COSTS},
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
            if limit is not None and not limit.admits(part):
                raise BeyondLimits(name)
            if isinstance(part, msgspec.Struct | tuple):
                try:
                    check(part)
                except BeyondLimits as beyond:
                    raise beyond.within(name) from None
    elif isinstance(value, tuple):
        for each in value:
            check(each)


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


@cache  # msgspec reads the annotations again each time
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
        case MomentLimit(), datetime() if limit.admits(value):
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
