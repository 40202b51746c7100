"""The wrapper of each plug-in in use: its failures stay its own, and its calls are measured.

A source or verifier never raises and always answers in time: one that fails says so in its
answer, with its cause, and the answers of the others count.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Generic, TypeVar

from msgspec.structs import replace
from structlog import get_logger

from cs.domain.cause import without_mailbox, without_people
from cs.domain.stages.table import STAGES
from cs.metrics.metrics import Metrics
from cs.paid_calls.service import NOT_CHECKED, NOT_CONFIGURED
from cs.plugins.containment import (
    ATTEMPT_ENDS_AT,
    Plugin,
    PluginFailed,
    PluginTimedOut,
    WrongAnswer,
    as_declared,
)
from cs.plugins.plugin_settings import NO_SETTINGS, SettingValues, without_secrets
from cs.plugins.sources import (
    ANSWERED,
    INCONCLUSIVE,
    BrandAnswer,
    BrandFacts,
    BrandSource,
    PeopleAnswer,
    PeopleSource,
    Query,
    ServiceCheck,
    Sighting,
    SourceStatus,
    cost_of,
    find_new,
    is_local,
    missing_of,
)
from cs.plugins.stages import AnyFinding, Failed, Report, Stage, StageName, Work
from cs.plugins.verifiers import DomainCheck, DomainFacts, Evidence, Line, Verdict, Verifier
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

S = TypeVar("S", BrandSource, PeopleSource)
A = TypeVar("A", BrandAnswer, PeopleAnswer)
D = TypeVar("D")

#: The reason in the evidence of a verifier that failed.
FAILED = "verifier-failed"
#: How often the same failure of a verifier is logged again.
LOG_EVERY_S = 60.0
#: How long a source or verifier that declares no `timeout_s` may take for one answer.
BRAND_SOURCE_S, PEOPLE_SOURCE_S, VERIFIER_S = 25.0, 40.0, 30.0
#: What is left of its stage's attempt when a source has to have answered.
RESERVE_S = 2.0
_NO_SERVICE = ServiceCheck(ended=NOT_CHECKED, why="it asks no service; see cs doctor")


def limit_of(plugin: object, default_s: float, stage: StageName) -> float:
    """Return how many seconds *plugin* may take for one answer.

    It may declare them in an attribute ``timeout_s``; no more than an attempt of *stage* has.
    """
    declared = _or_default(lambda: getattr(plugin, "timeout_s", None), None)
    budget_s = STAGES[stage].budget.total_seconds()
    if isinstance(declared, int | float) and declared > 0:
        return min(float(declared), budget_s)
    return min(default_s, budget_s)


class _IsolatedSource(Generic[S]):
    """A source that never raises, and answers in time.

    Args:
        source: The plug-in.
        settings: The source's, whose secrets no log line and no answer shows.
        metrics: Where its questions are counted, timed and traced.
    """

    kind: str
    stage: StageName
    default_s: float

    def __init__(
        self,
        source: S,
        settings: SettingValues = NO_SETTINGS,
        metrics: Metrics | None = None,
    ) -> None:
        self._source: S = source
        self._plugin = Plugin(f"{self.kind} source", source.name, settings)
        self._metrics = metrics or Metrics()
        self._limit_s = limit_of(source, self.default_s, self.stage)
        self.name = source.name

    # An attribute that raises is reported when the source is asked.

    @property
    def missing(self) -> str | None:
        return _or_default(lambda: missing_of(self._source), None)

    @property
    def cost(self) -> float:
        return _or_default(lambda: cost_of(self._source), 0.0)

    @property
    def local(self) -> bool:
        return is_local(self._source)

    @property
    def hints(self) -> bool:
        return getattr(self._source, "hints", False) is True

    async def check(self) -> ServiceCheck:
        """Let the source check its service, if it knows how."""
        why = self.missing or "it has no check of its own"
        without = ServiceCheck(ended=NOT_CONFIGURED if self.missing else NOT_CHECKED, why=why)
        failed = SourceStatus.FAILED.value
        return await _checked(self._source, self._plugin, self._limit_s, failed, without)

    async def _answer(self, ask: Callable[[], Awaitable[A]], kind: type[A]) -> A:
        began = time.perf_counter()
        with self._metrics.traces.span(f"source {self.name}", "client") as span:
            answer = await self._isolated(ask, kind)
            span.note(ended=answer.ended.value)
        spent = self._metrics.source_seconds.of(self.kind, self.name, answer.ended.value)
        spent.observe(time.perf_counter() - began)
        if answer.ended in ANSWERED | INCONCLUSIVE - {SourceStatus.OVER_BUDGET}:
            # Else it was not asked.
            answering = self._metrics.source_answering.of(self.kind, self.name)
            answering.set(answer.ended in ANSWERED)
        return answer

    async def _isolated(self, ask: Callable[[], Awaitable[A]], kind: type[A]) -> A:
        """Return the answer, its words fit for the log; one that is no *kind* is a failure."""

        async def checked() -> A:
            return as_declared(await ask(), kind)

        try:
            answer = await self._plugin.call(checked, _within_attempt(self._limit_s))
        except PluginFailed as error:
            self._log(SourceStatus.FAILED, error.why, at=error.at)
            return kind(source=self.name, ended=SourceStatus.FAILED, why=error.why)
        if answer.ended in ANSWERED or not (answer.why or answer.ended in INCONCLUSIVE):
            return answer
        why = self._plugin.loggable(answer.why or "it does not say")
        if answer.ended in INCONCLUSIVE:
            self._log(answer.ended, why)
        return replace(answer, why=why)

    def _log(self, ended: SourceStatus, why: str, at: str = "") -> None:
        where = {"at": at} if at else {}
        why = without_people(why)
        log.warning("source_failed", source=self.name, ended=ended.value, why=why, **where)


class IsolatedBrandSource(_IsolatedSource[BrandSource]):
    kind, stage, default_s = "brand", "brand-resolution", BRAND_SOURCE_S

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        return await self._answer(lambda: self._source.find(query, known), BrandAnswer)


class IsolatedPeopleSource(_IsolatedSource[PeopleSource]):
    kind, stage, default_s = "people", "contact-discovery", PEOPLE_SOURCE_S

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        return await self._answer(lambda: self._source.find(brand, limit=limit), PeopleAnswer)

    async def find_new(
        self, brand: BrandFacts, *, limit: int, known: Sequence[Sighting]
    ) -> PeopleAnswer:
        return await self._answer(
            lambda: find_new(self._source, brand, limit=limit, known=known), PeopleAnswer
        )


class IsolatedVerifier:
    """A verifier that never raises, and answers in time.

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
        settings: SettingValues = NO_SETTINGS,
        metrics: Metrics | None = None,
    ) -> None:
        self.name = verifier.name
        self.cost = verifier.cost
        self._verifier = verifier
        self._plugin = Plugin("verifier", verifier.name, settings)
        self._limit_s = limit_of(verifier, VERIFIER_S, "verification")
        self._now = now
        self._settings = settings
        self.metrics = metrics or Metrics()
        self._throttle = LogThrottle(LOG_EVERY_S)

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        """Open the verifier in a task of its own, in which it is closed, too."""
        opened = asyncio.get_running_loop().create_future()
        leave = asyncio.Event()

        async def hold() -> None:
            async with self._verifier.open(mail_domain, known) as check:
                opened.set_result(check)
                await leave.wait()

        holding = self._plugin.start(hold)
        try:
            await self._plugin.wait(holding, self._limit_s, until=opened)
            if not opened.done():
                holding.result()
            check: DomainCheck | PluginFailed = await opened
        except PluginFailed as error:
            check = error
        try:
            yield _IsolatedCheck(self, check, known)
        finally:
            leave.set()
            if not isinstance(check, PluginFailed):
                await self._close(holding)

    async def _close(self, holding: "asyncio.Task[None]") -> None:
        """Wait for *holding* to leave; what goes wrong then takes nothing back."""
        try:
            await self._plugin.wait(holding, self._limit_s)
            holding.result()
        except PluginFailed as error:
            self._log(FAILED, error.why, at=error.at)

    async def check(self) -> ServiceCheck:
        """Let the verifier check its service, if it knows how."""
        return await _checked(self._verifier, self._plugin, self._limit_s, FAILED, _NO_SERVICE)

    async def evidence(self, check: DomainCheck, address: str) -> Evidence:
        """Return what *check* says of *address*.

        Raises:
            PluginFailed: It says nothing that could be used.
        """

        async def checked() -> Evidence:
            evidence = as_declared(await check.check(address), Evidence)
            if wrong := _wrong_evidence(evidence, address, self.name):
                raise WrongAnswer(wrong)
            return evidence

        evidence = await self._plugin.call(checked, self._limit_s)
        if not evidence.answered:
            words = [line.text for line in evidence.conversation[-1:]]
            why = self._plugin.loggable(" ".join(words))
            reason = self._plugin.loggable(evidence.reason)
            self._log(without_mailbox(reason, address), without_mailbox(why, address))
        lines = tuple(
            replace(line, text=without_secrets(line.text, self._settings))
            for line in evidence.conversation
        )
        reason = without_secrets(evidence.reason, self._settings)
        return replace(evidence, reason=reason, conversation=lines)

    def failed(self, address: str, error: PluginFailed) -> Evidence:
        """Return the evidence about *address* of a verifier that failed."""
        self._log(FAILED, without_mailbox(error.why, address), at=error.at)
        return Evidence(
            address=address,
            verdict=Verdict.UNKNOWN,
            reason=FAILED,
            verifier=self.name,
            at=self._now(),
            conversation=(Line(at_ms=0, who="C", text=f"[{error.why}]"),),
            answered=False,
        )

    def _log(self, reason: str, why: str, at: str = "") -> None:
        reason = without_people(reason)
        if self._throttle.allow(reason) is not None:
            where = {"at": at} if at else {}
            why = without_people(why)
            log.warning("verifier_failed", verifier=self.name, reason=reason, why=why, **where)


