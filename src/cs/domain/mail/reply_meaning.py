"""What a mail server's reply means: code first, enhanced code second, words last.

Only an explicit statement about the recipient, by a server that is willing to talk to
us, counts for or against a mailbox.  Everything else (banner, HELO, MAIL FROM, TLS,
policy, trouble) is a statement about us or about the moment, and leaves the mailbox
unknown.  docs/verifiers.md has the table that this module implements; codes are those of
RFC 5321 4.2.3, enhanced codes those of RFC 3463.  One table, so it is one module.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from cs.domain.mail.reply import SmtpReply, repeated_code
from cs.domain.mail.reply_words import ReplyText
from cs.domain.mail.retry_hint import retry_hint

Stage = Literal["banner", "helo", "starttls", "mail", "rcpt", "quit"]


class ReplyKind(StrEnum):
    """What a reply is about.  The value is a stable reason, shown in evidence."""

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

#: Subjects and details that leave it to the words: no more specific than "permanent", and
#: numbers of a maker's own under "address" and "mailbox" (Microsoft: 5.1.351, 5.0.350).
_SAYS_NOTHING = frozenset({None, "0.0", "3.0", "5.0", "0.350", "1.350", "1.351"})
_BY_WORDS = ("0.", "1.", "2.")
_CONTRADICTED = "transient"  # a permanent reply that repeats a transient one


class ReplyMeaning(msgspec.Struct, frozen=True):
    """What a reply means for the mailbox, and when to ask again if it may change."""

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
    words = ReplyText(reply.text, (*echoed, sender))
    kind = _at_rcpt(reply, words) if stage == "rcpt" else _before_rcpt(reply, words, stage)
    if kind in _AGAINST_RECIPIENT and _names_only(reply, sender, echoed):
        kind = ReplyKind.SENDER
    if kind not in _RETRY_S:
        return ReplyMeaning(kind)
    hint = retry_hint(reply.text) if reply.code // 100 == 4 else None
    return ReplyMeaning(kind, hint or _RETRY_S[kind])


def same_words(one: SmtpReply, other: SmtpReply, echoed: Sequence[str]) -> bool:
    """Say whether two replies say the same, but for what they are about.

    Used to compare a refusal with that of a control address: a server that refuses both
    in the same words is refusing us.
    """
    gists = [ReplyText(reply.text, echoed).gist for reply in (one, other)]
    return (one.code, one.enhanced) == (other.code, other.enhanced) and gists[0] == gists[1]


def _names_only(reply: SmtpReply, sender: str, echoed: Sequence[str]) -> bool:
    text = reply.text.casefold()
    return (
        bool(sender)
        and sender.casefold() in text
        and not any(e.casefold() in text for e in echoed if "@" in e)
    )


def _before_rcpt(reply: SmtpReply, words: ReplyText, stage: Stage) -> ReplyKind:
    match reply.code // 100:
        case 2:
            return ReplyKind.ACCEPTED
        case _ if _wants_starttls(reply, words):
            return ReplyKind.STARTTLS
        case 4 if reply.code == 421:
            return ReplyKind.CLOSING
        case 4 if words.greylisted and not words.local_trouble:
            return ReplyKind.GREYLISTED
        case 4:
            return ReplyKind.TRANSIENT
        case 5 if stage == "mail" and (words.about_sender or _detail(reply) in {"1.7", "1.8"}):
            return ReplyKind.SENDER
        case 5:
            return ReplyKind.ABOUT_US
        case _:
            return ReplyKind.UNKNOWN


def _at_rcpt(reply: SmtpReply, words: ReplyText) -> ReplyKind:
    match reply.code // 100:
        case 2:
            return _positive(reply)
        case 4:
            return _transient(reply, words)
        case 5:
            return _permanent(reply, words)
        case _:
            return ReplyKind.UNKNOWN


def _positive(reply: SmtpReply) -> ReplyKind:
    if reply.code == 252:
        return ReplyKind.CANNOT_VERIFY
    # "250 5.1.1" says two things at once: neither is believed.
    contradicts = reply.enhanced is not None and reply.enhanced[0] != "2"
    return (
        ReplyKind.ACCEPTED
        if reply.code in {250, 251} and not contradicts
        else ReplyKind.UNKNOWN
    )


def _transient(reply: SmtpReply, words: ReplyText) -> ReplyKind:
    if reply.code == 421:
        return ReplyKind.CLOSING
    if _wants_starttls(reply, words):
        return ReplyKind.STARTTLS
    match _detail(reply):
        case "5.3":
            return ReplyKind.TOO_MANY
        case "2.2" if not words.sending_quota:
            return ReplyKind.FULL
        case "2.1" if words.rate:
            return ReplyKind.RATE
        case "1.1" if words.in_progress:
            return ReplyKind.IN_PROGRESS
        case "1.7" | "1.8":
            return ReplyKind.SENDER
        case None | "0.0" | "1.0" | "1.1" | "2.0" | "2.1" | "3.0" | "5.0" if _is_full(
            reply, words
        ):
            return ReplyKind.FULL
        case "2.0" if reply.code in {450, 451}:
            return ReplyKind.GREYLISTED
        case "7.1" if reply.code in {450, 451}:
            # "cannot find your reverse hostname" does not pass by waiting.
            return (
                ReplyKind.ABOUT_US
                if words.about_us and not words.greylisted
                else ReplyKind.GREYLISTED
            )
        case str(detail) if detail.startswith("7."):
            return ReplyKind.GREYLISTED if words.greylisted else ReplyKind.ABOUT_US
        case str(detail) if detail.startswith(("1.", "2.", "3.", "4.", "5.", "6.")):
            return ReplyKind.TRANSIENT
        case _:
            return _transient_words(reply, words)


def _transient_words(reply: SmtpReply, words: ReplyText) -> ReplyKind:
    if words.too_many:
        return ReplyKind.TOO_MANY
    if words.in_progress:
        return ReplyKind.IN_PROGRESS
    if words.rate:
        return ReplyKind.RATE
    if reply.code not in {450, 451, 452} or words.system_full or words.local_trouble:
        return ReplyKind.TRANSIENT
    if reply.code in {450, 451} and words.greylisted:
        return ReplyKind.GREYLISTED
    return ReplyKind.TRANSIENT


def _is_full(reply: SmtpReply, words: ReplyText) -> bool:
    """Say whether a transient reply says in words that this mailbox is full."""
    return (
        reply.code in {422, 450, 451, 452}
        and words.full
        and not (words.about_sender or words.rate or words.in_progress)
        and not (words.about_us or words.too_many or words.local_trouble)
    )


def _permanent(reply: SmtpReply, words: ReplyText) -> ReplyKind:
    if _wants_starttls(reply, words):
        return ReplyKind.STARTTLS
    if reply.code in {500, 501, 502, 503, 504, 521, 530, 535}:
        return ReplyKind.ABOUT_US
    if reply.enhanced is not None and reply.enhanced[0] != "5":
        return ReplyKind.UNKNOWN  # "550 4.2.1": permanent and transient at once
    detail = _detail(reply)
    if detail in _SAYS_NOTHING and (repeated := repeated_code(reply.text)):
        detail = repeated[2:] if repeated[0] == "5" else _CONTRADICTED
    match detail:
        case "1.7" | "1.8":
            return ReplyKind.SENDER
        case "1.1" | "1.10" | "1.2" | "1.3" | "1.6" if words.sender_rejected:
            return ReplyKind.SENDER
        case "1.1" if reply.code == 552 and words.full:
            return ReplyKind.FULL  # Orange: "552 5.1.1 Boite du destinataire pleine"
        case "1.3" if words.rcpthosts:
            return ReplyKind.NOT_HOSTED
        case "1.1" | "1.10" | "1.2" | "1.3" | "1.6":
            return ReplyKind.RECIPIENT_REFUSED
        case "1.0" if words.about_sender:
            return ReplyKind.SENDER
        case "1.0":
            return ReplyKind.ABOUT_US if words.about_us else ReplyKind.RECIPIENT_REFUSED
        case "2.1" if words.rate:
            return ReplyKind.RATE
        case "2.1":
            return ReplyKind.ABOUT_US if words.about_us else ReplyKind.DISABLED
        case "2.2":
            return ReplyKind.ABOUT_US if words.sending_quota else ReplyKind.FULL
        case "2.3" | "2.4" | "1.4" | "1.9":
            return ReplyKind.UNKNOWN  # a message's length, a list's members; no one mailbox
        case "4.1" if words.no_directory_entry:
            return ReplyKind.RECIPIENT_REFUSED
        case "5.3":
            return ReplyKind.TOO_MANY
        case "7.13":  # Exchange had it for public folders that take no strangers' mail
            return ReplyKind.ABOUT_US if words.about_sender else ReplyKind.DISABLED
        case "7.17" | "7.18":
            return ReplyKind.RECIPIENT_REFUSED
        case str(detail) if detail.startswith("7."):
            return ReplyKind.ABOUT_US
        case str(detail) if detail.startswith("4."):
            return ReplyKind.NOT_HOSTED
        case None | "0.0" | "3.0" | "5.0" if 550 <= reply.code <= 554:
            return _permanent_words(reply, words)
        case None if reply.code == 556:  # RFC 7504: the domain takes no mail
            return ReplyKind.ABOUT_US if words.about_us else ReplyKind.RECIPIENT_REFUSED
        case str(detail) if detail.startswith(_BY_WORDS):
            return _recipient_words(words) or ReplyKind.UNKNOWN
        case _:
            return ReplyKind.UNKNOWN


def _permanent_words(reply: SmtpReply, words: ReplyText) -> ReplyKind:
    if words.too_many:
        return ReplyKind.TOO_MANY
    if words.rate:
        return ReplyKind.RATE
    if words.about_sender:
        return ReplyKind.SENDER
    if words.not_hosted:
        return ReplyKind.NOT_HOSTED
    if words.about_us:
        return ReplyKind.ABOUT_US
    if kind := _recipient_words(words):
        return kind
    if words.refuses_us:
        return ReplyKind.ABOUT_US
    match reply.code:
        case 551:
            return ReplyKind.RECIPIENT_REFUSED  # the code itself says "user not local"
        case 552:
            return ReplyKind.UNKNOWN if words.size or words.system_full else ReplyKind.FULL
        case 550 if words.silent:
            return ReplyKind.BARE
        case _:
            return ReplyKind.UNKNOWN


def _recipient_words(words: ReplyText) -> ReplyKind | None:
    if words.about_sender or words.about_us:
        return None
    if words.disabled:
        return ReplyKind.DISABLED
    if words.no_such_recipient:
        return ReplyKind.RECIPIENT_REFUSED
    if words.full and not words.size:
        return ReplyKind.FULL
    if words.recipient_rejected and not words.refuses_us:
        return ReplyKind.RECIPIENT_REFUSED
    return None


def _wants_starttls(reply: SmtpReply, words: ReplyText) -> bool:
    return reply.code in {523, 538} or (
        words.starttls
        and (
            reply.code == 530
            or _detail(reply) in {None, "0.0"}
            or (_detail(reply) or "").startswith("7.")
        )
    )


def _detail(reply: SmtpReply) -> str | None:
    """Return subject and detail of the enhanced code, if it is of the reply's class."""
    if reply.enhanced is None or int(reply.enhanced[0]) != reply.code // 100:
        return None
    return reply.enhanced[2:]
