"""What every source is wrapped in: its failures stay its own, and its answers are measured."""

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Generic, TypeVar

from msgspec.structs import replace
from structlog import get_logger

from cs.domain.cause import raised_at, without_people
from cs.metrics.metrics import Metrics
from cs.paid_calls.service import NOT_CHECKED, NOT_CONFIGURED
from cs.plugins.as_declared import as_declared
from cs.plugins.causes import cause_of, checked_service, is_ours, loggable
from cs.plugins.plugin_settings import NO_SETTINGS, PluginSettings
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

log = get_logger()

S = TypeVar("S", BrandSource, PeopleSource)
A = TypeVar("A", BrandAnswer, PeopleAnswer)
D = TypeVar("D")


class _IsolatedSource(Generic[S]):
    """A source that never raises.

    Args:
        source: The plug-in.
        settings: The source's, whose secrets no log line and no answer shows.
        metrics: Where its questions are counted, timed and traced.
    """

    kind: str

    def __init__(
        self,
        source: S,
        settings: PluginSettings = NO_SETTINGS,
        metrics: Metrics | None = None,
    ) -> None:
        self._source: S = source
        self._settings = settings
        self._metrics = metrics or Metrics()
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
        return await checked_service(self._source, self._settings, failed, without)

    async def _answer(self, ask: Callable[[], Awaitable[A]], kind: type[A]) -> A:
        began = perf_counter()
        with self._metrics.traces.span(f"source {self.name}", "client") as span:
            answer = await self._isolated(ask, kind)
            span.note(ended=answer.ended.value)
        spent = self._metrics.source_seconds.of(self.kind, self.name, answer.ended.value)
        spent.observe(perf_counter() - began)
        answering = self._metrics.source_answering.of(self.kind, self.name)
        answering.set(answer.ended in ANSWERED)
        return answer

    async def _isolated(self, ask: Callable[[], Awaitable[A]], kind: type[A]) -> A:
        """Return the answer, its words fit for the log; one that is no *kind* is a failure."""
        try:
            answer = as_declared(await ask(), kind)
        except BaseException as error:
            if is_ours(error):
                raise
            why = cause_of(error, self._settings)
            self._log(SourceStatus.FAILED, why, at=raised_at(error))
            return kind(source=self.name, ended=SourceStatus.FAILED, why=why)
        if answer.ended in ANSWERED or not (answer.why or answer.ended in INCONCLUSIVE):
            return answer
        why = loggable(answer.why or "it does not say", self._settings)
        if answer.ended in INCONCLUSIVE:
            self._log(answer.ended, why)
        return replace(answer, why=why)

    def _log(self, ended: SourceStatus, why: str, at: str = "") -> None:
        where = {"at": at} if at else {}
        why = without_people(why)
        log.warning("source_failed", source=self.name, ended=ended.value, why=why, **where)


class IsolatedBrandSource(_IsolatedSource[BrandSource]):
    kind = "brand"

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        return await self._answer(lambda: self._source.find(query, known), BrandAnswer)


class IsolatedPeopleSource(_IsolatedSource[PeopleSource]):
    kind = "people"

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        return await self._answer(lambda: self._source.find(brand, limit=limit), PeopleAnswer)

    async def find_new(
        self, brand: BrandFacts, *, limit: int, known: Sequence[Sighting]
    ) -> PeopleAnswer:
        return await self._answer(
            lambda: find_new(self._source, brand, limit=limit, known=known), PeopleAnswer
        )


def _or_default(read: Callable[[], D], default: D) -> D:
    try:
        return read()
    except Exception:  # noqa: BLE001  a plug-in is somebody else's code
        return default
