"""A mail server's reply, and its meaning: code first, enhanced code second, words last.

Only an explicit statement about the recipient, by a server that is willing to talk to
us, counts for or against a mailbox.  Everything else (banner, HELO, MAIL FROM, TLS,
policy, trouble) is a statement about us or about the moment, and leaves the mailbox
unknown.  The rules and the words they look for are data: ``replies.toml``, which explains
its own fields.  Codes are those of RFC 5321 4.2.3, enhanced codes those of RFC 3463.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import msgspec

_LINE = re.compile(r"(?P<code>[2-5]\d\d)(?:(?P<more>-)|[ \t]|$)(?P<text>.*)", re.DOTALL)
_ENHANCED = re.compile(r"#?(?P<code>[245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)(?:[:;,]|\s|$)\s*")
# qmail and IronPort write it into the text: "(#5.1.1)", "#5.1.0".
_WITHIN_TEXT = re.compile(r"(?:[(\[]#?|#)([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
# A server repeats what the one behind it said: "verification failed: 550 5.1.1 unknown".
_REPEATED = re.compile(r"\b[245]\d\d[ -]#?([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")

_CLOCK = re.compile(
    r"\b(?:in|after|for|wait|back|least)\s+(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)\b"
)
_SPAN = re.compile(
    r"(?<![\w.:#-])(?P<n>\d{1,5})[ -]?"
    r"(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?:\(s\))?(?![\w.-]*\w)"
)
_BETWEEN_SPANS = re.compile(r"[\s,]*(?:and)?\s*")
_UNIT_S = {"s": 1, "m": 60, "h": 3600}
#: A hint longer than this is no use to a lookup that lives for minutes.
_LONGEST_S = 86_400
#: Characters of one reply that are read.  What comes after has never said anything, and
#: a server may send as much as it likes.
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
    if enhanced is None and (within := _REPEATED.search(text) or _WITHIN_TEXT.search(text)):
        enhanced = within[1]
    return SmtpReply(int(code), enhanced, text)


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
        total, end = 0, None
        for span in _SPAN.finditer(lower):
            if end is not None and not _BETWEEN_SPANS.fullmatch(lower, end, span.start()):
                break
            total += int(span["n"]) * _UNIT_S[span["unit"][0]]
            end = span.end()
    return float(total) if 0 < total <= _LONGEST_S else None


Stage = Literal["banner", "helo", "starttls", "mail", "rcpt", "quit"]


class ReplyKind(StrEnum):
    """Subject of a reply.  The value is a stable reason, shown in evidence."""

    ACCEPTED = "accepted"
    RECIPIENT_REFUSED = "recipient-refused"  # 5yz: there is no such mailbox
    DISABLED = "disabled"  # 5yz: there is, and it is shut
    FULL = "mailbox-full"  # there is, and it takes no mail now
    GREYLISTED = "greylisted"
    IN_PROGRESS = "in-progress"  # the server is finding out itself
    RATE = "recipient-busy"  # seems to exist, takes no more mail for now
    CANNOT_VERIFY = "cannot-verify"  # 252
    BARE = "bare-refusal"  # 550 and not a word: counts only if a control was accepted
    ABOUT_US = "about-us"  # our address, name, encryption or policy
    SENDER = "sender"  # our MAIL FROM
    NOT_HOSTED = "not-hosted"  # this server does not take mail for the domain
    TOO_MANY = "too-many-recipients"  # ask again alone, in a new session
    STARTTLS = "starttls-required"
    CLOSING = "closing"  # 421
    TRANSIENT = "transient"
    UNKNOWN = "unclear"


#: Kinds that say about the recipient that there is no use writing.
REFUSED = frozenset({ReplyKind.RECIPIENT_REFUSED, ReplyKind.DISABLED})
#: Kinds that are about the sender after all if the reply names only that address.
_AGAINST_RECIPIENT = REFUSED | {ReplyKind.FULL, ReplyKind.BARE}
#: Kinds that end the search for a server which says something about the recipient.
STATEMENTS = REFUSED | {ReplyKind.ACCEPTED, ReplyKind.FULL, ReplyKind.RATE, ReplyKind.BARE}
#: Kinds worth asking again about within a lookup, and the seconds to wait where the
#: server names none.  Postfix finishes an address verification in 10 to 30 s; greylists
#: commonly open after 60 s.  A full or busy mailbox takes hours, so it is not here.
_RETRY_S = {
    ReplyKind.GREYLISTED: 60.0,
    ReplyKind.IN_PROGRESS: 15.0,
    ReplyKind.CLOSING: 60.0,
    ReplyKind.TRANSIENT: 60.0,
    ReplyKind.TOO_MANY: 60.0,
}
#: Enhanced codes of a refusal that leave it to another server's reply within the text: none,
#: no more than "permanent", and Microsoft's own numbers under "address" and "mailbox".
_SAYS_NOTHING = frozenset({"", "0.0", "3.0", "5.0", "0.350", "1.350", "1.351"})


class ReplyMeaning(msgspec.Struct, frozen=True):
    """Meaning of a reply for the mailbox, and when to ask again if it may change."""

    kind: ReplyKind
    retry_in_s: float | None = None


def meaning(
    reply: SmtpReply, *, stage: Stage, echoed: Sequence[str] = (), sender: str = ""
) -> ReplyMeaning:
    """Return what *reply*, sent at *stage*, means.

    Args:
        reply: As the server sent it.
        stage: What it answers.  Only ``rcpt`` can be about a recipient.
        echoed: What the server may be repeating of ours (the recipient's address, mail
            domain, host names); taken out before words are read.
        sender: Our MAIL FROM.  A refusal that names it, and no recipient, is about it.
    """
    text = _ReplyText(reply.text, (*echoed, sender))
    rules = _DATA.rules["rcpt" if stage == "rcpt" else "before-rcpt"]
    code = f"{reply.code} {_detail(reply)}"
    fitting = (rule.kind for rule in rules if rule.fits(code, stage, text))
    kind = next(fitting, ReplyKind.UNKNOWN)
    if kind in _AGAINST_RECIPIENT and sender:
        said = reply.text.casefold()
        names_recipient = any(each.casefold() in said for each in echoed if "@" in each)
        kind = ReplyKind.SENDER if sender.casefold() in said and not names_recipient else kind
    if kind not in _RETRY_S:
        return ReplyMeaning(kind)
    hint = retry_hint(reply.text) if reply.code // 100 == 4 else None
    return ReplyMeaning(kind, hint or _RETRY_S[kind])


def same_words(one: SmtpReply, other: SmtpReply, echoed: Sequence[str]) -> bool:
    """Say whether two replies say the same, but for what they are about.

    A server that refuses an address and a control address in the same words is refusing us.
    Queue ids, clocks and counters change from reply to reply, and so does what is *echoed*.
    """

    def gist(reply: SmtpReply) -> tuple[int, str | None, str]:
        read = _without(reply.text[:_READ].casefold(), echoed)
        return reply.code, reply.enhanced, " ".join(_CHANGING.sub("#", read).split())

    return gist(one) == gist(other)


def _detail(reply: SmtpReply) -> str:
    """Return subject and detail of the enhanced code, as ``replies.toml`` describes it."""
    if reply.enhanced is None:
        detail = ""
    elif int(reply.enhanced[0]) != reply.code // 100:
        detail = "mixed"
    else:
        detail = reply.enhanced[2:]
    if reply.code // 100 == 5 and detail in _SAYS_NOTHING:
        repeated = _REPEATED.search(reply.text)
        if repeated is not None:
            return repeated[1][2:] if repeated[1][0] == "5" else "mixed"
    return detail


#: Characters between a word for a mailbox and what is said of it.
_NEAR = 40
_ADDRESS = re.compile(r"[^\s<>()\[\]\"',;]+@[^\s<>()\[\]\"',;]*")
_LINK = re.compile(r"(?:https?://|www\.)\S+")
_CHANGING = re.compile(r"\w*\d\w*")
_EMPTY_BRACKETS = re.compile(r"[<(\[\"'][\s<>]*[>)\]\"']:?")
_LETTERS = re.compile(r"[^\W\d_]{2}")
#: Letters that do not decompose into a letter and a mark, and what replaces them.
_PLAIN = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "’": "'"})


class _Rule(msgspec.Struct, forbid_unknown_fields=True):
    code: str
    kind: ReplyKind
    detail: str = ".*"
    stage: Stage | None = None
    says: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def fits(self, code: str, stage: Stage, text: "_ReplyText") -> bool:
        return (
            self.stage in {None, stage}
            and re.fullmatch(f"(?:{self.code}) (?:{self.detail})", code) is not None
            and all(map(text.speaks_of, self.says))
            and not any(map(text.speaks_of, self.unless))
        )


class _Topic:
    """A topic of ``replies.toml``, compiled."""

    def __init__(
        self,
        *,
        english: Sequence[str] = (),
        foreign: Sequence[str] = (),
        near_mailbox: Sequence[str] = (),
        links: bool = False,
        without: str = "",
        unless: Sequence[str] = (),
    ) -> None:
        self.english = re.compile(_any_of(english))
        self.links, self.unless = links, unless
        self.without = re.compile(_any_of([without])) if without else None
        other = _folded(_any_of(foreign))
        if near_mailbox:
            noun, said = _folded(_any_of(["{mailbox}"])), _folded(_any_of(near_mailbox))
            near = f".{{0,{_NEAR}}}?"
            other = f"(?:{noun}){near}(?:{said})|(?:{said}){near}(?:{noun})"
        self.foreign = re.compile(other) if other else None


class _Replies(msgspec.Struct):
    """``replies.toml``."""

    rules: dict[str, tuple[_Rule, ...]]
    parts: dict[str, str]
    topics: dict[str, dict[str, Any]]


class _ReplyText:
    """The text of one reply, and the topics that it speaks of.

    Args:
        text: As the server said it.
        echoed: Ours, and possibly repeated by the server: addresses, domains, names of
            hosts.  Taken out before any test, whatever the case: a domain called
            ``insufficient-storage.example`` is not a full mailbox.
    """

    def __init__(self, text: str, echoed: Iterable[str]) -> None:
        text = _SENDER_TOLD.sub(" ", _without(text[:_READ].casefold(), echoed))
        self._with_links = " ".join(text.split())
        self._plain = " ".join(_LINK.sub(" ", text).split())
        self._known = {"nothing": not _LETTERS.search(self._plain)}

    def speaks_of(self, topic: str) -> bool:
        if topic not in self._known:
            self._known[topic] = self._finds(_TOPICS[topic])
        return self._known[topic]

    def _finds(self, topic: _Topic) -> bool:
        text = self._with_links if topic.links else self._plain
        if topic.without:
            text = topic.without.sub(" ", text)
        if topic.english.search(text):
            return not any(map(self.speaks_of, topic.unless))
        return bool(topic.foreign and topic.foreign.search(_folded(self._plain)))


def _without(text: str, echoed: Iterable[str]) -> str:
    """Return *text*, which is lower-case, without what is ours in it."""
    for ours in sorted((e.casefold() for e in echoed if e), key=len, reverse=True):
        local, at, domain = ours.rpartition("@")
        if at:
            text = text.replace(ours, " ")
            # A lone local part only where it is marked as one: "user" in "user unknown"
            # is a word.
            if local in text:
                text = re.sub(rf"([<(\[\"']){re.escape(local)}([>)\]\"'])", r"\1 \2", text)
        if "." in domain and domain in text:
            text = re.sub(rf"(?<![\w-])[\w.-]*{re.escape(domain)}(?![\w-])", " ", text)
    return _EMPTY_BRACKETS.sub(" ", _ADDRESS.sub(" ", text))


def _folded(text: str) -> str:
    """Return *text* in lower case and without marks on letters.

    Servers write "Empfänger", "Empfaenger" and "Empfanger", "buzón" and "buzon".
    """
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c)).translate(_PLAIN)


def _any_of(patterns: Iterable[str]) -> str:
    """Return a pattern for any of *patterns*, their line breaks removed and parts put in."""
    lines = ("".join(map(str.lstrip, pattern.splitlines())) for pattern in patterns)
    return _PART.sub(lambda part: _any_of([_DATA.parts[part[1]]]), "|".join(lines))


_DATA = msgspec.toml.decode(
    Path(__file__).with_name("replies.toml").read_bytes(), type=_Replies
)
#: A name of a part in a pattern, and no number of repetitions.
_PART = re.compile(r"\{([a-z-]+)\}")
_TOPICS = {name: _Topic(**topic) for name, topic in _DATA.topics.items()}
#: The sender is spoken of, and not refused.
_SENDER_TOLD = re.compile(_any_of(["{sender-told}"]))
