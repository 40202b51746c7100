"""The state of a cluster as stored in its database, which any of its processes can read."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from cs.postgres.pool import Pool, connected


class LeaseState(msgspec.Struct, frozen=True):
    """A lease as stored.

    Attributes:
        taken: Whether its holder leads now, by the database's clock.
    """

    holder: str
    epoch: int
    taken: bool


class ClusterState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the cluster.

    Attributes:
        leases: By what is led.
        checkpoints: Positions in the log up to which a leader is done, by its name.
        bytes: Size of the database.
        archived_at: When its write-ahead log was last archived; ``None``: never.
    """

    leases: Mapping[str, LeaseState]
    checkpoints: Mapping[str, int]
    bytes: int
    archived_at: datetime | None


async def read_cluster(pool: Pool) -> ClusterState:
    """Return the state of the cluster.

    Raises:
        DatabaseUnavailable: PostgreSQL is away.
    """
    async with connected(pool) as connection:
        leases = await connection.fetch(_LEASES)
        positions = await connection.fetch("SELECT name, position FROM checkpoints")
        database = await connection.fetchrow(_DATABASE)
    assert database is not None, "an aggregate has one row"
    return ClusterState(
        leases={name: LeaseState(*rest) for name, *rest in leases},
        checkpoints={row["name"]: row["position"] for row in positions},
        bytes=database["bytes"],
        archived_at=database["archived_at"],
    )


_LEASES = "SELECT name, holder, epoch, until > clock_timestamp() FROM leases ORDER BY name"
_DATABASE = """
SELECT pg_database_size(current_database()) AS bytes,
    (SELECT last_archived_time FROM pg_stat_archiver) AS archived_at
"""
