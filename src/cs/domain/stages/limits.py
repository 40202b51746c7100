"""What a message on the bus may hold: how long, how many, which characters.

A message comes from whoever may write to the topic, and what it says ends in databases,
in events that are kept for ever and in answers to callers.  `check` refuses one that goes
beyond `LIMITS` when it is read; `fitted` is for whoever sends: it leaves out what the
other side would refuse.  Stored events are not held to this: what happened, happened.

The numbers: 100 people (`cs.domain.lookup.people.PEOPLE`) with every field at its limit,
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
    Candidate,
    Checked,
    LeftOut,
    Person,
    Query,
    Ranked,
    Sighting,
)
from cs.domain.mail.mailbox import DomainFacts, Evidence, Line
from cs.domain.mail.syntax import ascii_mailbox, is_mail_domain, is_mailbox
from cs.domain.names.brand_names import BRAND_MAX
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    DomainVerified,
    Failed,
    MailboxChecked,
    Outcome,
    PeopleSeen,
    RankingDone,
    RankingInput,
    ResolutionInput,
    Resolved,
    StageInput,
    StageName,
    VerificationInput,
    Work,
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


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A string of at most ``most`` code points.

    Attributes:
        pattern: What the whole of it matches, in words that Python and ECMA 262 share.
        holds: A further rule that is no regular expression.
        clean: Makes what fits of what does not, if that can be.
        may_be_cut: What is too long means the same without its end, more or less.
    """

    most: int
    pattern: str
    holds: Callable[[str], bool] | None = None
    clean: Callable[[str], str] = str
    may_be_cut: bool = False


class Number(msgspec.Struct, frozen=True):
    least: float
    most: float


class Moment(msgspec.Struct, frozen=True):
    """A moment with its offset, between 1970 and 2200: far from where arithmetic ends."""


class Many(msgspec.Struct, frozen=True):
    """At most ``most`` values, each within ``each``."""

    most: int
    each: "Limit | None" = None


class Named(msgspec.Struct, frozen=True):
    """At most ``most`` texts by name."""

    most: int
    name: Text
    value: Text


Limit = Text | Number | Moment | Many | Named

#: Neither NUL and its like, which databases and terminals do not take, nor a lone
#: surrogate, which no UTF-8 has (JSON cannot bring one; a plug-in can).
_UNFIT = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIT = r"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]"
_PLAIN = rf"^{_FIT}*$"
_HOST = r"^[a-z0-9-]+(\.[a-z0-9-]+)+$"

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(2200, 1, 1, tzinfo=UTC)


def _without_controls(text: str) -> str:
    return _UNFIT.sub("", text)


def _text(most: int, pattern: str = _PLAIN) -> Text:
    return Text(most=most, pattern=pattern, clean=_without_controls, may_be_cut=True)


WORD = _text(100)  # names of sources, verifiers, families; short reasons
NAME = _text(150)  # of a person
#: Of somebody who is not erased.
FULL_NAME = _text(150, rf"^{_FIT}*[^\u0000-\u0020\u007f]{_FIT}*$")
LABEL = _text(200)  # names of brands and companies, places, titles
#: The network caps a headline at 220; what a search result shows is some 300.
HEADLINE = _text(1_000)
#: 512 are kept of a line that was said (`cs.verifiers.smtp.transcript`).
LINE = _text(600)
MAILBOX = Text(
    most=254,
    pattern=r"^[ -~]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$",
    holds=is_mailbox,
    clean=ascii_mailbox,
)
HOST = Text(
    most=253,
    pattern=_HOST,
    holds=is_mail_domain,
    clean=str.lower,
)
PAGE = Text(most=1_000, pattern=r"^https?://[^\u0000-\u0020\u007f-\u00a0\u0022<>\\^`{|}]+$")
LOOKUP = Text(most=200, pattern=r"^brand-[0-9a-z]{1,64}\.[1-9][0-9]{0,9}(-[0-9a-z]{1,64})?$")
#: The mail domain, in verification; nothing elsewhere.
ITEM = Text(
    most=253,
    pattern=r"^([a-z0-9-]+(\.[a-z0-9-]+)+)?$",
    holds=lambda item: not item or is_mail_domain(item),
)
RECEIPT = Text(most=64, pattern=r"^[0-9A-Za-z_-]*$")
PERSON = Text(most=10, pattern=r"^p[1-9][0-9]*$")
#: Attempts of one piece of work are a handful, restarts included.
ATTEMPT = Number(1, 1_000_000)
SHARE = Number(0, 1)
#: A year: longer than anything waits for.
WAIT_S = Number(0, 366 * 86_400)

_PEOPLE = 1_000  # several sources at once; 100 of them are kept
_SOURCES = Named(64, WORD, WORD)
_CAUSES = Named(CAUSES, WORD, _text(CAUSE))

