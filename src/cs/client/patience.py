"""Whether a call that came to nothing is made again, and after how long."""

import msgspec

from cs.client.errors import ApiError, AtCapacity, ClientError, NotThisApi, Paused, Unreachable

#: What may pass, whoever says it.  Any other 4xx is a no that will not change.
RETRIED = frozenset({408, 429, 500, 502, 503, 504})
#: What the service refuses with (contract text 7) but 503, of which a gateway has its own.
_REFUSED = frozenset({400, 401, 402, 404, 405, 429})
#: Doubling the first wait more often makes it longer than any bound of it, and overflows.
_MOST_DOUBLED = 64


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a client goes on trying.  All are seconds but *tries*.

    Attributes:
        longest_s: A server that asks for a longer wait is not waited for.
        total_s: For one call, its waits and its tries together.
        tries: For one call, as long as nobody says when to come back.
        first_s: Wait after the first try that nobody answered; doubled each time.
        most_s: What doubling ends at.
    """

    longest_s: float = 65.0
    total_s: float = 300.0
    tries: int = 6
    first_s: float = 0.5
    most_s: float = 15.0


#: Gives up at the first error.
NONE = Patience(longest_s=0.0, total_s=0.0, tries=1)


def pause_before_next(
    error: ClientError, patience: Patience, *, tried: int, spent_s: float, chance: float
) -> float | None:
    """Return how many seconds to wait before trying again; None to give up.

    Never less than the server asks for.  Waits are spread by *chance*, so that clients
    that were refused together do not come back together.

    Args:
        error: What the last try ended with.
        patience: What there is to spend.
        tried: Tries so far that nobody named a pause after, this one included.
        spent_s: Since the first try began.
        chance: From 0 up to 1.
    """
    if not may_pass(error):
        return None
    asked = error.retry_after_s
    if not asked:  # 0 would have it asked again and again without a pause
        if tried >= patience.tries:
            return None
        most = min(patience.most_s, patience.first_s * 2.0 ** min(tried - 1, _MOST_DOUBLED))
        pause = most * (1 + chance) / 2
    elif asked > patience.longest_s:
        return None
    else:
        pause = asked + min(1.0, asked / 10) * chance
    return pause if spent_s + pause < patience.total_s else None


def may_pass(error: ClientError) -> bool:
    """Return whether trying again may end otherwise than with *error*."""
    match error:
        case Unreachable():
            return error.may_pass
        case ApiError() | NotThisApi():
            return error.status in RETRIED
        case _:
            return False


def proves_nothing(error: ClientError) -> bool:
    """Return whether the service may have done what *error* came instead of the answer to.

    What the service itself refuses was not done; 500 and what a proxy says prove nothing,
    also where a gateway words its 504 as the service would.
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
