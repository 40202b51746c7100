"""Data keys in a PostgreSQL database of their own.

It is reached by a DSN that only the roles that open personal values have.
"""

from collections.abc import Sequence
from pathlib import Path

from cs.keystore.port import KeysUnavailable
from cs.keystore.store import StoredKeys
from cs.keystore.wrapping import MasterKeys
from cs.metrics.metrics import Metrics
from cs.postgres.pool import Pool
from cs.postgres.sql import PostgresDatabase
from cs.runtime.sql import Rows


class PostgresKeyStore(StoredKeys):
    """The keys in the database behind *pool*, which its owner closes."""

    def __init__(
        self,
        pool: Pool,
        master: bytes | MasterKeys,
        metrics: Metrics | None = None,
        journal: Path | None = None,
    ) -> None:
        database = PostgresDatabase(pool, _away)
        super().__init__(database, master, "the key store's database", metrics, journal)

    async def _index(
        self, entries: Sequence[tuple[str, str]], names: Sequence[str]
    ) -> tuple[Sequence[str], Rows]:
        # One statement instead of eight: an append waits for it (migration 0005).
        prints, of = zip(*entries, strict=True)
        found = await self._database.fetch(_INDEX, prints, of, list(names))
        destroyed = sorted({name for name, _, part in found if part is not None})
        return destroyed, [row[:2] for row in found if row[2] is None]


def _away(error: Exception) -> KeysUnavailable:
    return KeysUnavailable(f"the key store: {error}")


_INDEX = "SELECT name, wrapped, part FROM index_people($1::text[], $2::text[], $3::text[])"
