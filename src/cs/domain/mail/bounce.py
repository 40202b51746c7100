"""Meaning of a bounce for the mailbox that it came back from: codes first, words last.

A bounce is mail that was returned (RFC 3464), as the sending tool reports it: an
enhanced code (RFC 3463), a reply code (RFC 5321), what the mail server said, and a word of the
tool's own for it.  What the server said is judged by the rules of a live conversation
(`cs.domain.mail.reply_meaning`): only a permanent statement about the recipient says that
there is no such mailbox.  A refusal of the sender, of the message or of the moment does not.
"""

import re
from datetime import datetime
from enum import StrEnum

import msgspec

from cs.domain.mail.reply_meaning import REFUSED, ReplyKind, SmtpReply, meaning


class BounceKind(StrEnum):
    """Consequence of a bounce."""

    PERMANENT = "permanent"  # there is no such mailbox, or it is shut: not deliverable
    TEMPORARY = "temporary"  # it takes no mail now: counted
    OTHER = "other"  # about the sender, the message or nothing that is known: counted


class ToolWord(StrEnum):
    """The sending tool's kind of a bounce."""

    HARD = "hard"
    SOFT = "soft"
    BLOCK = "block"  # policy, reputation, spam, content


class Bounce(msgspec.Struct, frozen=True, kw_only=True):
    """One returned mail.  Personal: it names an address.

    Attributes:
        address: Of the recipient, in ASCII, as it was sent to.
        at: When it came back; ``None``: not reported.
        status: Enhanced code of the report, ``5.1.1``.
        code: Reply code, 400 to 599.
        diagnostic: What the mail server said.
        tool_word: What the sending tool calls it.
    """

    address: str
    at: datetime | None = None
    status: str | None = None
    code: int | None = None
    diagnostic: str = ""
    tool_word: ToolWord | None = None


class BounceMeaning(msgspec.Struct, frozen=True):
    """Consequence and stable reason: the kind of a reply, or one of those below.

    ``status`` is the enhanced code that was judged, of the report or of the server's words.
    """

    kind: BounceKind
    reason: str
    status: str | None = None


#: The reason if report and server say different things.
_CONTRADICTION = "contradiction"
#: By the tool's own word, where it is all that is known.
_BY_WORD = {
    ToolWord.HARD: BounceMeaning(BounceKind.PERMANENT, "reported-hard"),
    ToolWord.SOFT: BounceMeaning(BounceKind.TEMPORARY, "reported-soft"),
    ToolWord.BLOCK: BounceMeaning(BounceKind.OTHER, "reported-block"),
    None: BounceMeaning(BounceKind.OTHER, "unsaid"),
}
#: Kinds of a reply after which the same mail may be taken later.
_MAY_PASS = frozenset(
    {
        ReplyKind.FULL,
        ReplyKind.RATE,
        ReplyKind.GREYLISTED,
        ReplyKind.IN_PROGRESS,
        ReplyKind.CLOSING,
        ReplyKind.TRANSIENT,
        ReplyKind.TOO_MANY,
    }
)
#: Kinds of a reply without a word about anybody: the tool's own word counts.
_SAYS_NOTHING = frozenset({ReplyKind.UNKNOWN, ReplyKind.BARE})
#: Of the codes about policy, those about the mailbox itself (RFC 7372 has none; 5.7.13 is
#: RFC 3463's registry, 5.7.17 and 5.7.18 RFC 7293): shut, or another's by now.
_OWNER = frozenset({"13", "17", "18"})
_ENHANCED = re.compile(r"(?<![\w.])[245]\.\d{1,3}\.\d{1,3}(?![\w]|\.\d)")
#: "550 …", "550-…", also within: "host mx.test said: 550 5.1.1 …", "returned '550 …'".
_CODE = re.compile(r"(?<![\w.:/-])(?P<code>[245]\d\d)(?:[ -]|$)")
#: Who said it, as Postfix writes before a reply: "host mx.test[192.0.2.1] said: 550 …".  A
#: name of a host says nothing of a mailbox, and neither does the word.
_WHO_SAID = re.compile(r"^host \S+ said: (?=[245]\d\d[ -])", re.IGNORECASE)
#: The type that RFC 3464, 2.3.6, has before a diagnostic: "smtp; 550 …".
_TYPE = re.compile(r"\s*(?:smtp|lmtp|x400|unix|x-[a-z0-9-]+)\s*;", re.IGNORECASE)


