"""The rate at which a paid service is asked, and spending caps, over all workers.

One token bucket, one pause and one account for each service, in a row that workers queue for.
The bucket is kept as one moment, the one at which it will be full again (the "theoretical
arrival time" of ITU-T I.371, annex A): one number to store, nothing to fill by the clock.
Days and the bucket go by the database's clock, so that all workers agree on them.

Before a call its highest price is reserved, durably; afterwards it is settled with what was
charged.  A worker that dies in between leaves the reserve as spent: the caps err on the side
of not asking, as paid calls do (docs/decisions/0012-a-paid-call-is-made-once.md).  A database
that is away allows no request.

All services together may have caps too.  They are checked in the same transaction, under a
lock that every reservation that costs money then takes.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal, Self

import msgspec

from cs.paid_calls.errors import CallsUnavailable
from cs.runtime.sql import NOW, Database, Work
from cs.sqlite.sql import SqliteDatabase


class ServiceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that the operator sets for one service.

    Attributes:
        calls_per_s: The rate at which the bucket fills.
        burst: Calls that may be made at once after a pause, 1 or more.
        micros_per_day: The most that is spent in a day of UTC; ``None`` for no cap.
        micros_per_month: The same in a month of UTC.
    """

    calls_per_s: float
    burst: int = 1
    micros_per_day: int | None = None
    micros_per_month: int | None = None


class TotalCaps(msgspec.Struct, frozen=True, kw_only=True):
    """The most that all services together may cost, by days and months of UTC.

    Attributes:
        micros_per_day: ``None`` for no cap.
        micros_per_month: The same.
    """

    micros_per_day: int | None = None
    micros_per_month: int | None = None


#: Each service has its own caps, and there is none for all of them.
NO_TOTAL = TotalCaps()


class Reservation(msgspec.Struct, frozen=True):
    """The caller may make one call, *delay_s* from now.

    Attributes:
        day: The day of UTC that it is counted on.
    """

    service: str
    day: date
    micros: int
    delay_s: float = 0.0


class BucketEmpty(msgspec.Struct, frozen=True):
    """The bucket is empty for longer than the caller waits."""

    left_s: float


class ServicePaused(msgspec.Struct, frozen=True):
    """The service is paused for all workers: it asked for that, or refuses our key.

    Attributes:
        why: The reason given to `Budgets.pause`.
    """

    left_s: float
    why: str


class OverCap(msgspec.Struct, frozen=True):
    """The call could cost more than is left of a cap; *left_s* until the period ends.

    Attributes:
        of_total: It is the cap of all services together.
    """

    cap: Literal["day", "month"]
    spent_micros: int
    left_s: float
    of_total: bool = False


ReserveResult = Reservation | BucketEmpty | ServicePaused | OverCap


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """Calls to one service and their cost, including reserves of calls under way."""

    service: str
    calls_today: int = 0
    micros_today: int = 0
    calls_this_month: int = 0
    micros_this_month: int = 0
    paused_s: float = 0.0
    paused_why: str = ""


class SpentOfDay(msgspec.Struct, frozen=True):
    """Spending of all services in a day of UTC.

    Attributes:
        most: The mean cost of a call of the dearest service.
    """

    micros: int
    most: int = 0


class BudgetState(msgspec.Struct, frozen=True):
    """The stored bucket and pause of a service; moments are seconds since 1970.

    Attributes:
        full_at: When the bucket is full again without requests.
        paused_until: No request before that.
        paused_why: The reason of the pause.
    """

    full_at: float = 0.0
    paused_until: float = 0.0
    paused_why: str = ""


class ReserveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to make a call that costs at most *micros*.

    Attributes:
        service: The same name for the same account.
        limits: Limits of the service.
        patience_s: How long the caller waits for the bucket; its place in it is kept.
        through_pause: Ignore a pause, to find out whether it can end.
    """

    service: str
    limits: ServiceLimits
    micros: int
    patience_s: float = 0.0
    through_pause: bool = False


def decide(
    state: BudgetState,
    asked: ReserveRequest,
    now: float,
    spent: tuple[int, int],
    *,
    caps: TotalCaps = NO_TOTAL,
    spent_of_total: tuple[int, int] = (0, 0),
) -> tuple[BudgetState, ReserveResult]:
    """Return the new state of the service, and the answer to *asked*.

    Args:
        state: The state of the service.
        asked: The request.
        now: Seconds since 1970.
        spent: Micros today, and this month.
        caps: Of all services together; they do not stop what is free.
        spent_of_total: As *spent*, of all services together.

    >>> limits = ServiceLimits(calls_per_s=1.0, micros_per_day=10)
    >>> once = ReserveRequest(service="acme", limits=limits, micros=7)
    >>> state, first = decide(BudgetState(), once, 0.0, (0, 0))
    >>> first.micros, decide(state, once, 0.0, (0, 0))[1]
    (7, BucketEmpty(left_s=1.0))
    >>> decide(state, once, 0.0, (7, 7))[1].cap
    'day'
    """
    pause_s = state.paused_until - now
    if pause_s > 0 and not asked.through_pause:
        return state, ServicePaused(pause_s, state.paused_why)
    day, limits = _day_of(now), asked.limits
    over = _over_cap(limits, spent, asked.micros, now)
    if over is None and asked.micros:
        over = _over_cap(caps, spent_of_total, asked.micros, now)
        over = None if over is None else msgspec.structs.replace(over, of_total=True)
    if over is not None:
        return state, over
    interval_s = 1 / limits.calls_per_s
    full_at = max(state.full_at, now) + interval_s
    wait_s = max(full_at - now - limits.burst * interval_s, 0.0)
    if wait_s > asked.patience_s:
        return state, BucketEmpty(wait_s)
    reserved = Reservation(asked.service, day, asked.micros, wait_s)
    return msgspec.structs.replace(state, full_at=full_at), reserved


def _over_cap(
    caps: ServiceLimits | TotalCaps, spent: tuple[int, int], micros: int, now: float
) -> OverCap | None:
    """Return the cap that does not allow *micros* more, the one of the month first."""
    spent_today, spent_this_month = spent
    tomorrow, next_month = period_ends(now)
    periods: tuple[tuple[Literal["day", "month"], int | None, int, datetime], ...] = (
        ("month", caps.micros_per_month, spent_this_month, next_month),
        ("day", caps.micros_per_day, spent_today, tomorrow),
    )
    for name, cap, so_far, ends in periods:
        if cap is not None and so_far + micros > cap:
            return OverCap(name, so_far, ends.timestamp() - now)
    return None


def _day_of(now: float) -> date:
    return datetime.fromtimestamp(now, UTC).date()


def midnight(day: date) -> datetime:
    """Return when *day* begins in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def period_ends(now: float) -> tuple[datetime, datetime]:
    """Return when the day of UTC ends, and the month."""
    day = _day_of(now)
    next_month = (day.replace(day=1) + timedelta(days=31)).replace(day=1)
    return midnight(day + timedelta(days=1)), midnight(next_month)


