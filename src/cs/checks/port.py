"""How many status and usage checks a key made in the last minute."""

from datetime import datetime
from typing import Protocol

import msgspec

from cs.domain.rate_limits import RateWindow

#: Contract text 8.
CHECKS_PER_MINUTE = 120
#: Keys that are remembered by a process; one forgotten starts a fresh minute, or is asked for.
KEYS = 20_000


class Check(msgspec.Struct, frozen=True):
    """One status or usage check, counted or refused."""

    at: datetime
    counted: bool
    window: RateWindow  # after it


class Checks(Protocol):
    """120 GETs a minute and key (contract L3).

    A check is counted before anything else is read, so that one beyond the limit costs no
    more database work however many come.
    """

    async def count(self, key_id: str, at: datetime) -> Check:
        """Count a check, unless 120 were counted in the 60 s before it.

        Args:
            key_id: Whose check.
            at: By the caller's clock; where nodes share a clock that one counts.

        Raises:
            LogUnavailable: Whether it was counted is not known.
        """

    async def uncount(self, key_id: str, at: datetime) -> None:
        """Uncount the check of *at* (`Check.at`): it was not answered."""
