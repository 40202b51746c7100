"""The parts of the service that the handlers of the API use."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

from cs.api.admission import SearchAdmission
from cs.api.keys import Keys
from cs.api.waiting import AT_ONCE_PER_KEY, TIME_LIMITS, KeyLimiter, LongPolls, TimeLimits
from cs.checks.checks import CHECKS_PER_MINUTE, Checks
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.projections.reading import Reading
from cs.runtime.clock import Clock

#: Contract text 8: how long a call with ``wait: true`` is held.
HOLD = timedelta(seconds=85)
#: Searches of one key that may wait to be worked on: ten times what a minute allows.
MAX_WAITING_SEARCHES = 60
#: Bodies of one key that may be on their way, each for ten seconds on a connection that other
#: keys then lack: more than the searches that a minute allows.
BODIES_PER_KEY = 16


@dataclass
class Api:
    """The parts that every handler is given.

    Attributes:
        hold: How long a call with ``wait: true`` is held.
        draining: Set when the service leaves: held calls are answered then.
        body_limiter: Of the bodies of a key that are being read.
        search_limiter: Of the searches of a key.
        read_limiter: Of what reads a key: checks, and refusals that need nothing else of it.
        metrics: Where calls are counted.
    """

    streams: Streams
    admission: SearchAdmission
    reading: Reading
    keys: Keys
    clock: Clock
    checks: Checks
    hold: timedelta = HOLD
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    long_polls: LongPolls = field(default_factory=LongPolls)
    body_limiter: KeyLimiter = field(default_factory=lambda: KeyLimiter(BODIES_PER_KEY, 0))
    search_limiter: KeyLimiter = field(
        default_factory=lambda: KeyLimiter(AT_ONCE_PER_KEY, MAX_WAITING_SEARCHES)
    )
    read_limiter: KeyLimiter = field(
        default_factory=lambda: KeyLimiter(AT_ONCE_PER_KEY, CHECKS_PER_MINUTE)
    )
    time_limits: TimeLimits = TIME_LIMITS
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.metrics.calls_held.measure(lambda: self.held)
        self.metrics.calls_queued.measure(lambda: len(self.search_limiter), "searches")
        self.metrics.calls_queued.measure(lambda: len(self.read_limiter), "checks")

    @property
    def held(self) -> int:
        """Return how many calls are held now."""
        return self.long_polls.held
