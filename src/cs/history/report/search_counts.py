"""Counts of searches, and how old the results were that answered them."""

from collections import Counter
from datetime import datetime, timedelta

from cs.domain.brand.brand import stream_of
from cs.history.report.counting import BusiestNames, Durations
from cs.history.report.events import AdmittedSearch, SettledSearch
from cs.history.report.period import Period, floor
from cs.runtime.lru import LruDict

#: Searches that have begun and not ended, which are remembered.
OPEN_SEARCHES = 20_000
#: Finished runs whose moment is remembered, as results are reused for weeks.
FINISHES = 100_000
#: Days at which a band of ages begins.
BANDS = (0, 1, 3, 7, 14, 21, 30)

_DAY = timedelta(days=1)


class SearchCounts:
    """What is counted of searches in *period*.

    Attributes:
        by_bucket: Answers by outcome, by the bucket of the period they are in.
        ages_wanted: Reused results whose age is to be told with `tell_age`: (lookup, when).
    """

    def __init__(self, period: Period) -> None:
        self._period = period
        self._step = period.step
        self.asked = self.repeated = self.answered = self.charged = self.reused = 0
        self.not_timed = 0
        self.outcomes = Counter[str]()
        self.time_to_answer = Durations()
        self.by_bucket: dict[datetime, Counter[str]] = {}
        self.reused_by_bucket = Counter[datetime]()
        self.keys, self.brands = BusiestNames(), BusiestNames()
        self.ages = Durations()
        self.age_bands = Counter[int]()
        self.age_not_known = 0
        self.ages_wanted: list[tuple[str, datetime]] = []
        self._admitted_at = LruDict[str, datetime](OPEN_SEARCHES)
        self._finished_at = LruDict[str, datetime](FINISHES)

    def admitted(self, event: AdmittedSearch) -> None:
        """Count a search, and note when it began."""
        self._admitted_at[event.search] = event.at
        self.asked += event.at in self._period

    def run_finished(self, lookup: str, at: datetime) -> None:
        """Note when the run *lookup* finished, whose result may be reused."""
        self._finished_at[lookup] = at

    def settled(self, key: str, event: SettledSearch) -> None:
        """Count an answer to *key*."""
        admitted_at = self._admitted_at.pop(event.search, None)
        if event.at not in self._period:
            return
        self.answered += 1
        self.charged += event.charged
        self.reused += event.cached
        self.outcomes[event.outcome] += 1
        bucket = floor(event.at, self._step)
        self.by_bucket.setdefault(bucket, Counter())[event.outcome] += 1
        self.reused_by_bucket[bucket] += event.cached
        counts = (1, int(event.charged), int(event.cached))
        self.keys.add(key, *counts)
        self.brands.add(stream_of(event.lookup), *counts)
        if event.cached:
            self._reused(event.lookup, event.at)
        elif admitted_at is None:
            self.not_timed += 1
        else:
            self.time_to_answer.add(event.at - admitted_at)

    def tell_age(self, finished_at: datetime | None, reused_at: datetime) -> None:
        """Count a result that was reused, ``None`` if its run's finish cannot be read."""
        if finished_at is None:
            self.age_not_known += 1
            return
        age = reused_at - finished_at
        self.ages.add(age)
        self.age_bands[max(band for band in BANDS if band <= max(age // _DAY, 0))] += 1

    def _reused(self, lookup: str, at: datetime) -> None:
        finished_at = self._finished_at.use(lookup)
        if finished_at is None:
            self.ages_wanted.append((lookup, at))
        else:
            self.tell_age(finished_at, at)
