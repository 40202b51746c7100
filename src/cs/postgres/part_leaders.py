"""Leading in parts: the processes of a role share its parts out among themselves.

Each part has a lease of its own.  Every process says twice a second that it is there, and leads
no more parts than its share of them, rounded up; what it has beyond that it gives up, and one
that has fewer takes it within half a second.  One that dies is not counted after four seconds,
when its leases have run out, too.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from structlog import get_logger

from cs.metrics.metrics import Metrics
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.lease import EVERY_S, LASTS_S, Leader
from cs.postgres.pool import CONNECT_TIMEOUT_S, Pool, translate_errors
from cs.runtime.part import Part, all_parts

log = get_logger()


class PartLeaders:
    """Does *work* for every part of *role* that this process leads.

    A role that is not shared out has one part, and one lease with the role's name.

    Args:
        holder: What this process is called, for people.
        work: Called with a part and the epoch of its lease; ends as that of a `Leader` does.
        parts: How many there are, as `cs.postgres.work_parts.use_parts` was told.
        metrics: Where it says which it leads.
    """

    def __init__(
        self,
        pool: Pool,
        role: str,
        holder: str,
        work: Callable[[Part, int], Awaitable[None]],
        parts: int,
        *,
        lasts_s: float = LASTS_S,
        every_s: float = EVERY_S,
        metrics: Metrics | None = None,
    ) -> None:
        self._pool = pool
        self._role = role
        self._parts = parts
        self._member = f"{holder} {secrets.token_hex(4)}"
        self._lasts_s = lasts_s
        self._every_s = every_s
        self._number_is_other: str | None = None
        #: How many it may lead; those of many parts not before it has said that it is there.
        self.share = 1 if parts == 1 else 0
        self.turn = asyncio.Lock()
        self._leaders = {
            part: _PartLeader(
                self,
                pool,
                part.lease(role),
                holder,
                partial(work, part),
                lasts_s=lasts_s,
                every_s=every_s,
                metrics=metrics,
            )
            for part in all_parts(parts)
        }

    @property
    def epoch(self) -> int | None:
        """The newest lease that it holds; ``None``: it leads no part."""
        return max((each.epoch for each in self._led()), default=None, key=lambda at: at or 0)

    @property
    def held(self) -> str | None:
        """Why it cannot lead."""
        held = (leader.held for leader in self._leaders.values())
        return self._number_is_other or next((why for why in held if why is not None), None)

    @property
    def parts(self) -> Sequence[str]:
        """The parts it leads, as ``2/4``; none where the role is not shared out."""
        return [
            str(part)
            for part, leader in self._leaders.items()
            if part.of > 1 and leader.epoch is not None
        ]

    @property
    def number(self) -> int:
        """Into how many parts the role is shared out."""
        return self._parts

    def may_take(self) -> bool:
        return len(self._led()) < self.share

    async def run(self) -> None:
        """Lead its share of the parts, or wait to, until cancelled.

        Raises:
            Exception: What the work raised.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                for leader in self._leaders.values():
                    tasks.create_task(leader.run())
                tasks.create_task(self._keep_share(), name=f"share-{self._role}")
        finally:
            await self._leave()

    def _led(self) -> list["_PartLeader"]:
        return [leader for leader in self._leaders.values() if leader.epoch is not None]

    async def _keep_share(self) -> None:
        while True:
            with suppress(DatabaseUnavailable):  # the leases say so
                await self._look()
            for leader in self._led()[self.share :]:
                log.info("part_given_up", what=leader.name, share=self.share)
                leader.give_up()
            await asyncio.sleep(self._every_s)

    async def _look(self) -> None:
        """Say that this process is there, and find out what its share is."""
        if self._parts > 1 and self.held is None:  # who cannot lead leaves it to the others
            members = await self._ask(_JOIN, self._role, self._member, self._lasts_s)
            self.share = -(-self._parts // max(1, members or 0))
        if not self._led():
            number = await self._ask("SELECT number FROM parts")
            other = f"parts is {self._parts} here, and {number} on this database by now"
            self._number_is_other = None if number == self._parts else other

    async def _leave(self) -> None:
        if self._parts == 1:
            return
        with suppress(DatabaseUnavailable, TimeoutError):  # it runs out by itself
            async with asyncio.timeout(1):
                await self._ask(_LEAVE, self._role, self._member)

    async def _ask(self, statement: str, *values: object) -> int | None:
        with translate_errors():
            found: int | None = await self._pool.fetchval(
                statement, *values, timeout=CONNECT_TIMEOUT_S
            )
        return found


class _PartLeader(Leader):
    """Leads one part, as long as that is within the share of its process."""

    def __init__(
        self,
        group: PartLeaders,
        pool: Pool,
        name: str,
        holder: str,
        work: Callable[[int], Awaitable[None]],
        *,
        lasts_s: float,
        every_s: float,
        metrics: Metrics | None,
    ) -> None:
        super().__init__(
            pool, name, holder, work, lasts_s=lasts_s, every_s=every_s, metrics=metrics
        )
        self._group = group

    async def _take(self) -> int | None:
        async with self._group.turn:  # none takes one while another does: they count
            if not self._group.may_take():
                return None
            self.epoch = await super()._take()
            return self.epoch

    async def _ask_to_lead(self) -> int | None:
        values = (self.name, self._holder, self._lasts_s, self._group.number)
        return await self._ask(_TAKE_PART, *values)

    async def _ask_to_renew(self, epoch: int) -> int | None:
        values = (self.name, epoch, self._lasts_s, self._group.number)
        return await self._ask(_RENEW_PART, *values)


_JOIN = """
WITH ended AS (
    DELETE FROM part_members WHERE role = $1 AND until < clock_timestamp()
)
INSERT INTO part_members (role, member, until)
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second')
ON CONFLICT (role, member) DO UPDATE SET until = excluded.until
RETURNING (
    SELECT count(*) FROM part_members AS other
    WHERE other.role = $1 AND other.member <> $2 AND other.until > clock_timestamp()
) + 1
"""
_LEAVE = "DELETE FROM part_members WHERE role = $1 AND member = $2"
#: As `cs.postgres.lease` takes one, where the parts are as many as this process thinks.
_TAKE_PART = """
INSERT INTO leases (name, holder, epoch, until)
SELECT $1, $2, 1, clock_timestamp() + $3 * interval '1 second'
FROM parts WHERE number = $4 FOR SHARE
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, epoch = leases.epoch + 1, until = excluded.until
WHERE leases.until < clock_timestamp()
RETURNING epoch
"""
#: One that ran out, with nobody to take it under the new number, stays so.
_RENEW_PART = """
UPDATE leases SET until = clock_timestamp() + $3 * interval '1 second'
WHERE name = $1 AND epoch = $2 AND EXISTS (SELECT FROM parts WHERE number = $4 FOR SHARE)
RETURNING epoch
"""
