"""A mail server's reply as it comes over the wire: code, enhanced code, text, time to wait."""

import re
from collections.abc import Sequence

import msgspec

_LINE = re.compile(r"(?P<code>[2-5]\d\d)(?:(?P<more>-)|[ \t]|$)(?P<text>.*)", re.DOTALL)
_ENHANCED = re.compile(r"#?(?P<code>[245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)(?:[:;,]|\s|$)\s*")
# qmail and IronPort write it into the text: "(#5.1.1)", "#5.1.0".
_ENHANCED_WITHIN = re.compile(r"(?:[(\[]#?|#)([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
# A server repeats what the one behind it said: "verification failed: 550 5.1.1 unknown".
_REPEATED = re.compile(r"\b[245]\d\d[ -]#?([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")

_CLOCK = re.compile(
    r"\b(?:in|after|for|wait|back|least)\s+(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)\b"
)
_SPAN = re.compile(
    r"(?<![\w.:#-])(?P<n>\d{1,5})[ -]?"
    r"(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?:\(s\))?(?![\w.-]*\w)"
)
_UNIT_S = {"s": 1, "m": 60, "h": 3600}
#: A hint longer than this is no use to a lookup that lives for minutes.
_LONGEST_S = 86_400
#: Characters of a reply that are read: a server may send as much as it likes.
_READ = 2_000


class MalformedReply(ValueError):
    """These lines are no SMTP reply (RFC 5321, 4.2)."""


class SmtpReply(msgspec.Struct, frozen=True):
    """One reply, all of its lines.

    Attributes:
        code: 200 to 599.
        enhanced: ``5.1.1`` (RFC 3463), wherever the server wrote it; of several the first.
        text: Lines joined by a space, without codes.
    """

    code: int
    enhanced: str | None
    text: str


def parse(lines: Sequence[bytes]) -> SmtpReply:
    """Return the reply in *lines*, line ends removed or not.

    Raises:
        MalformedReply: No lines, a line without a code, two codes, or no last line.
    """
    code, texts, enhanced = None, [], None
    for number, raw in enumerate(lines, 1):
        match = _LINE.fullmatch(decoded(raw))
        if match is None or (code is not None and match["code"] != code):
            raise MalformedReply(repr(raw[:80]))
        if bool(match["more"]) is (number == len(lines)):
            raise MalformedReply("the reply does not end with its last line")
        code, text = match["code"], match["text"].strip()
        if leading := _ENHANCED.match(text):
            enhanced = enhanced or leading["code"]
            text = text[leading.end() :]
        texts.append(text)
    if code is None:
        raise MalformedReply("no lines")
    text = " ".join(filter(None, texts))
    if enhanced is None and (within := _REPEATED.search(text) or _ENHANCED_WITHIN.search(text)):
        enhanced = within[1]
    return SmtpReply(int(code), enhanced, text)


def repeated_code(text: str) -> str | None:
    """Return the enhanced code of another server's reply that *text* repeats."""
    match = _REPEATED.search(text)
    return match[1] if match else None


def decoded(raw: bytes) -> str:
    """Return one line as text: UTF-8, or else Latin-1; control characters made blank."""
    raw = raw.rstrip(b"\r\n")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def is_last(line: bytes) -> bool:
    """Say whether *line* ends a reply.

    Raises:
        MalformedReply: It is no line of a reply.
    """
    match = _LINE.fullmatch(decoded(line))
    if match is None:
        raise MalformedReply(repr(line[:80]))
    return match["more"] is None


def retry_hint(text: str) -> float | None:
    """Return the seconds that *text* asks to wait; ``None`` if it names no time.

    Neighbouring spans add up ("4 minutes 30 seconds"); of several apart the first counts.
    More than a day, or nothing at all, is no hint.

    >>> retry_hint("Greylisted, please try again in 5 minutes")
    300.0
    >>> retry_hint("come back in 00:02:00")
    120.0
    >>> retry_hint("see 2.0.0 at 12:30:15") is None
    True
    """
    lower = text[:_READ].casefold()
    if clock := _CLOCK.search(lower):
        total = int(clock["h"]) * 3600 + int(clock["m"]) * 60 + int(clock["s"])
    else:
        total = _spans(lower)
    return float(total) if 0 < total <= _LONGEST_S else None


def _spans(text: str) -> int:
    total, end = 0, None
    for span in _SPAN.finditer(text):
        if end is not None and not re.fullmatch(r"[\s,]*(?:and)?\s*", text[end : span.start()]):
            break
        total += int(span["n"]) * _UNIT_S[span["unit"][0]]
        end = span.end()
    return total