class _IsolatedCheck:
    """A domain check.

    Args:
        verifier: Whose.
        check: The plug-in's; the failure that kept it from being opened.
        known: What was known before.
    """

    def __init__(
        self, verifier: IsolatedVerifier, check: DomainCheck | PluginFailed, known: DomainFacts
    ) -> None:
        self._verifier = verifier
        self._check = check
        self._known = known

    @property
    def learned(self) -> DomainFacts:
        check = self._check
        if isinstance(check, PluginFailed):
            return self._known
        return _or_default(lambda: as_declared(check.learned, DomainFacts), self._known)

    async def check(self, address: str) -> Evidence:
        """Return the evidence about *address*, whatever the plug-in does; it is measured."""
        verifier, began = self._verifier, time.perf_counter()
        with verifier.metrics.traces.span(f"verifier {verifier.name}", "client") as span:
            try:
                if isinstance(self._check, PluginFailed):
                    raise self._check
                found = await verifier.evidence(self._check, address)
            except PluginFailed as error:
                if isinstance(error, PluginTimedOut):
                    self._check = error  # it is not waited for at each further address
                found = verifier.failed(address, error)
            span.note(verdict=found.verdict.value)
        answered = "yes" if found.answered else "no"
        spent = verifier.metrics.verifier_seconds.of(
            verifier.name, found.verdict.value, answered
        )
        spent.observe(time.perf_counter() - began)
        return found


