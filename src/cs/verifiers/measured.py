"""A verifier whose checks are counted by their verdict, and timed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import perf_counter

from cs.domain.mail.mailbox import DomainFacts, Evidence
from cs.metrics.metrics import Metrics
from cs.plugins.verifiers import DomainCheck, ServiceCheck, Verifier


class MeasuredVerifier:
    def __init__(self, verifier: Verifier, metrics: Metrics) -> None:
        self._verifier = verifier
        self._metrics = metrics

    @property
    def name(self) -> str:
        return self._verifier.name

    @property
    def cost(self) -> int:
        return self._verifier.cost

    async def check(self) -> ServiceCheck:
        """Return what the verifier's check of its service finds."""
        check: Callable[[], Awaitable[ServiceCheck]] = getattr(self._verifier, "check")  # noqa: B009
        return await check()

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        async with self._verifier.open(mail_domain, known) as check:
            yield _MeasuredCheck(self.name, check, self._metrics)


class _MeasuredCheck:
    def __init__(self, verifier: str, check: DomainCheck, metrics: Metrics) -> None:
        self._verifier = verifier
        self._check = check
        self._metrics = metrics

    @property
    def learned(self) -> DomainFacts:
        return self._check.learned

    async def check(self, address: str) -> Evidence:
        began = perf_counter()
        with self._metrics.traces.span(f"verifier {self._verifier}", "client") as span:
            found = await self._check.check(address)
            span.note(verdict=found.verdict.value)
        answered = "yes" if found.answered else "no"
        spent = self._metrics.verifier_seconds.of(self._verifier, found.verdict.value, answered)
        spent.observe(perf_counter() - began)
        return found
