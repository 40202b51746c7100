"""All that a verifier is written with.

A verifier is a plug-in that finds out whether mailboxes exist.  It is found by entry point
(``cs.verifiers``): a function from `VerifierContext` to a verifier, or to ``None`` if it is
not configured.  Not knowing is an answer: a verifier never raises for what a mail server or a
provider does, it returns `Verdict.UNKNOWN`.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

import msgspec

from cs.domain.mail.mailbox import DomainFacts, Evidence, Line, Verdict
from cs.domain.mail.syntax import is_mailbox
from cs.outside.port import (
    AddressGuard,
    ApiClient,
    Fetcher,
    Forbidden,
    MailHosts,
    Resolver,
    Response,
    Unreachable,
)
from cs.paid_calls.budgets.port import UNLIMITED, Budgets
from cs.paid_calls.errors import CallsUnavailable, NotAsked, NotCharged, Unanswered
from cs.paid_calls.paid import EVERY_TIME, PaidCalls
from cs.paid_calls.problems import ProblemKind, ServiceProblem, problem
from cs.paid_calls.service import (
    ORDINARY,
    Judge,
    Judgement,
    PaidService,
    Question,
    ServiceCheck,
    ServiceSettings,
)
from cs.plugins.declared_settings import SECRET, takes

__all__ = [
    "EVERY_TIME",
    "ORDINARY",
    "SECRET",
    "UNLIMITED",
    "AddressGuard",
    "ApiClient",
    "Budgets",
    "CallsUnavailable",
    "DomainCheck",
    "DomainFacts",
    "Evidence",
    "Fetcher",
    "Forbidden",
    "Judge",
    "Judgement",
    "Line",
    "MailHosts",
    "NotAsked",
    "NotCharged",
    "PaidCalls",
    "PaidService",
    "ProblemKind",
    "Question",
    "Resolver",
    "Response",
    "ServiceCheck",
    "ServiceProblem",
    "ServiceSettings",
    "Unanswered",
    "Unreachable",
    "Verdict",
    "Verifier",
    "VerifierContext",
    "is_mailbox",
    "problem",
    "takes",
]


class VerifierContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a verifier may be made from.

    Attributes:
        settings: Those of this verifier that are set, of the ones that it declares with
            `takes`.
        resolver: DNS.
        guard: Judges addresses that strangers name, before they are contacted.
        fetcher: HTTP for base URLs that stand in the settings.
        now: The time, in UTC.
        monotonic: Seconds, for durations.
        paid: For every question that the provider charges for.
        budgets: At which rate and within which caps; `service` has both, and more.
        tell_operator: Called with a name and why it does not work until somebody does
            something, shown on ``/readyz``; with ``None`` when it works again.
    """

    settings: Mapping[str, Any] = {}
    resolver: Resolver
    guard: AddressGuard
    fetcher: ApiClient | None = None
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    paid: PaidCalls = EVERY_TIME
    budgets: Budgets = UNLIMITED
    tell_operator: Callable[[str, str | None], None] = lambda _name, _why: None

    def service(
        self,
        name: str,
        settings: ServiceSettings,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        judge: Judge | None = None,
    ) -> PaidService:
        """Return the service *name* as `cs.paid_calls.service` describes it."""
        assert self.fetcher is not None, "nobody can be asked without a client"
        return PaidService(
            name,
            settings,
            self.fetcher,
            paid=self.paid,
            budgets=self.budgets,
            headers=headers,
            params=params,
            judge=judge,
            now=self.now,
        )


class DomainCheck(Protocol):
    """One mail domain being checked; what is learned of it serves its next address."""

    def check(self, address: str) -> Awaitable[Evidence]:
        """Find out about *address*, which is at this domain.  Never raises for the outside."""

    @property
    def learned(self) -> DomainFacts:
        """What is known of the domain so far."""


class Verifier(Protocol):
    @property
    def name(self) -> str:
        """The name of its entry point; callers see it as ``email_source``.  Never changes."""

    @property
    def cost(self) -> int:
        """Order of asking: cheapest first.  0 is free."""

    def open(
        self, mail_domain: str, known: DomainFacts
    ) -> AbstractAsyncContextManager[DomainCheck]:
        """Start checking addresses at *mail_domain*."""
