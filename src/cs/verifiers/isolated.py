"""A verifier that raises knows nothing of the address, and says why; the others are asked."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime

import msgspec
from structlog import get_logger

from cs.domain.cause import raised_at, without_mailbox, without_people
from cs.paid_calls.service import NOT_CHECKED, ServiceCheck
from cs.plugins.as_declared import as_declared
from cs.plugins.causes import cause_of, is_ours, loggable
from cs.plugins.plugin_settings import NO_SETTINGS, PluginSettings, without_secrets
from cs.plugins.verifiers import DomainCheck, DomainFacts, Evidence, Line, Verdict, Verifier

log = get_logger()

#: The reason in the evidence of a verifier that raised.
FAILED = "verifier-failed"
#: How often the same failure of a verifier is logged again.
LOG_EVERY_S = 60.0
#: Reasons of one verifier that are remembered for that.
REASONS = 20


class IsolatedVerifier:
    """Args: *settings*: the verifier's, whose secrets are shown nobody."""

    def __init__(
        self,
        verifier: Verifier,
        now: Callable[[], datetime],
        settings: PluginSettings = NO_SETTINGS,
    ) -> None:
        self._verifier = verifier
        self._now = now
        self._settings = settings
        self._logged_at: dict[str, float] = {}

    @property
    def name(self) -> str:
        return self._verifier.name

    @property
    def cost(self) -> int:
        return self._verifier.cost

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        stack = AsyncExitStack()
        try:
            check = await stack.enter_async_context(self._verifier.open(mail_domain, known))
        except BaseException as error:
            if is_ours(error):
                raise
            yield _FailedCheck(self, error, known)
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
        own = getattr(self._verifier, "check", None)
        if own is None:
            return ServiceCheck(ended=NOT_CHECKED, why="it asks no service; see cs doctor")
        try:
            found = as_declared(await own(), ServiceCheck)
        except BaseException as error:
            if is_ours(error):
                raise
            return ServiceCheck(ended=FAILED, why=cause_of(error, self._settings))
        why = loggable(found.why, self._settings) if found.why else None
        return msgspec.structs.replace(found, why=why)

    def failed(self, address: str, error: BaseException) -> Evidence:
        """Return what is known of *address* from a verifier that raised *error*."""
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

    def checked(self, address: str, evidence: object) -> Evidence:
        """Return *evidence* without secrets; what is none was no answer."""
        try:
            evidence = as_declared(evidence, Evidence)
        except Exception as error:  # noqa: BLE001  a plug-in is somebody else's code
            return self.failed(address, error)
        if not evidence.answered:
            words = [line.text for line in evidence.conversation[-1:]]
            why = loggable(" ".join(words), self._settings)
            reason = loggable(evidence.reason, self._settings)
            self._log(without_mailbox(reason, address), without_mailbox(why, address))
        lines = tuple(
            msgspec.structs.replace(line, text=without_secrets(line.text, self._settings))
            for line in evidence.conversation
        )
        reason = without_secrets(evidence.reason, self._settings)
        return msgspec.structs.replace(evidence, reason=reason, conversation=lines)

    def _log(self, reason: str, why: str, at: str = "") -> None:
        reason = without_people(reason)
        now = time.monotonic()
        if now - self._logged_at.get(reason, -LOG_EVERY_S) >= LOG_EVERY_S:
            self._logged_at = {**dict(list(self._logged_at.items())[-REASONS:]), reason: now}
            where = {"at": at} if at else {}
            why = without_people(why)
            log.warning("verifier_failed", verifier=self.name, reason=reason, why=why, **where)


class _IsolatedCheck:
    def __init__(
        self, verifier: IsolatedVerifier, check: DomainCheck, known: DomainFacts
    ) -> None:
        self._verifier = verifier
        self._check = check
        self._known = known

    @property
    def learned(self) -> DomainFacts:
        try:
            return as_declared(self._check.learned, DomainFacts)
        except Exception:  # noqa: BLE001  a plug-in is somebody else's code
            return self._known

    async def check(self, address: str) -> Evidence:
        try:
            evidence = await self._check.check(address)
        except BaseException as error:
            if is_ours(error):
                raise
            return self._verifier.failed(address, error)
        return self._verifier.checked(address, evidence)


class _FailedCheck:
    """A domain check that never began."""

    def __init__(
        self, verifier: IsolatedVerifier, error: BaseException, known: DomainFacts
    ) -> None:
        self._verifier = verifier
        self._error = error
        self.learned = known

    async def check(self, address: str) -> Evidence:
        return self._verifier.failed(address, self._error)