def enhanced_code(text: str) -> str | None:
    """Return *text* if it is an enhanced code (RFC 3463), blanks around it aside.

    >>> enhanced_code(" 5.1.1 "), enhanced_code("5.1.1 (bad mailbox)"), enhanced_code("5.1")
    ('5.1.1', '5.1.1', None)
    """
    found = _ENHANCED.match(text.strip())
    return found[0] if found else None


def bounce_meaning(bounce: Bounce) -> BounceMeaning:
    """Return what *bounce* says of its mailbox.

    `BounceKind.PERMANENT` is only what nothing in the report contradicts: neither a transient
    code, nor a code or words about policy, nor the tool's word that it was a block.
    """
    reply = _reply_of(bounce)
    found = _BY_WORD[bounce.tool_word] if reply is None else _by_reply(bounce, reply)
    status = bounce.status if reply is None else reply.enhanced
    return msgspec.structs.replace(found, status=status)


def _by_reply(bounce: Bounce, reply: SmtpReply) -> BounceMeaning:
    echoed = (bounce.address, bounce.address.rpartition("@")[2])
    kind = meaning(reply, stage="rcpt", echoed=echoed).kind
    # No more than a class, or "the mailbox".
    is_open = reply.enhanced is None or reply.enhanced[1:] in {".0.0", ".2.0"}
    if kind in _SAYS_NOTHING and not reply.text and bounce.tool_word and is_open:
        return _without(bounce, _BY_WORD[bounce.tool_word])
    if kind in REFUSED:
        # Filters refuse spam with 5.1.1, too: words about the sender or the message count,
        # whatever the codes.  Microsoft says "access denied" with 5.4.1 of a recipient who is
        # in no directory.
        words = meaning(SmtpReply(550, None, reply.text), stage="rcpt", echoed=echoed).kind
        if words in {ReplyKind.ABOUT_US, ReplyKind.SENDER} and reply.enhanced != "5.4.1":
            return BounceMeaning(BounceKind.OTHER, _CONTRADICTION)
        return _without(bounce, BounceMeaning(BounceKind.PERMANENT, kind.value))
    may_pass = kind in _MAY_PASS or (kind is ReplyKind.UNKNOWN and reply.code < 500)
    follows = BounceKind.TEMPORARY if may_pass else BounceKind.OTHER
    return BounceMeaning(follows, kind.value)


def _without(bounce: Bounce, found: BounceMeaning) -> BounceMeaning:
    """Return *found*, unless it is permanent and something in *bounce* contradicts that."""
    if found.kind is not BounceKind.PERMANENT:
        return found
    codes = {*_ENHANCED.findall(bounce.diagnostic), *([bounce.status] if bounce.status else [])}
    if any(code[0] == "4" for code in codes) or (bounce.code or 500) < 500:
        return BounceMeaning(BounceKind.TEMPORARY, _CONTRADICTION)
    about_policy = any(code[1:].startswith(".7.") and code[4:] not in _OWNER for code in codes)
    if about_policy or bounce.tool_word is ToolWord.BLOCK:
        return BounceMeaning(BounceKind.OTHER, _CONTRADICTION)
    return found


def _reply_of(bounce: Bounce) -> SmtpReply | None:
    """Return the reply that *bounce* reports, put together; ``None`` if it reports none."""
    typed = _TYPE.match(bounce.diagnostic)
    said = " ".join(bounce.diagnostic[typed.end() if typed else 0 :].split())
    said = _WHO_SAID.sub("", said, count=1)
    within = _CODE.search(said)
    code = int(within["code"]) if within else bounce.code
    codes = _ENHANCED.findall(said)
    classes = {str(code // 100)} if code else {"4", "5"}
    enhanced = next((each for each in codes if each[0] in classes), None)
    if enhanced is None or enhanced[1:] == ".0.0":
        enhanced = bounce.status or enhanced
    if code is None and enhanced is not None and enhanced[0] != "2":
        code = 450 if enhanced[0] == "4" else 550
    if code is None or code < 400:
        return None if not said else SmtpReply(550, enhanced, _words(said))
    return SmtpReply(code, enhanced, _words(said))


def _words(said: str) -> str:
    """Return *said* without the codes that its lines begin with."""
    return " ".join(_ENHANCED.sub(" ", _CODE.sub(" ", said)).split())
