"""Today's meaning of the replies in a recorded conversation.

A reply about the address is read by today's rules (`cs.domain.mail.reply_meaning`).  What
probes and control addresses showed then is believed as it was recorded, so no reading makes
an address deliverable that was not.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from cs.domain.mail.mailbox import Evidence, Line, Verdict
from cs.domain.mail.reply import MalformedReply, SmtpReply, parse
from cs.domain.mail.reply_meaning import REFUSED, ReplyKind, meaning
from cs.verifiers.smtp.transcript import GAP

_CONNECT = re.compile(r"\[connect (\S+) .*\]")
_HELO = re.compile(r"(?:EHLO|HELO) (.*)")
_SENDER = re.compile(r"MAIL FROM:<([^>]*)>.*")
#: A refusal that the words of another refusal decided.
_LIKE_POSTMASTER = "refused-like-postmaster"
_REFUSALS = REFUSED | {ReplyKind.FULL}
#: Reasons that rest on the reply about the address; other reasons stay as recorded.
_OF_REPLY = frozenset({*ReplyKind, "recipient-accepted", _LIKE_POSTMASTER})


class ReadVerdict(msgspec.Struct, frozen=True):
    """The verdict on an address that follows from a conversation, and its reason."""

    verdict: Verdict
    reason: str


def reread(evidence: Evidence) -> ReadVerdict | None:
    """Return what *evidence* of the ``smtp`` verifier says of its address by today's rules.

    ``None``: it is not known, since no whole reply about the address is stored.
    """
    kinds = list(_kinds(evidence))
    if GAP in evidence.conversation or not kinds:
        return None
    reason = evidence.reason
    is_refused_still = reason == _LIKE_POSTMASTER and not _REFUSALS.isdisjoint(kinds)
    if (
        reason not in _OF_REPLY
        or reason in kinds
        or ReplyKind.ACCEPTED in kinds
        or is_refused_still
    ):
        return ReadVerdict(evidence.verdict, reason)
    match kind := kinds[-1]:
        case ReplyKind.RECIPIENT_REFUSED | ReplyKind.DISABLED | ReplyKind.BARE:
            return ReadVerdict(Verdict.UNDELIVERABLE, kind.value)
        case ReplyKind.FULL:
            return ReadVerdict(Verdict.MAILBOX_FULL, kind.value)
        case _:
            return ReadVerdict(Verdict.UNKNOWN, kind.value)


def _kinds(evidence: Evidence) -> Iterator[ReplyKind]:
    """Yield the meaning of each reply about the address by the exchanger that decided."""
    lines, domain = evidence.conversation, evidence.address.rpartition("@")[2]
    decided_by = evidence.mx or ""
    mx, helo, sender = decided_by, "", ""
    for n, line in enumerate(lines):
        if line.who == "S":
            continue
        if found := _CONNECT.fullmatch(line.text):
            mx = found[1]
        elif found := _HELO.fullmatch(line.text):
            helo = found[1]
        elif found := _SENDER.fullmatch(line.text):
            sender = found[1]
        elif line.text == f"RCPT TO:<{evidence.address}>" and mx == decided_by:
            reply = _reply(lines[n + 1 :])
            if reply is not None:
                echoed = (evidence.address, domain, mx, helo)
                yield meaning(reply, stage="rcpt", echoed=echoed, sender=sender).kind


def _reply(lines: Sequence[Line]) -> SmtpReply | None:
    """Return the reply that *lines* begin with; ``None``: they begin with none."""
    end = next((n for n, line in enumerate(lines) if line.who != "S"), len(lines))
    try:
        return parse([line.text.encode(errors="replace") for line in lines[:end]])
    except MalformedReply:
        return None
