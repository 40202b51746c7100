"""The tries of one call: how many there were, what they left in doubt, what comes next."""

from collections.abc import Callable

from cs.client.api import Call
from cs.client.errors import ClientError
from cs.client.patience import Patience, pause_before_next, proves_nothing

#: A service knows an idempotency key for 24 hours (contract L14); one hour to spare.
KNOWN_S = 23 * 3600.0


class Tries:
    """One call, from its first try on.

    Whether the service still knows the idempotency key is judged by the time of day as
    well: a monotonic clock stands still while the machine is suspended.  The longer of
    the two counts, as the time of day may be set back.

    Args:
        patience: What there is to spend.
        wall: The time of day in seconds.
        call: What is tried.
    """

    def __init__(self, patience: Patience, wall: Callable[[], float], call: Call) -> None:
        self._patience = patience
        self._wall = wall
        self._charges = call.method == "POST"
        self._begun_on_wall = wall()
        self._asked_before = call.asked_at is not None
        asked_at = self._begun_on_wall if call.asked_at is None else call.asked_at
        self._age_s = max(0.0, self._begun_on_wall - asked_at)
        self._unadvised = 0
        self._doubtful = False  # by these tries

    def pause_after(self, error: ClientError, *, spent_s: float, chance: float) -> float | None:
        """Note on *error* whether it leaves doubt, and return how long to wait; None: give up.

        Args:
            error: What the try ended with.
            spent_s: Since the first try began, by the monotonic clock.
            chance: From 0 up to 1.
        """
        self._unadvised += not error.retry_after_s
        self._doubtful = self._doubtful or (self._charges and proves_nothing(error))
        error.in_doubt = self._doubtful
        pause = pause_before_next(
            error, self._patience, tried=self._unadvised, spent_s=spent_s, chance=chance
        )
        too_late = pause is not None and self.may_charge_again(spent_s, pause)
        return None if too_late else pause

    def may_charge_again(self, spent_s: float = 0.0, pause: float = 0.0) -> bool:
        """Return whether a try *pause* from now would come when its key may be forgotten."""
        age = self._age_s + max(spent_s, self._wall() - self._begun_on_wall)
        return (self._doubtful or self._asked_before) and age + pause >= KNOWN_S
