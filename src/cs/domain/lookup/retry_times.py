"""Times of retries after failed attempts (docs/decisions/0028).  Pure."""

from datetime import datetime, timedelta

from cs.domain.lookup.state import IssuedWork, Lookup

#: Wait before the second attempt when the outside named none; fourfold for each further.
#: Where it did name one, the least wait from the third attempt on is twice this, then doubled.
FIRST_RETRY = timedelta(seconds=2)
#: A last attempt is made so long before the deadline if the next wait would pass it
#: (docs/decisions/0028): what a server that is willing by then needs for some addresses, and
#: three lookups that ask one domain in turn, whose name server says nothing for 5 s each.
LAST_RETRY = timedelta(seconds=20)
#: A longer wait that the outside asks for outlives every lookup.
LONGEST_RETRY_S = 86_400.0


def retry_at(
    state: Lookup, work: IssuedWork, named_wait_s: float | None, at: datetime
) -> datetime:
    """Return when *work* is worth another attempt (docs/decisions/0028).

    The wait that the outside named is believed once.  From the second failure on it is at
    least a wait that doubles, so that attempts are few however short the named one is.

    Args:
        state: The run; its deadline bounds a last attempt, and not what is returned.
        work: What has failed at *at*; its failures count.
        named_wait_s: What the outside asked for, in seconds; ``None`` if it named none.
        at: When the attempt failed.
    """
    named_s = min(max(named_wait_s or 0.0, 0.0), LONGEST_RETRY_S)
    named = timedelta(seconds=named_s)
    earlier = work.failures - 1
    if not named:
        return at + FIRST_RETRY * int(4 ** min(earlier, 6))
    if earlier == 0:
        return at + named
    retry_at = at + max(named, FIRST_RETRY * int(2 ** min(earlier, 12)))
    last_at = state.deadline_at - LAST_RETRY
    return last_at if at + named <= last_at < retry_at else retry_at
