"""How a conversation with a mail exchanger fails; none of them leaves the verifier."""

from cs.domain.mail.reply import SmtpReply
from cs.domain.mail.reply_meaning import ReplyMeaning, Stage

#: Seconds after which a server that could not be reached is worth another try.
_RETRY_LOST_S = 60.0


class ConnectionFailed(Exception):
    """The connection is of no more use.

    Attributes:
        why: "connect", "proxy", "timeout", "closed", "protocol", "out-of-step" or "tls".
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class SessionRefused(Exception):
    """The server will not have us, before any recipient was named."""

    def __init__(self, stage: Stage, reply: SmtpReply, meaning: ReplyMeaning) -> None:
        super().__init__(f"{stage}: {reply.code} {reply.text}")
        self.stage, self.reply, self.meaning = stage, reply, meaning


class NoUsableReply(Exception):
    """The exchanger says nothing about anybody.

    Attributes:
        kind: Why, if it said so.
        why: The same as a reason: "connect", "timeout", "closed", "about-us", ...
        retry_in_s: When it may be different.
    """

    def __init__(self, why: str, meaning: ReplyMeaning | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_in_s = meaning.retry_in_s if meaning else _RETRY_LOST_S
        self.kind = meaning.kind if meaning else None
