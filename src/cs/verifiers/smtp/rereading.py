"""Today's meaning of the replies in a recorded conversation.

A reply about the address is read by today's rules (`cs.domain.mail.reply_meaning`).  The
results of probes and control addresses count as recorded, so no reading makes an address
deliverable that was not.  A refusal that needs an accepted control is read only if that
control was recorded in its session.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from cs.domain.mail.mailbox import Evidence, Line, Verdict
from cs.domain.mail.reply_meaning import (
    REFUSED,
    MalformedReply,
    ReplyKind,
    SmtpReply,
    meaning,
    parse,
)
from cs.verifiers.smtp.transcript import GAP
from cs.verifiers.smtp.verdict import needs_no_control

_CONNECT = re.compile(r"\[connect (\S+) .*\]")
_HELO = re.compile(r"(?:EHLO|HELO) (.*)")
_SENDER = re.compile(r"MAIL FROM:<([^>]*)>.*")
_RECIPIENT = re.compile(r"RCPT TO:<(.*)>")
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

    ``None``: it is not known, since no whole reply about the address is stored, or no accepted
    control that the reply would need.
    """
    answers = list(_answers(evidence))
    own = [answer for answer in answers if answer.address == evidence.address]
    kinds = [answer.kind for answer in own]
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
    last = own[-1]
    if last.kind not in _REFUSALS | {ReplyKind.BARE}:
        return ReadVerdict(Verdict.UNKNOWN, last.kind.value)
    if not needs_no_control(last.reply) and (last.session, ReplyKind.ACCEPTED) not in {
        (answer.session, answer.kind) for answer in answers
    }:
        return None
    is_full = last.kind is ReplyKind.FULL
    verdict = Verdict.MAILBOX_FULL if is_full else Verdict.UNDELIVERABLE
    return ReadVerdict(verdict, last.kind.value)


class _Answer(NamedTuple):
    """The reply of the exchanger that decided about one address, and its meaning."""

    session: int
    address: str
    reply: SmtpReply
    kind: ReplyKind


def _answers(evidence: Evidence) -> Iterator[_Answer]:
    """Yield the answer about each address that the deciding exchanger was asked about."""
    lines, domain = evidence.conversation, evidence.address.rpartition("@")[2]
    decided_by = evidence.mx or ""
    mx, helo, sender, session = decided_by, "", "", 0
    for n, line in enumerate(lines):
        if line.who == "S":
            continue
        if found := _CONNECT.fullmatch(line.text):
            mx, session = found[1], n
        elif line.text == "QUIT":
            session = n
        elif found := _HELO.fullmatch(line.text):
            helo = found[1]
        elif found := _SENDER.fullmatch(line.text):
            sender = found[1]
        elif (found := _RECIPIENT.fullmatch(line.text)) and mx == decided_by:
            reply = _reply(lines[n + 1 :])
            if reply is not None:
                echoed = (found[1], domain, mx, helo)
                kind = meaning(reply, stage="rcpt", echoed=echoed, sender=sender).kind
                yield _Answer(session, found[1], reply, kind)


def _reply(lines: Sequence[Line]) -> SmtpReply | None:
    """Return the reply that *lines* begin with; ``None``: they begin with none."""
    end = next((n for n, line in enumerate(lines) if line.who != "S"), len(lines))
    try:
        return parse([line.text.encode(errors="replace") for line in lines[:end]])
    except MalformedReply:
        return None
