"""Whether a call that failed is made again, after how long, and until when."""

import random
from collections.abc import Callable

import msgspec

from cs.client.calls import Call
from cs.client.errors import (
    ApiError,
    AtCapacity,
    ClientError,
    InFlight,
    NotThisApi,
    Paused,
    QuotaExceeded,
    RateLimited,
    Unreachable,
)
from cs.client.limits import Window

#: Statuses that may pass, also from a proxy.  Any other 4xx is a refusal that stays.
RETRIED = frozenset({408, 429, 500, 502, 503, 504})
#: Statuses of refusals by the service (contract text 7), without 503: gateways send it too.
_REFUSED = frozenset({400, 401, 402, 404, 405, 429})
#: Doubling the first wait more often makes it longer than any bound of it, and overflows.
_MOST_DOUBLED = 64
#: A service knows an idempotency key for 24 hours (contract L14); one hour to spare.
KEY_KNOWN_S = 23 * 3600.0


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a client goes on trying.  All are seconds but *tries*.

    Attributes:
        longest_s: A server that asks for a longer wait is not waited for.
        total_s: For one call, its waits and its tries together.
        tries: For one call, as long as no answer says when to come back.
        first_s: Wait after the first try without an answer; doubled each time.
        most_s: The longest wait that doubling reaches.
    """

    longest_s: float = 65.0
    total_s: float = 300.0
    tries: int = 6
    first_s: float = 0.5
    most_s: float = 15.0


#: Gives up at the first error.
NO_RETRIES = Patience(longest_s=0.0, total_s=0.0, tries=1)


def may_pass(error: ClientError) -> bool:
    """Return whether trying again may end otherwise than with *error*."""
    match error:
        case Unreachable():
            return error.may_pass
        case ApiError() | NotThisApi():
            return error.status in RETRIED
        case _:
            return False


def leaves_doubt(error: ClientError) -> bool:
    """Return whether the service may have done what *error* came instead of the answer to.

    A refusal of the service itself proves that nothing was done.  500 and the answers of a
    proxy prove nothing, also where a gateway words its 504 as the service would.
    """
    match error:
        case Unreachable():
            return error.sent
        case AtCapacity() | Paused():
            return False
        case ApiError():
            return error.status not in _REFUSED
        case _:
            return True


def shows_unknown_key(error: ClientError) -> bool:
    """Return whether *error* shows that the idempotency key is not known to the service.

    It looks a key up after secret, path and body, and before pause, quota and limits
    (contract O1 to O11): what is refused by one of those has nothing stored under its key.
    Of the limits only the daily one shows it: the others also refuse calls that are known
    (checks) or were not looked at (too many that wait).
    """
    match error:
        case QuotaExceeded() | InFlight() | AtCapacity() | Paused():
            return not error.in_doubt
        case RateLimited(limits=limits) if limits is not None:
            day = limits.windows.get("day", Window())
            is_hit = day.remaining == 0 and day.limit is not None and day.limit == limits.limit
            return is_hit and not error.in_doubt
        case _:
            return False


class CallRetries:
    """The tries of one call: what they left in doubt, and when the next one is.

    Whether the service still knows the idempotency key goes by the time of day as well: a
    monotonic clock stands still while the machine is suspended.  The longer of the two
    counts, as the time of day may be set back.

    Args:
        patience: The limits of time and tries.
        wall: The time of day in seconds.
        call: The call.
    """

    def __init__(self, patience: Patience, wall: Callable[[], float], call: Call) -> None:
        self._patience = patience
        self._wall = wall
        self._charges = call.method == "POST"
        self._first_at = wall()
        self._asked_before = call.asked_at is not None
        asked_at = self._first_at if call.asked_at is None else call.asked_at
        self._age_s = max(0.0, self._first_at - asked_at)
        self._without_retry_after = 0
        self._in_doubt = False  # by these tries

    def pause_after(self, error: ClientError, *, spent_s: float) -> float | None:
        """Set `in_doubt` of *error*, and return how many seconds to wait; None: give up.

        Never less than the server asks for.  Waits are spread by chance, so that clients
        that were refused together do not come back together.

        Args:
            error: The error of the try.
            spent_s: Since the first try began, by the monotonic clock.
        """
        self._without_retry_after += not error.retry_after_s
        self._in_doubt = self._in_doubt or (self._charges and leaves_doubt(error))
        error.in_doubt = self._in_doubt
        pause = self._pause(error) if may_pass(error) else None
        if pause is None or spent_s + pause >= self._patience.total_s:
            return None
        return None if self.may_charge_again(spent_s, pause) else pause

    def _pause(self, error: ClientError) -> float | None:
        patience, asked = self._patience, error.retry_after_s
        chance = random.random()  # noqa: S311
        if asked:
            wait = asked + min(1.0, asked / 10) * chance
            return wait if asked <= patience.longest_s else None
        # A server that asks for 0 s would else be asked again and again without a pause.
        tried = self._without_retry_after
        if tried >= patience.tries:
            return None
        doubled = patience.first_s * 2.0 ** min(tried - 1, _MOST_DOUBLED)
        return min(patience.most_s, doubled) * (1 + chance) / 2

    def may_charge_again(self, spent_s: float = 0.0, pause: float = 0.0) -> bool:
        """Return whether a try *pause* from now would come when its key may be forgotten."""
        age = self._age_s + max(spent_s, self._wall() - self._first_at)
        return (self._in_doubt or self._asked_before) and age + pause >= KEY_KNOWN_S
