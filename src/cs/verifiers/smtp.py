"""Asks a domain's own mail servers whether a mailbox exists, and sends nothing.

The only verifier that costs nothing.  docs/verifiers.md has its plan and the reason for
each step; the rule above all: never a false ``deliverable``.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from cs.domain.mailbox import DomainFacts
from cs.outside.port import MailHosts, Resolver
from cs.verifiers.exchanger import Exchanger
from cs.verifiers.mail_route import Guard, Route, route
from cs.verifiers.port import DomainCheck
from cs.verifiers.probe import ProbeMemory
from cs.verifiers.registry import Context
from cs.verifiers.smtp_check import SmtpCheck, Tools
from cs.verifiers.smtp_session import Exchange, Identity, Limits
from cs.verifiers.transcript import Transcript

NAME = "smtp"


class SmtpVerifier:
    """Verifies by SMTP up to RCPT TO.

    Args:
        resolver: Finds exchangers and their addresses.
        guard: Judges every address before it is contacted.
        helo: Our host name.
        mail_from: A mailbox of ours; empty for ``<>``.
        port: Of the exchangers; 25 everywhere but in a sandbox.
        limits: How long things may take.
        salt: Makes the probes of this installation its own.
        now: The time, for evidence.
        monotonic: Seconds, for durations.
    """

    def __init__(
        self,
        resolver: Resolver,
        guard: Guard,
        *,
        helo: str,
        mail_from: str,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        port: int = 25,
        limits: Limits | None = None,
        salt: str = "",
    ) -> None:
        self._resolver = resolver
        self._guard = guard
        self._identity = Identity(helo, mail_from)
        self._port = port
        self._limits = limits or Limits()
        self._now = now
        self._monotonic = monotonic
        self._salt = salt
        self._memory = ProbeMemory(monotonic)

    @property
    def name(self) -> str:
        return NAME

    @property
    def cost(self) -> int:
        return 0

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        domain = mail_domain.lower()

        def exchanger(exchange: Exchange, transcript: Transcript) -> Exchanger:
            return Exchanger(
                exchange,
                domain,
                self._identity,
                self._limits,
                transcript.note,
                one_recipient=bool(known.one_recipient),
            )

        async def routed(mail: MailHosts) -> Route:
            return await route(mail, self._resolver, self._guard, self._port)

        tools = Tools(
            name=self.name,
            address_s=self._limits.address_s,
            now=self._now,
            mail_hosts=self._resolver.mail_hosts,
            route=routed,
            exchanger=exchanger,
            memory=self._memory,
            salt=self._salt,
        )
        check = SmtpCheck(domain, known, Transcript(self._monotonic), tools)
        try:
            yield check
            await check.close()
        finally:
            await check.abort()


def from_context(context: Context) -> SmtpVerifier | None:
    """Return the verifier, or ``None`` if no ``helo`` is set: it has to be ours.

    Settings: ``helo``, ``mail_from`` (empty: ``<>``), ``port``, ``salt``, and
    ``address_s``, ``connect_s``, ``reply_s`` in seconds.
    """
    settings = context.settings
    helo = str(settings.get("helo", ""))
    if not helo:
        return None
    usual = Limits()
    return SmtpVerifier(
        context.resolver,
        context.guard,
        helo=helo,
        mail_from=str(settings.get("mail_from", "")),
        port=int(settings.get("port", 25)),
        limits=Limits(
            address_s=float(settings.get("address_s", usual.address_s)),
            connect_s=float(settings.get("connect_s", usual.connect_s)),
            reply_s=float(settings.get("reply_s", usual.reply_s)),
        ),
        salt=str(settings.get("salt", "")),
        now=context.now,
        monotonic=context.monotonic,
    )
