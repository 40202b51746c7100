"""A source that raises, or answers with something else, has failed; nobody else notices."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace
from structlog import get_logger

from cs.domain.cause import raised_at, without_people
from cs.paid_calls.service import NOT_CHECKED, NOT_CONFIGURED
from cs.plugins.as_declared import as_declared
from cs.plugins.causes import cause_of, is_ours, loggable
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


class _IsolatedSource(Generic[S]):
    """Args: *settings*: the source's, whose secrets are shown nobody."""

    def __init__(self, source: S, settings: PluginSettings = NO_SETTINGS) -> None:
        self._source: S = source
        self._settings = settings
        self.name = source.name

    @property
    def missing(self) -> str | None:
        """What the source lacks, if it says so (`missing_of`)."""
        try:
            return missing_of(self._source)
        except Exception:  # noqa: BLE001  it is reported when it is asked
            return None

    @property
    def cost(self) -> float:
        """US dollars that one search can cost at most, as the source says."""
        try:
            return cost_of(self._source)
        except Exception:  # noqa: BLE001  it is reported when it is asked
            return 0.0

    @property
    def local(self) -> bool:
        """Whether it answers from what the operator has here (`is_local`)."""
        return is_local(self._source)

    async def check(self) -> ServiceCheck:
        """Let the source check its service, if it knows how."""
        own = getattr(self._source, "check", None)
        if own is None:
            why = self.missing or "it has no check of its own"
            return ServiceCheck(ended=NOT_CONFIGURED if self.missing else NOT_CHECKED, why=why)
        try:
            found = as_declared(await own(), ServiceCheck)
        except BaseException as error:
            if is_ours(error):
                raise
            why = cause_of(error, self._settings)
            return ServiceCheck(ended=SourceStatus.FAILED.value, why=why)
        return replace(found, why=loggable(found.why, self._settings) if found.why else None)

    @property
    def hints(self) -> bool:
        """Whether its word is a hint (`cs.pipeline.brand_hints`)."""
        return getattr(self._source, "hints", False) is True

    def _checked(self, answer: object, kind: type[A]) -> A:
        """Return *answer*, its words fit for the log; what is none has failed."""
        try:
            answer = as_declared(answer, kind)
        except Exception as error:  # noqa: BLE001  a plug-in is somebody else's code
            return self._failed(error, kind)
        if answer.ended in ANSWERED or not (answer.why or answer.ended in INCONCLUSIVE):
            return answer
        why = loggable(answer.why or "it does not say", self._settings)
        if answer.ended in INCONCLUSIVE:
            self._log(answer.ended, why)
        return msgspec.structs.replace(answer, why=why)

    def _failed(self, error: BaseException, kind: type[A]) -> A:
        why = cause_of(error, self._settings)
        self._log(SourceStatus.FAILED, why, at=raised_at(error))
        return kind(source=self.name, ended=SourceStatus.FAILED, why=why)

    def _log(self, ended: SourceStatus, why: str, at: str = "") -> None:
        where = {"at": at} if at else {}
        why = without_people(why)
        log.warning("source_failed", source=self.name, ended=ended.value, why=why, **where)


class IsolatedBrandSource(_IsolatedSource[BrandSource]):
    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        try:
            answer = await self._source.find(query, known)
        except BaseException as error:
            if is_ours(error):
                raise
            return self._failed(error, BrandAnswer)
        return self._checked(answer, BrandAnswer)


class IsolatedPeopleSource(_IsolatedSource[PeopleSource]):
    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        return await self._asked(lambda: self._source.find(brand, limit=limit))

    async def find_new(
        self, brand: BrandFacts, *, limit: int, known: Sequence[Sighting]
    ) -> PeopleAnswer:
        return await self._asked(
            lambda: find_new(self._source, brand, limit=limit, known=known)
        )

    async def _asked(self, find: Callable[[], Awaitable[PeopleAnswer]]) -> PeopleAnswer:
        try:
            answer = await find()
        except BaseException as error:
            if is_ours(error):
                raise
            return self._failed(error, PeopleAnswer)
        return self._checked(answer, PeopleAnswer)
