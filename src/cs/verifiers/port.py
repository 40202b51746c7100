"""What a verifier is: a plug-in that finds out whether mailboxes exist.

Found by entry point (``cs.verifiers``).  Not knowing is an answer: a verifier never
raises for what a mail server or a provider does, it returns `Verdict.UNKNOWN`.
"""

from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from cs.domain.mail.mailbox import DomainFacts, Evidence


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
        """Shown to callers as ``email_source``.  Never changes."""

    @property
    def cost(self) -> int:
        """Order of asking: cheapest first.  0 is free."""

    def open(
        self, mail_domain: str, known: DomainFacts
    ) -> AbstractAsyncContextManager[DomainCheck]:
        """Start checking addresses at *mail_domain*."""