class IsolatedStage:
    """A stage that is a plug-in: whatever it raises, its other work and the worker go on.

    Args:
        stage: The plug-in.
        settings: The stage's, whose secrets are never shown.
    """

    def __init__(self, stage: Stage, settings: SettingValues = NO_SETTINGS) -> None:
        self._stage = stage
        self._plugin = Plugin("stage", stage.name, settings)
        self.name = stage.name

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        try:
            return await self._plugin.call(lambda: self._stage.handle(work, report))
        except PluginFailed as failure:
            error = failure.__cause__
            if isinstance(error, TimeoutError):
                return Failed(why="timeout", retryable=True)
            # Without its words, which may name a person of the work.
            log.error(  # noqa: TRY400
                "stage_bug",
                stage=self.name,
                lookup=work.lookup,
                why=type(error).__name__,
                at=failure.at,
            )
            return Failed(why="bug", retryable=work.attempt < 2)


def _wrong_evidence(evidence: Evidence, address: str, verifier: str) -> str | None:
    """Return what is wrong with *evidence* of *verifier* about *address*."""
    if evidence.address != address:
        return "its evidence is about another address"
    if evidence.verifier != verifier:
        return "its evidence names another verifier"
    if evidence.at.utcoffset() is None:
        return "its evidence has a time without a time zone"
    return None


async def _checked(
    plugin: object, called: Plugin, limit_s: float, failed: str, without: ServiceCheck
) -> ServiceCheck:
    """Let *plugin* check the service that it asks.

    Args:
        plugin: A source or verifier; it may have a method ``check``.
        called: The same, to be called.
        limit_s: How long it may take.
        failed: How a check ended that raised.
        without: What is returned for a plug-in that has no check.
    """
    check = getattr(plugin, "check", None)
    if check is None:
        return without

    async def checked() -> ServiceCheck:
        return as_declared(await check(), ServiceCheck)

    try:
        found = await called.call(checked, limit_s)
    except PluginFailed as error:
        return ServiceCheck(ended=failed, why=error.why)
    return replace(found, why=called.loggable(found.why) if found.why else None)


def _within_attempt(limit_s: float) -> float:
    """Return *limit_s*, or less, so that the stage can still answer in time."""
    ends_at = ATTEMPT_ENDS_AT.get()
    if ends_at is None:
        return limit_s
    return max(0.0, min(limit_s, ends_at - asyncio.get_running_loop().time() - RESERVE_S))


def _or_default(read: Callable[[], D], default: D) -> D:
    try:
        return read()
    except Exception:  # noqa: BLE001  a plug-in is foreign code
        return default
