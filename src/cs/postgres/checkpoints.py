"""How far a leader has come in the log, fenced by its lease's epoch."""

from cs.postgres.errors import Fenced
from cs.postgres.pool import Pool, translate_errors


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
