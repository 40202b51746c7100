"""How far a leader has come in the log, fenced by its lease's epoch."""

from cs.postgres.errors import Fenced
from cs.postgres.pool import Pool, translate_errors


class Checkpoint:
    """The position of one leader, kept from one to the next."""

    def __init__(self, pool: Pool, name: str, epoch: int) -> None:
        self._pool = pool
        self._name = name
        self._epoch = epoch

    async def load(self) -> int:
        """Return the position kept, 0 if none is; earlier leaders can keep none from now.

        Raises:
            Fenced: A later leader has been here.
            DatabaseUnavailable: PostgreSQL is away.
        """
        return await self._ask(_LOAD, self._name, self._epoch)

    async def keep(self, position: int) -> None:
        """Keep *position*; a lower one than what is kept changes nothing.

        Raises:
            Fenced: A later leader has been here.
            DatabaseUnavailable: PostgreSQL is away.
        """
        await self._ask(_KEEP, self._name, self._epoch, position)

    async def _ask(self, statement: str, *values: object) -> int:
        with translate_errors():
            found: int | None = await self._pool.fetchval(statement, *values)
        if found is None:
            raise Fenced(f"{self._name}: a later leader than number {self._epoch} is at work")
        return found


_LOAD = """
INSERT INTO checkpoints (name, position, epoch) VALUES ($1, 0, $2)
ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch
WHERE checkpoints.epoch <= excluded.epoch
RETURNING position
"""
_KEEP = """
UPDATE checkpoints SET position = GREATEST(position, $3)
WHERE name = $1 AND epoch = $2
RETURNING position
"""
