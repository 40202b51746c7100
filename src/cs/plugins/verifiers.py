"""All that a verifier is written with.

A verifier is a plug-in that finds out whether mailboxes exist.  It is found by entry point
(``cs.verifiers``): a function from `VerifierContext` to a verifier, or to ``None`` if it is
not configured.  Not knowing is an answer: a verifier never raises for what a mail server or a
provider does, it returns `Verdict.UNKNOWN`.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from cs.domain.mail.mailbox import (
    DomainFacts as DomainFacts,
    Evidence as Evidence,
    Line as Line,
    Verdict as Verdict,
)
from cs.domain.mail.syntax import is_mailbox as is_mailbox
from cs.plugins.paid_context import *  # noqa: F403
from cs.plugins.paid_context import AddressGuard, ApiClient, PaidContext, Resolver


class VerifierContext(PaidContext, frozen=True, kw_only=True):
    """The context that a verifier is made from.

    Attributes:
        resolver: DNS.
        guard: Judges addresses that strangers name, before they are contacted.
        fetcher: HTTP for base URLs that stand in the settings.
        monotonic: Seconds, for durations.
        tell_operator: Called with a name and why it does not work until the operator acts
            something, shown on ``/readyz``; with ``None`` when it works again.
    """

    resolver: Resolver
    guard: AddressGuard
    fetcher: ApiClient | None = None
    monotonic: Callable[[], float]
    tell_operator: Callable[[str, str | None], None] = lambda _name, _why: None

    def _api_client(self) -> ApiClient:
        assert self.fetcher is not None, "a service is asked through a client"
        return self.fetcher


class DomainCheck(Protocol):
    """One mail domain being checked; what is learned of it serves its next address."""

    def check(self, address: str) -> Awaitable[Evidence]:
        """Find out about *address*, which is at this domain.  Never raises for the outside."""

    @property
    def learned(self) -> DomainFacts:
        """Return what is known of the domain so far."""


class Verifier(Protocol):
    @property
    def name(self) -> str:
        """The name of its entry point; callers see it as ``email_source``.  Never changes."""

    @property
    def cost(self) -> float:
        """US dollars that a question costs; 0 is free.

        Free verifiers are asked first; the others by the expected cost of a verified e-mail
        from each: by the price, until the log knows better.
        """

    def open(
        self, mail_domain: str, known: DomainFacts
    ) -> AbstractAsyncContextManager[DomainCheck]:
        """Start checking addresses at *mail_domain*."""
