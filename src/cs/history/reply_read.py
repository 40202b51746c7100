"""Which reply of a conversation was about an address, and how today's rules read it."""

from collections.abc import Sequence
from itertools import takewhile

import msgspec

from cs.domain.mail.mailbox import Evidence, Line
from cs.domain.mail.reply import MalformedReply, SmtpReply, parse
from cs.domain.mail.reply_meaning import meaning


class ReplyRead(msgspec.Struct, frozen=True):
    """The last reply to the question about an address.

    Attributes:
        code: ``550``.
        enhanced: ``5.1.1`` (RFC 3463), if the server wrote one.
        text: What it said.
        kind: How today's rules read it (`cs.domain.mail.reply_meaning.ReplyKind`).
    """

    code: int
    enhanced: str | None
    text: str
    kind: str


def reply_read(evidence: Evidence) -> ReplyRead | None:
    """Return the reply about the address of *evidence*; ``None``: there was none.

    None is read of a conversation that ended before, or whose lines about it were left out
    because it was too long.
    """
    lines = evidence.conversation
    asked = f"RCPT TO:<{evidence.address}>".casefold()
    places = [n for n, line in enumerate(lines) if line.who == "C" and _is(line, asked)]
    if not places:
        return None
    reply = _reply(lines[places[-1] + 1 :])
    if reply is None:
        return None
    said = [line.text for line in lines[: places[-1]] if line.who == "C"]
    domain = evidence.address.rpartition("@")[2]
    ours = (evidence.address, domain, evidence.mx or "", _last(said, "EHLO ", "HELO "))
    sender = _last(said, "MAIL FROM:").strip("<>")
    kind = meaning(reply, stage="rcpt", echoed=ours, sender=sender).kind
    return ReplyRead(reply.code, reply.enhanced, reply.text, kind.value)


def _is(line: Line, asked: str) -> bool:
    return line.text.casefold() == asked


def _reply(lines: Sequence[Line]) -> SmtpReply | None:
    said = takewhile(lambda line: line.who == "S", lines)
    try:
        return parse([line.text.encode() for line in said])
    except MalformedReply:
        return None


def _last(said: Sequence[str], *beginnings: str) -> str:
    """Return what followed one of *beginnings* when it was said last."""
    found = (
        text.removeprefix(beginning)
        for text in reversed(said)
        for beginning in beginnings
        if text.startswith(beginning)
    )
    return next(found, "")