#: The limits of each shape, by field.  A field that is not here is a shape of its own,
#: true or false, or one of a closed set of words.
LIMITS: Mapping[type[msgspec.Struct], Mapping[str, Limit]] = {
    Work: {
        "lookup": LOOKUP,
        "item": ITEM,
        "attempt": ATTEMPT,
        "deadline_at": Moment(),
        "receipt": RECEIPT,
    },
    Outcome: {"lookup": LOOKUP, "item": ITEM, "attempt": ATTEMPT, "receipt": RECEIPT},
    ResolutionInput: {},
    DiscoveryInput: {},
    RankingInput: {"people": Many(_PEOPLE), "contacts": Number(0, 10_000)},
    VerificationInput: {"mail_domain": HOST, "candidates": Many(_PEOPLE)},
    PeopleSeen: {"people": Many(_PEOPLE)},
    MailboxChecked: {},
    Resolved: {"sources": _SOURCES, "causes": _CAUSES},
    Discovered: {"people": Many(_PEOPLE), "sources": _SOURCES, "causes": _CAUSES},
    RankingDone: {"ranked": Many(_PEOPLE), "left_out": Many(_PEOPLE)},
    DomainVerified: {"checked": Many(_PEOPLE)},
    Failed: {
        "why": WORD,
        "retry_in_s": WAIT_S,
        "checked": Many(_PEOPLE),
        "causes": _CAUSES,
    },
    Query: {"brand": _text(BRAND_MAX), "domain": HOST},
    BrandFacts: {
        "name": LABEL,
        "domain": HOST,
        "linkedin_company_url": PAGE,
        "parent_company": LABEL,
        "instagram": PAGE,
        "tiktok": PAGE,
        "aliases": Many(50, WORD),
        "mail_domains": Many(10, HOST),
        "found_by": Named(20, WORD, WORD),
    },
    Sighting: {
        "full_name": FULL_NAME,
        "first_name": NAME,
        "last_name": NAME,
        "headline": HEADLINE,
        "company": LABEL,
        "linkedin_url": PAGE,
        "location": LABEL,
        "addresses": Many(5, MAILBOX),
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
        "addresses": Many(5, MAILBOX),
        "sources": Many(64, WORD),
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
        "addresses": Many(5, MAILBOX),
    },
    Checked: {
        "person": PERSON,
        "mail_domain": HOST,
        "address": MAILBOX,
        "verifier": WORD,
        "evidence": Many(100),
    },
    Evidence: {
        "address": MAILBOX,
        "reason": WORD,
        "verifier": WORD,
        "at": Moment(),
        "mx": LABEL,
        "conversation": Many(500),
        "retry_in_s": WAIT_S,
    },
    # Before the address began, to a stage that counts from then.
    Line: {"at_ms": Number(-86_400_000, 86_400_000), "who": _text(10), "text": LINE},
    DomainFacts: {"pattern": WORD},
}


_INPUTS: Mapping[StageName, type[StageInput]] = {
    "brand-resolution": ResolutionInput,
    "contact-discovery": DiscoveryInput,
    "ranking": RankingInput,
    "verification": VerificationInput,
}


def check_work(work: Work) -> None:
    """Pass if *work* is within `LIMITS`, and its input and item are those of its stage.

    Raises:
        BeyondLimits: It is not.
    """
    check(work)
    if not isinstance(work.input, _INPUTS[work.stage]):
        raise BeyondLimits("input")
    asked = work.input.mail_domain if isinstance(work.input, VerificationInput) else ""
    if work.item != asked:
        raise BeyondLimits("item")


def check_outcome(outcome: Outcome) -> None:
    """Pass if *outcome* is within `LIMITS`, and names an item if its stage has some.

    Raises:
        BeyondLimits: It is not.
    """
    check(outcome)
    if bool(outcome.item) != (outcome.stage == "verification"):
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
        case Text():
            fits = _is_within(value, limit)
        case Number(least, most):
            fits = least <= value <= most  # false of NaN
        case Moment():
            fits = value.tzinfo is not None and _FIRST <= value < _LAST
        case Many(most, each):
            fits = len(value) <= most
            for part in value if fits else ():
                _check_one(part, each)
        case Named(most, name, text):
            fits = len(value) <= most and all(
                _is_within(key, name) and _is_within(part, text) for key, part in value.items()
            )
    if not fits:
        raise BeyondLimits("")


def _is_within(text: str, limit: Text) -> bool:
    return (
        len(text) <= limit.most
        and _SURROGATE.search(text) is None
        and _pattern(limit.pattern).fullmatch(text) is not None
        and (limit.holds is None or limit.holds(text))
    )


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII)


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
    match finding:
        case DomainVerified(checked=checked) | Failed(checked=checked):
            return replace(finding, checked=tuple(map(_without_conversations, checked)))
        case Discovered(people=people) | PeopleSeen(people=people):
            return replace(finding, people=people[: int(len(people) * share * 0.9)])
        case _:
            return finding


def _without_conversations(checked: Checked) -> Checked:
    evidence = (replace(each, conversation=()) for each in checked.evidence)
    return replace(checked, evidence=tuple(evidence))


def _fitted_part(value: Any, limit: Limit | None) -> Any:
    match limit, value:
        case _, None:
            return None
        case Text(), str():
            return _fitted_text(value, limit)
        case Number(least, most), int() | float() if not math.isnan(value):
            return min(max(value, type(value)(least)), type(value)(most))
        case Moment(), datetime():
            _check_one(value, limit)
            return value
        case Many(most, each), tuple() | list():
            return tuple(_fitting(value, each))[:most]
        case Named(most, name, text), dict():
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


def _fitted_text(text: str, limit: Text) -> str:
    if _is_within(text, limit):
        return text
    cleaned = limit.clean(text)
    if limit.may_be_cut:
        cleaned = cleaned[: limit.most]
    if not _is_within(cleaned, limit):
        raise BeyondLimits("")
    return cleaned
