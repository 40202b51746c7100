"""Asks a domain's own mail servers whether a mailbox exists, and sends nothing.

The only verifier that costs nothing.  docs/verifiers.md has its plan and the reason for
each step; the rule above all: never a false ``deliverable``.
"""

import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from cs.plugins.verifiers import (
    SECRET,
    AddressGuard,
    DomainCheck,
    DomainFacts,
    Resolver,
    VerifierContext,
    takes,
)
from cs.verifiers.smtp.check import NAME, CheckContext, SmtpCheck
from cs.verifiers.smtp.exchanger import SessionLimiter
from cs.verifiers.smtp.identity import (
    Identity,
    SenderHealth,
    TellOperator,
    check_proxy,
    parse_identity,
)
from cs.verifiers.smtp.probe import ProbeMemory
from cs.verifiers.smtp.session import SmtpTimeouts

__all__ = ["NAME", "SESSIONS", "SmtpVerifier", "from_context"]

#: Sessions to one address at once: one that asks and one that ends or begins.
#: Postfix lets one client have 50 (smtpd_client_connection_count_limit), small hosts far less.
SESSIONS = 2
Wait = Annotated[float, Meta(gt=0, le=600)]


class SmtpVerifier:
    """Verifies by SMTP up to RCPT TO.

    Args:
        resolver: Finds exchangers and their addresses.
        guard: Judges every address before it is contacted.
        identities: Who we may be, one or more.
        port: Of the exchangers; 25 everywhere but in a sandbox.
        timeouts: How long things may take.
        salt: Makes the probes of this installation its own.
        now: The time, for evidence.
        monotonic: Seconds, for durations.
        sessions: At most to one address of an exchanger at once, whatever the mail domains.
        tell: Told of mail servers that will have none of us, and when they do again.
    """

    def __init__(
        self,
        resolver: Resolver,
        guard: AddressGuard,
        *,
        identities: Sequence[Identity],
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        port: int = 25,
        timeouts: SmtpTimeouts | None = None,
        salt: str = "",
        sessions: int = SESSIONS,
        tell: TellOperator = lambda _name, _why: None,
    ) -> None:
        self.context = CheckContext(
            resolver=resolver,
            guard=guard,
            port=port,
            timeouts=timeouts or SmtpTimeouts(),
            salt=salt,
            now=now,
            monotonic=monotonic,
            health=SenderHealth(identities, monotonic, tell),
            limiter=SessionLimiter(sessions),
            memory=ProbeMemory(monotonic),
        )

    @property
    def name(self) -> str:
        return NAME

    @property
    def cost(self) -> int:
        return 0

    @property
    def timeout_s(self) -> float:
        """As long as the stage allows: an address has its own limit, which waits for others."""
        return math.inf

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        check = SmtpCheck(mail_domain.lower(), known, self.context)
        try:
            yield check
            await check.close()
        finally:
            await check.abort()


class SmtpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What ``[verifiers.smtp]`` takes; seconds end in ``_s``."""

    helo: Annotated[str, Meta(description="our host name; empty: off")] = ""
    mail_from: Annotated[
        str,
        Meta(pattern=r"^([^@\s]+@[^@\s]+)?$", description="a mailbox of ours; empty: <>"),
    ] = ""
    proxy: Annotated[
        str, SECRET, Meta(description="a SOCKS5 server, socks5://user:password@host:1080")
    ] = ""
    identities: Annotated[
        tuple[str, ...],
        SECRET,
        Meta(max_length=20, description="more that we may be: HELO [MAIL_FROM] [PROXY]"),
    ] = ()
    port: Annotated[int, Meta(ge=1, le=65535)] = 25
    salt: Annotated[str, SECRET, Meta(description="makes the probes our own")] = ""
    sessions: Annotated[
        int, Meta(ge=1, le=20, description="to one address of an exchanger at once")
    ] = SESSIONS
    address_s: Wait = SmtpTimeouts.address_s
    connect_s: Wait = SmtpTimeouts.connect_s
    reply_s: Wait = SmtpTimeouts.reply_s


@takes(SmtpSettings)
def from_context(context: VerifierContext) -> SmtpVerifier | None:
    """Return the verifier, or ``None`` if no ``helo`` is set: it has to be ours."""
    settings = msgspec.convert(context.settings, SmtpSettings)
    if not settings.helo:
        return None
    proxy = check_proxy(settings.proxy) if settings.proxy else None
    own = Identity(settings.helo, settings.mail_from, proxy)
    return SmtpVerifier(
        context.resolver,
        context.guard,
        identities=[own, *map(parse_identity, settings.identities)],
        port=settings.port,
        timeouts=SmtpTimeouts(
            address_s=settings.address_s,
            connect_s=settings.connect_s,
            reply_s=settings.reply_s,
        ),
        salt=settings.salt,
        sessions=settings.sessions,
        tell=context.tell_operator,
        now=context.now,
        monotonic=context.monotonic,
    )