class Budgets:
    """The budgets in *database*.  Every method may raise `CallsUnavailable`.

    Attributes:
        caps: Those of all services together; every process has to be given the same.
    """

    def __init__(self, database: Database, caps: TotalCaps = NO_TOTAL) -> None:
        self._database = database
        self.caps = caps

    @classmethod
    def in_file(cls, path: Path | None, caps: TotalCaps = NO_TOTAL) -> Self:
        """Return budgets in a SQLite file, made when something is first reserved.

        Args:
            path: The file; its folder is made too.  In memory without one.
            caps: As of the class.
        """
        return cls(
            SqliteDatabase(
                path,
                _SQLITE_SCHEMA,
                thread="budgets",
                make_folder=True,
                unavailable=account_away,
            ),
            caps,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.close()

    async def reserve(self, asked: ReserveRequest) -> ReserveResult:
        """Answer *asked*; what is reserved is durable."""

        def reserve() -> Work[ReserveResult]:
            state, now = yield from _locked(asked.service)
            day = _day_of(now)
            ((today, this_month),) = yield _SPENT, asked.service, day.replace(day=1), day
            of_total = (0, 0)
            if asked.micros and self.caps != NO_TOTAL:  # they do not stop what is free
                yield (_LOCK_TOTAL,)  # after the service's row, always: no two wait in a circle
                ((*sums,),) = yield _SPENT_OF_TOTAL, day.replace(day=1), day
                of_total = sums[0], sums[1]
            spent = today, this_month
            after, result = decide(
                state, asked, now, spent, caps=self.caps, spent_of_total=of_total
            )
            if isinstance(result, Reservation):
                yield _stored(asked.service, after)
                yield _ADD, asked.service, day, 1, asked.micros
            return result

        return await self._database.transact(reserve())

    async def settle(self, reserved: Reservation, micros: int, *, made: bool = True) -> None:
        """Count *micros* in place of the reserve; one that was not *made* is no call."""
        change = (0 if made else -1, micros - reserved.micros)
        await self._database.fetch(_ADD, reserved.service, reserved.day, *change)

    async def pause(self, service: str, for_s: float, why: str) -> None:
        """Allow no request to *service* for *for_s* seconds; a longer pause stays."""

        def pause() -> Work[None]:
            state, now = yield from _locked(service)
            if now + for_s > state.paused_until:
                yield _stored(service, BudgetState(state.full_at, now + for_s, why))

        await self._database.transact(pause())

    async def resume(self, service: str) -> None:
        """End the pause of *service*: it answers again."""
        await self._database.fetch(_RESUME, service)

    async def by_day(self, days: int) -> tuple[float, Mapping[date, SpentOfDay]]:
        """Return the time, and the spending of all services by day of UTC that has a call.

        Of this month, and of the last *days* days; seconds since 1970, 0 if nothing was ever
        reserved.
        """
        found = await self._database.fetch(NOW)
        if not found:
            return 0.0, {}
        ((now,),) = found
        today = _day_of(now)
        first = min(today.replace(day=1), today - timedelta(days=days - 1))
        rows = await self._database.fetch(_SPENT_BY_DAY, first, today)
        return now, {date.fromisoformat(str(day)): SpentOfDay(*each) for day, *each in rows}

    async def spending(self) -> Sequence[Spending]:
        """Return every service that was ever asked, by name."""
        found = await self._database.fetch(NOW)
        if not found:
            return []  # nothing was ever reserved
        ((now,),) = found
        day = _day_of(now)
        rows = await self._database.fetch(_SPENDING, day.replace(day=1), day)
        return [
            Spending(
                service=service,
                calls_today=calls_today,
                micros_today=micros_today,
                calls_this_month=calls,
                micros_this_month=micros,
                paused_s=max(paused_until - now, 0.0),
                paused_why=why if paused_until > now else "",
            )
            for service, paused_until, why, calls_today, micros_today, calls, micros in rows
        ]


def account_away(error: Exception) -> CallsUnavailable:
    """Return the error to raise when the database of the account fails with *error*."""
    return CallsUnavailable(f"the account of paid services: {error}")


def _locked(service: str) -> Work[tuple[BudgetState, float]]:
    """Lock the row of *service* until the transaction ends; return its state and the time."""
    ((*state, now),) = yield _LOCK, service
    return BudgetState(*state), now


def _stored(service: str, state: BudgetState) -> tuple[object, ...]:
    return _STORE, service, state.full_at, state.paused_until, state.paused_why


class _Unlimited(Budgets):
    def __init__(self) -> None:
        self.caps = NO_TOTAL

    async def reserve(self, asked: ReserveRequest) -> ReserveResult:
        return Reservation(asked.service, date.min, asked.micros)

    async def settle(self, reserved: Reservation, micros: int, *, made: bool = True) -> None:
        pass

    async def pause(self, service: str, for_s: float, why: str) -> None:
        pass

    async def resume(self, service: str) -> None:
        pass

    async def by_day(self, days: int) -> tuple[float, Mapping[date, SpentOfDay]]:
        del days
        return 0.0, {}

    async def spending(self) -> Sequence[Spending]:
        return ()


#: Counts nothing and allows all requests: for a made-up world, and tests of plug-ins.
UNLIMITED: Budgets = _Unlimited()


_SQLITE_SCHEMA = (
    (
        "CREATE TABLE IF NOT EXISTS services (service TEXT PRIMARY KEY, full_at REAL NOT NULL, "
        "paused_until REAL NOT NULL, paused_why TEXT NOT NULL) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE IF NOT EXISTS spending (service TEXT, day TEXT, calls INTEGER NOT NULL, "
        "micros INTEGER NOT NULL, PRIMARY KEY (service, day)) WITHOUT ROWID"
    ),
)
_LOCK = """
INSERT INTO services (service, full_at, paused_until, paused_why) VALUES ($1, 0, 0, '')
ON CONFLICT (service) DO UPDATE SET full_at = services.full_at
RETURNING full_at, paused_until, paused_why, date_part('epoch', clock_timestamp())
"""
_STORE = """
UPDATE services SET full_at = $2, paused_until = $3, paused_why = $4 WHERE service = $1
"""
_RESUME = "UPDATE services SET paused_until = 0, paused_why = '' WHERE service = $1"
_ADD = """
INSERT INTO spending (service, day, calls, micros) VALUES ($1, $2, $3, $4)
ON CONFLICT (service, day) DO UPDATE
SET calls = spending.calls + excluded.calls, micros = spending.micros + excluded.micros
"""
_SPENT = """
SELECT CAST(coalesce(sum(micros) FILTER (WHERE day = $3), 0) AS bigint),
       CAST(coalesce(sum(micros), 0) AS bigint)
FROM spending WHERE service = $1 AND day BETWEEN $2 AND $3
"""
_LOCK_TOTAL = f"SELECT pg_advisory_xact_lock({0x63735370})"
_SPENT_OF_TOTAL = """
SELECT CAST(coalesce(sum(micros) FILTER (WHERE day = $2), 0) AS bigint),
       CAST(coalesce(sum(micros), 0) AS bigint)
FROM spending WHERE day BETWEEN $1 AND $2
"""
_SPENT_BY_DAY = """
SELECT day, CAST(sum(micros) AS bigint),
       CAST(coalesce(max(micros / nullif(calls, 0)), 0) AS bigint)
FROM spending WHERE day BETWEEN $1 AND $2 GROUP BY day
"""
_SPENDING = """
SELECT s.service, s.paused_until, s.paused_why,
       CAST(coalesce(sum(p.calls) FILTER (WHERE p.day = $2), 0) AS bigint),
       CAST(coalesce(sum(p.micros) FILTER (WHERE p.day = $2), 0) AS bigint),
       CAST(coalesce(sum(p.calls), 0) AS bigint),
       CAST(coalesce(sum(p.micros), 0) AS bigint)
FROM services s LEFT JOIN spending p ON p.service = s.service AND p.day BETWEEN $1 AND $2
GROUP BY s.service, s.paused_until, s.paused_why ORDER BY s.service
"""
