"""The alarm over outcomes of work that was not issued to their sender."""

from structlog import get_logger

from cs.domain.stages.work import Outcome
from cs.runtime.clock import Clock
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: Somebody who forges outcomes may send many: one line says how many there were.
LOG_EVERY_S = 10.0


class ForgeryAlarm:
    """Counts forged outcomes, and logs the first and then one every `LOG_EVERY_S` at most.

    Attributes:
        count: Forged outcomes since the start.
    """

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        self._throttle = LogThrottle(LOG_EVERY_S, monotonic=clock.monotonic)

    def note(self, outcome: Outcome) -> None:
        self.count += 1
        if self._throttle.allow() is not None:
            log.error(
                "outcome_forged",
                lookup=outcome.lookup,
                stage=outcome.stage,
                receipt="wrong" if outcome.receipt else "missing",
                refused=self.count,
            )
