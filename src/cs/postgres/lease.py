"""Leading: one process at a time does a piece of work, and another takes over in seconds.

A lease is a row with a time by the database's clock.  A process that was only stopped
finds its lease gone when it goes on; what it still writes is fenced by the lease's epoch
(a session's advisory lock would stay with the stopped process).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from structlog import get_logger

from cs.domain.codec import UnknownEvent
from cs.metrics.metrics import Metrics
from cs.postgres.errors import DatabaseUnavailable, Fenced
from cs.postgres.pool import CONNECT_TIMEOUT_S, Pool, translate_errors

log = get_logger()

#: How long a lease lasts after its last renewal.
LASTS_S = 4.0
#: How often it is renewed, and asked for by those who wait.
EVERY_S = 0.5
#: How long a process that met an event of a newer version leaves leading to the others.
RESTS_S = 60.0


class Leader:
    """Does *work* whenever this process leads *name*.

    Args:
        holder: What this process is called, for people.
        work: Called with the epoch; cancelled when the lease is lost.  When it ends by
            itself, or with `Fenced` or `DatabaseUnavailable`, the lease is asked for again;
            with `UnknownEvent` too, but first a process of that version may lead.
        metrics: Where it says whether it leads.
    """

    def __init__(
        self,
        pool: Pool,
        name: str,
        holder: str,
        work: Callable[[int], Awaitable[None]],
        *,
        metrics: Metrics | None = None,
    ) -> None:
        # The views' lease is called by their version, too, which changes with releases.
        label = name.partition(" ")[0]
        leads = (metrics or Metrics()).leases_held
        leads.measure(lambda: self.epoch is not None, label)
        self._pool = pool
        self.name = name
        self._holder = holder
        self._work = work
        self.held: str | None = None  # why it cannot lead
        self.epoch: int | None = None  # None: another leads

    async def run(self) -> None:
        """Lead or wait to lead, until cancelled.

        Raises:
            Exception: What the work raised.
        """
        while True:
            epoch = await self._take()
            if epoch is None:
                await asyncio.sleep(EVERY_S)
            else:
                log.info("leads", what=self.name, epoch=epoch)
                await self._lead(epoch)
                if self.held is not None:
                    await asyncio.sleep(RESTS_S)

    async def lead_once(self) -> bool:
        """Do the work once; return whether no other led when it began.

        The lease may be lost before the work is done.

        Raises:
            Exception: As `run`.
        """
        epoch = await self._take()
        if epoch is None:
            return False
        await self._lead(epoch)
        return True

    async def _take(self) -> int | None:
        try:
            return await self._ask(_TAKE, self.name, self._holder, LASTS_S)
        except DatabaseUnavailable as error:
            log.warning("lease_not_taken", what=self.name, why=str(error))
            return None

    async def _lead(self, epoch: int) -> None:
        self.epoch = epoch
        work = asyncio.ensure_future(self._work(epoch))
        renewing = asyncio.create_task(self._keep(epoch), name=f"lease-{self.name}")
        try:
            await asyncio.wait([work, renewing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.epoch = None
            for task in (work, renewing):
                task.cancel()
            await asyncio.gather(work, renewing, return_exceptions=True)
            await self._give_back(epoch)
        if not work.cancelled() and (error := work.exception()) is not None:
            if isinstance(error, UnknownEvent):
                self.held = str(error)
                log.error("held_at_newer_event", who=self.name, why=self.held)
                return
            if not isinstance(error, Fenced | DatabaseUnavailable):
                raise error
            log.warning("stopped_leading", what=self.name, why=str(error))
        self.held = None

    async def _keep(self, epoch: int) -> None:
        """Renew the lease; return when it is lost."""
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(EVERY_S)
            asked = time.monotonic()
            left = LASTS_S - (asked - renewed)
            try:
                async with asyncio.timeout(left):
                    if await self._ask(_RENEW, self.name, epoch, LASTS_S) is None:
                        log.warning("lease_lost", what=self.name, epoch=epoch)
                        return
            except TimeoutError:
                log.warning("lease_ran_out", what=self.name, epoch=epoch)
                return
            except DatabaseUnavailable as error:
                log.warning("lease_not_renewed", what=self.name, why=str(error))
            else:
                renewed = asked
                self.held = None  # it got past what held it before

    async def _give_back(self, epoch: int) -> None:
        try:
            async with asyncio.timeout(1):
                await self._ask(_GIVE_BACK, self.name, epoch)
        except (DatabaseUnavailable, TimeoutError):
            pass  # it runs out by itself

    async def _ask(self, statement: str, *values: object) -> int | None:
        with translate_errors():
            found: int | None = await self._pool.fetchval(
                statement, *values, timeout=CONNECT_TIMEOUT_S
            )
        return found


_TAKE = """
INSERT INTO leases (name, holder, epoch, until)
VALUES ($1, $2, 1, clock_timestamp() + $3 * interval '1 second')
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, epoch = leases.epoch + 1, until = excluded.until
WHERE leases.until < clock_timestamp()
RETURNING epoch
"""
_RENEW = """
UPDATE leases SET until = clock_timestamp() + $3 * interval '1 second'
WHERE name = $1 AND epoch = $2
RETURNING epoch
"""
_GIVE_BACK = "UPDATE leases SET until = '-infinity' WHERE name = $1 AND epoch = $2 RETURNING 1"


class Checkpoint:
    """The position of one leader, for the next one to go on from."""

    def __init__(self, pool: Pool, name: str, epoch: int) -> None:
        self._pool = pool
        self._name = name
        self._epoch = epoch

    async def load(self) -> int:
        """Return the position saved, 0 if none is; earlier leaders can save none from now.

        Raises:
            Fenced: A later leader has been here.
            DatabaseUnavailable: PostgreSQL is away.
        """
        return await self._run(_LOAD, self._name, self._epoch)

    async def save(self, position: int) -> None:
        """Save *position*; a lower one than what is saved changes nothing.

        Raises:
            Fenced: A later leader has been here.
            DatabaseUnavailable: PostgreSQL is away.
        """
        await self._run(_SAVE, self._name, self._epoch, position)

    async def _run(self, statement: str, *values: object) -> int:
        with translate_errors():
            position: int | None = await self._pool.fetchval(statement, *values)
        if position is None:
            raise Fenced(f"{self._name}: a later leader than number {self._epoch} is at work")
        return position


_LOAD = """
INSERT INTO checkpoints (name, position, epoch) VALUES ($1, 0, $2)
ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch
WHERE checkpoints.epoch <= excluded.epoch
RETURNING position
"""
_SAVE = """
UPDATE checkpoints SET position = GREATEST(position, $3)
WHERE name = $1 AND epoch = $2
RETURNING position
"""
