"""The figures of sources and verifiers that go with each piece of work.

Whoever publishes work has the views, a stage has not: so a stage needs no log to know what a
verified e-mail has cost from whom (docs/decisions/0046).
"""

from collections.abc import Awaitable, Callable, Sequence

from structlog import get_logger

from cs.domain.source_cost import SourceFigures
from cs.domain.source_order import PRIORS
from cs.domain.stages.work import StageName
from cs.eventlog.errors import LogUnavailable
from cs.runtime.clock import Clock

log = get_logger()

#: How old figures may be: an order is not worth a read for each piece of work.
FRESH_S = 60.0
#: Rows of one message, those that cost most first.
MOST = 64


class LearnedFigures:
    """Remembers what *read* returned, for a minute; where it cannot be read, the last of it."""

    def __init__(
        self, read: Callable[[], Awaitable[Sequence[SourceFigures]]], clock: Clock
    ) -> None:
        self._read = read
        self._clock = clock
        self._read_at: float | None = None
        self._paid: Sequence[SourceFigures] = ()

    async def of(self, stage: StageName) -> tuple[SourceFigures, ...]:
        """Return the figures of those whom *stage* has paid; the free ones need no figures.

        None of a stage that has nobody to choose between.
        """
        if stage not in PRIORS:
            return ()
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= FRESH_S:
            self._read_at = now
            try:
                self._paid = [each for each in await self._read() if each.micros]
            except LogUnavailable as error:
                # The order is good advice, and no work waits for advice.
                log.info("figures_not_read", why=str(error))
        ours = (each for each in self._paid if each.stage == stage)
        return tuple(sorted(ours, key=lambda each: -each.micros)[:MOST])
