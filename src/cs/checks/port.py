"""How many status and usage checks a key made in the last minute."""

import asyncio
from datetime import datetime
from typing import NamedTuple, Protocol

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


class CheckQuestion(NamedTuple):
    """A check to be counted, and what its answer depends on.

    Attributes:
        key_id: Whose check.
        version: That of the key's state in memory.
        lookup: The result that is to be shown; empty: none.
    """

    key_id: str
    version: int
    lookup: str


class CheckFacts(msgspec.Struct, frozen=True):
    """What is true of a `CheckQuestion`, all at one moment after it was asked.

    Attributes:
        check: Counted or refused.
        key_unchanged: Whether nothing came to the key since that version.
        checkpoint: The position that the views reflect.
        result: The row of the lookup's result, encoded; ``None``: the views have none.
    """

    check: Check
    key_unchanged: bool
    checkpoint: int
    result: bytes | None


class CheckReads(Protocol):
    """Checks counted together with what their answers depend on: one question for all."""

    def ask(self, question: CheckQuestion) -> asyncio.Future[CheckFacts] | None:
        """Return what becomes the facts; ``None``: ask for each of them by itself.

        The future fails with `LogUnavailable`: whether the check was counted is not known.
        """


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

    def count_at_once(self, key_id: str, at: datetime) -> Check | None:
        """Do as `count`, without waiting; ``None``: nothing was counted, ask `count`."""

    def uncount_at_once(self, key_id: str, at: datetime) -> None:
        """Uncount what `count_at_once` has counted."""

    async def uncount(self, key_id: str, at: datetime) -> None:
        """Uncount the check of *at* (`Check.at`): it was not answered."""
