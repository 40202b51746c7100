"""What every verifier is wrapped in: its failures stay its own, and its checks are measured.

A verifier that raises knows nothing of the address, and says why; the others are asked.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime

from msgspec.structs import replace
from structlog import get_logger

from cs.domain.cause import raised_at, without_mailbox, without_people
from cs.metrics.metrics import Metrics
from cs.paid_calls.service import NOT_CHECKED, ServiceCheck
from cs.plugins.as_declared import as_declared
from cs.plugins.causes import cause_of, checked_service, is_ours, loggable
from cs.plugins.plugin_settings import NO_SETTINGS, PluginSettings, without_secrets
from cs.plugins.verifiers import DomainCheck, DomainFacts, Evidence, Line, Verdict, Verifier

log = get_logger()

#: The reason in the evidence of a verifier that raised.
FAILED = "verifier-failed"
#: How often the same failure of a verifier is logged again.
LOG_EVERY_S = 60.0
#: Reasons of one verifier that are remembered for that.
REASONS = 20
_NO_SERVICE = ServiceCheck(ended=NOT_CHECKED, why="it asks no service; see cs doctor")


class IsolatedVerifier:
    """A verifier that never raises.

    Args:
        verifier: The plug-in.
        now: The time, UTC.
        settings: The verifier's, whose secrets no log line and no evidence shows.
        metrics: Where its checks are counted, timed and traced.
    """

    def __init__(
        self,
        verifier: Verifier,
        now: Callable[[], datetime],
        settings: PluginSettings = NO_SETTINGS,
        metrics: Metrics | None = None,
    ) -> None:
        self.name = verifier.name
        self.cost = verifier.cost
        self._verifier = verifier
        self._now = now
        self._settings = settings
        self._metrics = metrics or Metrics()
        self._logged_at: dict[str, float] = {}

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        stack = AsyncExitStack()
        try:
            check = await stack.enter_async_context(self._verifier.open(mail_domain, known))
        except BaseException as error:
            if is_ours(error):
                raise
            yield _IsolatedCheck(self, error, known)
            return
        try:
            yield _IsolatedCheck(self, check, known)
        except BaseException:
            await stack.aclose()
            raise
        try:
            await stack.aclose()
        except BaseException as error:
            if is_ours(error):
                raise
            self._log(FAILED, cause_of(error, self._settings), at=raised_at(error))

    async def check(self) -> ServiceCheck:
        """Let the verifier check its service, if it knows how."""
        return await checked_service(self._verifier, self._settings, FAILED, _NO_SERVICE)

    async def evidence(self, check: DomainCheck | BaseException, address: str) -> Evidence:
        """Return what *check*, or the failure to open one, says of *address*."""
        began = time.perf_counter()
        with self._metrics.traces.span(f"verifier {self.name}", "client") as span:
            found = await self._isolated(check, address)
            span.note(verdict=found.verdict.value)
        answered = "yes" if found.answered else "no"
        spent = self._metrics.verifier_seconds.of(self.name, found.verdict.value, answered)
        spent.observe(time.perf_counter() - began)
        return found

    async def _isolated(self, check: DomainCheck | BaseException, address: str) -> Evidence:
        if isinstance(check, BaseException):
            return self._failed(address, check)
        try:
            evidence = as_declared(await check.check(address), Evidence)
        except BaseException as error:
            if is_ours(error):
                raise
            return self._failed(address, error)
        if not evidence.answered:
            words = [line.text for line in evidence.conversation[-1:]]
            why = loggable(" ".join(words), self._settings)
            reason = loggable(evidence.reason, self._settings)
            self._log(without_mailbox(reason, address), without_mailbox(why, address))
        lines = tuple(
            replace(line, text=without_secrets(line.text, self._settings))
            for line in evidence.conversation
        )
        reason = without_secrets(evidence.reason, self._settings)
        return replace(evidence, reason=reason, conversation=lines)

    def _failed(self, address: str, error: BaseException) -> Evidence:
        cause = cause_of(error, self._settings)
        self._log(FAILED, without_mailbox(cause, address), at=raised_at(error))
        return Evidence(
            address=address,
            verdict=Verdict.UNKNOWN,
            reason=FAILED,
            verifier=self.name,
            at=self._now(),
            conversation=(Line(at_ms=0, who="C", text=f"[{cause}]"),),
            answered=False,
        )

    def _log(self, reason: str, why: str, at: str = "") -> None:
        reason = without_people(reason)
        now = time.monotonic()
        if now - self._logged_at.get(reason, -LOG_EVERY_S) >= LOG_EVERY_S:
            self._logged_at = {**dict(list(self._logged_at.items())[-REASONS:]), reason: now}
            where = {"at": at} if at else {}
            why = without_people(why)
            log.warning("verifier_failed", verifier=self.name, reason=reason, why=why, **where)


class _IsolatedCheck:
    """A domain check; *check* may be the error that kept it from being opened."""

    def __init__(
        self, verifier: IsolatedVerifier, check: DomainCheck | BaseException, known: DomainFacts
    ) -> None:
        self._verifier = verifier
        self._check = check
        self._known = known

    @property
    def learned(self) -> DomainFacts:
        if isinstance(self._check, BaseException):
            return self._known
        try:
            return as_declared(self._check.learned, DomainFacts)
        except Exception:  # noqa: BLE001  a plug-in is somebody else's code
            return self._known

    async def check(self, address: str) -> Evidence:
        return await self._verifier.evidence(self._check, address)
