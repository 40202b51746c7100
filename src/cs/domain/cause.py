"""Reasons why a plug-in could not answer, safe to log: short, one line, no mailbox.

Events hold such words for ever, in clear, and log lines go wherever an operator sends them;
no erasure reaches either.  So both leave out more (`without_people`) than what is sealed, or
sent to the caller.
"""

import re
from collections.abc import Mapping
from traceback import extract_tb

from msgspec import ValidationError

from cs.domain.names.plain_text import CONTROLS

#: Characters of a cause at most, and causes of one run.
CAUSE = 300
CAUSES = 20

# Tried only where a word begins, or a long one would be read once for each of its letters.
_MAILBOX = re.compile(r"(?<![^\s@'\"<>=&?])[^\s@'\"<>=&?]+(?:@|%40)[^\s'\"<>&]+")
_CONTROL = re.compile(f"{CONTROLS.pattern}+")
_PATH = re.compile(r"(https?://[^\s/?#'\"]+)[/?#][^\s'\"]*", re.IGNORECASE)
#: An apostrophe within a word begins nothing; what was cut is quoted to its end.
_QUOTED = re.compile(
    r"""(?<!\w)[bru]{0,2}(?:'(?:[^'\\]|\\.)*(?:'|\\?$)|"(?:[^"\\]|\\.)*(?:"|\\?$))"""
    "|\u201c[^\u201d]*(?:\u201d|$)|\u201e[^\u201c\u201d]*(?:[\u201c\u201d]|$)"
    "|(?<!\\w)\u2018[^\u2019]*(?:\u2019|$)|\u00ab[^\u00bb]*(?:\u00bb|$)|`[^`]*(?:`|$)",
    re.IGNORECASE | re.DOTALL,
)
#: No person's name: nothing, or what a header of credentials holds without them.
_NO_NAME = re.compile(
    r"""[bru]{0,2}(['"])\s*(?:(?:basic|bearer|token)\s*)?\**\s*\1""", re.IGNORECASE
)
#: What was left out may show what else is to be: gone over until nothing changes.
_TIMES = 10
_WORDS = re.compile(r"[^\W_]{2,}")


def one_line(text: str) -> str:
    r"""Return *text* as it may be logged: one line of at most `CAUSE` characters, no mailbox.

    >>> one_line("550 jane@acme.test:\r\n unknown")
    '550 [mailbox]  unknown'
    """
    return _CONTROL.sub(" ", _MAILBOX.sub("[mailbox]", text))[:CAUSE]


def without_people(text: str) -> str:
    """Return *text* as `one_line` does, without what may be a person's name or profile.

    Left out is what is quoted, and what stands behind the host of an address on the web:
    there an error shows what was to be read.

    >>> without_people("KeyError: 'Jane Doe' of https://x.test/in/jane")
    'KeyError: […] of https://x.test/…'
    >>> without_people("Illegal header value b'Bearer '")
    "Illegal header value b'Bearer '"
    """
    for _ in range(_TIMES):
        before, text = text, one_line(_QUOTED.sub(_left_out, _PATH.sub(r"\1/…", text)))
        if text == before:
            break
    return text


def _left_out(quoted: re.Match[str]) -> str:
    return quoted[0] if _NO_NAME.fullmatch(quoted[0]) else "[…]"


def without_mailbox(text: str, address: str) -> str:
    """Return *text* without the words of the local part of *address*, in whatever case.

    >>> without_mailbox("Doe, Jane: no such user jane.doe", "jane.doe@acme.test")
    '[mailbox], [mailbox]: no such user [mailbox].[mailbox]'
    """
    words = _WORDS.findall(address.rpartition("@")[0])
    if not words:
        return text
    any_word = "|".join(map(re.escape, words))
    return re.sub(
        rf"(?<![^\W_])(?:{any_word})(?![^\W_])", "[mailbox]", text, flags=re.IGNORECASE
    )


def storable_causes(causes: Mapping[str, str]) -> dict[str, str]:
    """Return *causes*, by source, as events hold them: at most `CAUSES`, `without_people`.

    >>> storable_causes({"staff": "KeyError: 'Jane'", "web": "https://x.test/jane answers 404"})
    {'staff': 'KeyError: […]', 'web': 'https://x.test/… answers 404'}
    """
    return {name: without_people(why) for name, why in list(causes.items())[:CAUSES]}


def raised_at(error: BaseException, functions: int = 3) -> str:
    """Return where *error* was raised: the innermost functions, outermost first.

    It stands in log lines for the words of *error*, which may tell of a person.  Empty for
    one that was never raised.
    """
    frames = extract_tb(error.__traceback__, limit=-functions)
    return " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)


_EXPECTED = re.compile(r"Expected `(.+)`, got `(.+)`")


def wrong_type(error: ValidationError) -> str:
    """Return what msgspec found wrong: the field and both types, never the value.

    >>> import msgspec
    >>> try:
    ...     msgspec.convert({"why": ["Jane"]}, dict[str, int])
    ... except ValidationError as error:
    ...     wrong_type(error)
    '[...] is array, not int'
    """
    said, has_path, path = str(error).rpartition(" - at ")
    place = path.strip("`").removeprefix("$").removeprefix(".") if has_path else ""
    types = _EXPECTED.fullmatch(said if has_path else path)
    if types is None:
        return f"{place or 'the answer'} has a value that is not allowed there"
    return f"{place or 'the answer'} is {types[2]}, not {types[1]}"


#: Functions that `fault` names: enough to see whose fault it was.
_FUNCTIONS = 10


def fault(error: BaseException) -> dict[str, str]:
    """Return the fields of a log line about a bug: ``why``, without people, and ``at``.

    A traceback would have all its words, and those of what caused it.
    """
    try:
        words = str(error)
    except Exception:  # noqa: BLE001  the __str__ of foreign code
        words = ""
    name = type(error).__name__
    why = without_people(f"{name}: {words}" if words else name)
    return {"why": why, "at": raised_at(error, _FUNCTIONS)}
