"""Forgetting people that no search returned for a long time, by the service itself.

The process that leads looks once an hour, a page of lookups at a time.  The log says what was
done (*contacts erased*, ``aged_out``), a view says what is due: nothing else is remembered, and
an interrupted round is repeated.
"""

from collections.abc import Sequence
from datetime import date, timedelta

from structlog import get_logger

from cs.eventlog.port import LogUnavailable
from cs.operations.erasure import Erasure
from cs.projections.returned import RETURNED
from cs.projections.views import Views
from cs.runtime.clock import Clock
from cs.runtime.private_files import DeletedDataRemains

log = get_logger()

#: A month of the setting: the longest month, so that no person is forgotten too early.
MONTH = timedelta(days=31)
#: How often people are looked for, also after a failure.
EVERY = timedelta(hours=1)
#: Lookups of one round, some 2,000 people: 2 s with a million keys in PostgreSQL.
PAGE = 50
#: No log is older.
BEGINNING = date(2025, 1, 1)


class Retention:
    """Ages out people after *months* without a search that returned them.

    Attributes:
        lookups, people: The number that have aged out since this process began.
    """

    def __init__(self, views: Views, erasure: Erasure, clock: Clock, *, months: int) -> None:
        self._views = views
        self._erasure = erasure
        self._clock = clock
        self._kept_for = MONTH * months
        self._reached = 0
        self._damaged: set[str] = set()  # lookups that could not be read lately
        self.lookups = 0
        self.people = 0

    async def run(self) -> None:
        while True:
            self._damaged.clear()
            try:
                while await self.round():
                    pass
            except (LogUnavailable, DeletedDataRemains) as error:
                log.warning("people_not_aged_out", why=str(error))
            await self._clock.sleep_until(self._clock.now() + EVERY)

    async def round(self) -> int:
        """Age out the people of up to `PAGE` lookups; return how many lookups it was.

        Raises:
            LogUnavailable: The log, the views, the keys or remembered calls are away.
            DeletedDataRemains: As from `Erasure.age_out`.
        """
        due = await self._due((self._clock.now() - self._kept_for).date())
        if not due:
            return 0
        aged_out = await self._erasure.age_out(due)
        self._damaged.update(set(due) - set(aged_out.lookups))
        self.lookups += len(aged_out.lookups)
        self.people += aged_out.people
        log.info("people_aged_out", lookups=len(aged_out.lookups), people=aged_out.people)
        return len(due)

    async def _due(self, before: date) -> Sequence[str]:
        """Return lookups that were last returned on a day before *before*."""
        # Views that are being rebuilt would seem to have nothing: not counted as looked at.
        self._reached = max(self._reached, await self._views.position())
        days = [str(BEGINNING + timedelta(days=n)) for n in range((before - BEGINNING).days)]
        limit = PAGE + len(self._damaged)  # those may be among the first ones
        found = await self._views.ids_tagged(RETURNED, days, self._reached, limit=limit)
        return sorted({lookup for lookup, _ in found} - self._damaged)[:PAGE]
