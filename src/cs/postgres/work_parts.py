"""In how many parts the roles of one service share their work out: one number for all.

A role that leads takes a lease for each part.  The number is changed by the first role that
starts with another one while no part is led, and from then on no lease of the old number can be
taken or renewed; so nothing is ever led under two numbers.
"""

from collections.abc import Sequence

from cs.postgres.errors import OtherParts
from cs.postgres.pool import Pool, PooledConnection, translate_errors
from cs.runtime.part import all_parts

#: The roles that are shared out, and which of them keep a checkpoint for each part.
SHARED_OUT = ("driver", "relay")
WITH_CHECKPOINT = ("relay",)


async def use_parts(pool: Pool, number: int) -> None:
    """Have the roles of this database work in *number* parts from now on.

    Each new part goes on from where the last of the old ones is: what others had reached
    beyond is done twice, which all that is shared out allows.

    Raises:
        OtherParts: Roles that are at work share it out into another number.
        DatabaseUnavailable: PostgreSQL is away.
    """
    with translate_errors():
        async with pool.acquire() as connection, connection.transaction():
            before = await connection.fetchval("SELECT number FROM parts FOR UPDATE")
            if before == number:
                return
            await _pass_if_idle(connection, before, number)
            for role in WITH_CHECKPOINT:
                await _carry_over(connection, role, before, number)
            await connection.execute("UPDATE parts SET number = $1", number)


async def check_parts(connection: PooledConnection, number: int) -> None:
    """Pass if roles could work in *number* parts; nothing is changed.

    Raises:
        OtherParts: As `use_parts` does.
    """
    before = await connection.fetchval("SELECT number FROM parts")
    if before != number:
        await _pass_if_idle(connection, before, number)


async def _pass_if_idle(connection: PooledConnection, before: int, number: int) -> None:
    held = await connection.fetch(_HELD, _leases(SHARED_OUT, before))
    if held:
        who = ", ".join(f"{row['holder']} has {row['name']}" for row in held)
        raise OtherParts(
            f"{number} here, but roles that work on this database have {before} ({who}): "
            f"set {before}, or stop every relay and process manager before you change it"
        )


async def _carry_over(
    connection: PooledConnection, role: str, before: int, number: int
) -> None:
    was, becomes = _leases([role], before), _leases([role], number)
    position = await connection.fetchval(_LOWEST, was)
    await connection.executemany(_BEGIN_AT, [(name, position) for name in becomes])
    # Whoever still leads under the old number is fenced.  Without a row it would begin anew.
    await connection.executemany(_CLOSE, [(name, position) for name in was])


def _leases(roles: Sequence[str], number: int) -> list[str]:
    return [part.lease(role) for role in roles for part in all_parts(number)]


_HELD = """
SELECT name, holder FROM leases WHERE name = ANY($1) AND until > clock_timestamp()
ORDER BY name
"""
_LOWEST = "SELECT COALESCE(min(position), 0) FROM checkpoints WHERE name = ANY($1)"
_BEGIN_AT = """
INSERT INTO checkpoints (name, position, epoch) VALUES ($1, $2, 0)
ON CONFLICT (name) DO UPDATE SET position = excluded.position, epoch = 0
"""
#: No lease has a later epoch.
_CLOSE = """
INSERT INTO checkpoints (name, position, epoch) VALUES ($1, $2, 9223372036854775807)
ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch
"""
