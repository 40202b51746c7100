"""Who may ask a paid service now: one token bucket and one account for all workers.

Before a call its highest price is reserved, durably; afterwards it is settled with what was
charged.  A worker that dies in between leaves the reserve as spent: the caps err on the side
of not asking, as paid calls do (docs/decisions/0012-a-paid-call-is-made-once.md).  A database
that is away allows no request.
"""

from collections.abc import Sequence
from datetime import date
from typing import Literal, Protocol

import msgspec


class ServiceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator allows of one service.

    Attributes:
        calls_per_s: At which rate the bucket fills.
        burst: Calls that may be made at once after a pause, 1 or more.
        micros_per_day: Most that may be spent in a day of UTC; ``None`` for no cap.
        micros_per_month: And in a month of UTC.
    """

    calls_per_s: float
    burst: int = 1
    micros_per_day: int | None = None
    micros_per_month: int | None = None


class Reservation(msgspec.Struct, frozen=True):
    """The caller may make one call, *delay_s* from now.

    Attributes:
        day: Of UTC, on whose account the reserve is.
    """

    service: str
    day: date
    micros: int
    delay_s: float = 0.0


class BucketEmpty(msgspec.Struct, frozen=True):
    """The bucket is empty for longer than the caller waits."""

    left_s: float


class ServicePaused(msgspec.Struct, frozen=True):
    """The service asked all of us to stay away, or refused all of us alike.

    Attributes:
        why: What it was paused with (`Budgets.pause`).
    """

    left_s: float
    why: str


class OverCap(msgspec.Struct, frozen=True):
    """The call could cost more than is left of a cap; *left_s* until the period ends."""

    cap: Literal["day", "month"]
    spent_micros: int
    left_s: float


ReserveResult = Reservation | BucketEmpty | ServicePaused | OverCap


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What one service was asked and paid, reserves of calls under way included."""

    service: str
    calls_today: int = 0
    micros_today: int = 0
    calls_this_month: int = 0
    micros_this_month: int = 0
    paused_s: float = 0.0
    paused_why: str = ""


class Budgets(Protocol):
    """Every method may raise `CallsUnavailable`."""

    async def reserve(
        self,
        service: str,
        limits: ServiceLimits,
        micros: int,
        *,
        patience_s: float = 0.0,
        through_pause: bool = False,
    ) -> ReserveResult:
        """Ask to make a call that costs at most *micros*; what is reserved is durable.

        Args:
            service: The same name for the same account.
            limits: Of the service.
            micros: The most that the call can cost.
            patience_s: How long the caller waits for the bucket; a place in it is kept.
            through_pause: Ask though it is paused: to find out whether it still has to be.
        """

    async def settle(self, reserved: Reservation, micros: int, *, made: bool = True) -> None:
        """Count *micros* in place of the reserve; one that was not *made* is no call."""

    async def pause(self, service: str, for_s: float, why: str) -> None:
        """Allow no request to *service* for *for_s* seconds; a longer pause stays."""

    async def resume(self, service: str) -> None:
        """End the pause of *service*: it answers again."""

    async def spending(self) -> Sequence[Spending]:
        """Return every service that was ever asked, by name."""


class _Unlimited:
    """Counts nothing and allows all requests: for tests of plug-ins."""

    async def reserve(
        self,
        service: str,
        limits: ServiceLimits,
        micros: int,
        *,
        patience_s: float = 0.0,
        through_pause: bool = False,
    ) -> ReserveResult:
        del limits, patience_s, through_pause
        return Reservation(service, date.min, micros)

    async def settle(self, reserved: Reservation, micros: int, *, made: bool = True) -> None:
        pass

    async def pause(self, service: str, for_s: float, why: str) -> None:
        pass

    async def resume(self, service: str) -> None:
        pass

    async def spending(self) -> Sequence[Spending]:
        return ()


UNLIMITED: Budgets = _Unlimited()
