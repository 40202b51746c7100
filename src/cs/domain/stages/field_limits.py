"""What one field of a message may hold: how long, how many, which characters.

The kinds of limit, and those with a name.  Which field has which: `cs.domain.stages.limits`.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

import msgspec

from cs.domain.cause import CAUSE, CAUSES
from cs.domain.mail.syntax import ascii_mailbox, is_mail_domain, is_mailbox

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


class MapLimit(msgspec.Struct, frozen=True):
    """At most ``most`` texts by name."""

    most: int
    name: TextLimit
    value: TextLimit


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
#: Of somebody who is not erased.
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
