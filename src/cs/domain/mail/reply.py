"""A mail server's reply as it comes over the wire: code, enhanced code, text."""

import re
from collections.abc import Sequence

import msgspec

_LINE = re.compile(r"(?P<code>[2-5]\d\d)(?:(?P<more>-)|[ \t]|$)(?P<text>.*)", re.DOTALL)
_ENHANCED = re.compile(r"#?(?P<code>[245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)(?:[:;,]|\s|$)\s*")
# qmail and IronPort write it into the text: "(#5.1.1)", "#5.1.0".
_ENHANCED_WITHIN = re.compile(r"(?:[(\[]#?|#)([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
# A server repeats what the one behind it said: "verification failed: 550 5.1.1 unknown".
_REPEATED = re.compile(r"\b[245]\d\d[ -]#?([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")


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
