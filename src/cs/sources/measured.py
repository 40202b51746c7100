"""A source whose questions are counted by how they ended, and timed."""

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import TypeVar

from cs.domain.contact import BrandFacts, Query
from cs.metrics.metrics import Metrics
from cs.plugins.sources import (
    ANSWERED,
    BrandAnswer,
    BrandSource,
    PeopleAnswer,
    PeopleSource,
    ServiceCheck,
    Sighting,
    cost_of,
    find_new,
    is_local,
    missing_of,
)

A = TypeVar("A", BrandAnswer, PeopleAnswer)


class _MeasuredSource:
    """Args: *kind*: ``brand`` or ``people``."""

    def __init__(self, source: BrandSource | PeopleSource, kind: str, metrics: Metrics) -> None:
        self.name = source.name
        self._measured = source
        self._kind = kind
        self._metrics = metrics

    @property
    def missing(self) -> str | None:
        return missing_of(self._measured)

    @property
    def cost(self) -> float:
        return cost_of(self._measured)

    @property
    def local(self) -> bool:
        return is_local(self._measured)

    async def check(self) -> ServiceCheck:
        check: Callable[[], Awaitable[ServiceCheck]] = getattr(self._measured, "check")  # noqa: B009
        return await check()

    @property
    def hints(self) -> bool:
        return getattr(self._measured, "hints", False) is True

    async def _timed(self, asked: Awaitable[A]) -> A:
        began = perf_counter()
        with self._metrics.traces.span(f"source {self.name}", "client") as span:
            answer = await asked
            span.note(ended=answer.ended.value)
        spent = self._metrics.source_seconds.of(self._kind, self.name, answer.ended.value)
        spent.observe(perf_counter() - began)
        answering = self._metrics.source_answering.of(self._kind, self.name)
        answering.set(answer.ended in ANSWERED)
        return answer


class MeasuredBrandSource(_MeasuredSource):
    def __init__(self, source: BrandSource, metrics: Metrics) -> None:
        super().__init__(source, "brand", metrics)
        self._source = source

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        return await self._timed(self._source.find(query, known))


class MeasuredPeopleSource(_MeasuredSource):
    def __init__(self, source: PeopleSource, metrics: Metrics) -> None:
        super().__init__(source, "people", metrics)
        self._source = source

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        return await self._timed(self._source.find(brand, limit=limit))

    async def find_new(
        self, brand: BrandFacts, *, limit: int, known: Sequence[Sighting]
    ) -> PeopleAnswer:
        return await self._timed(find_new(self._source, brand, limit=limit, known=known))
