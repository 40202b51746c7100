"""Leading a role in as many parts as the settings say."""

from collections.abc import Awaitable, Callable

from cs.assembly.roles.running import lease_holder
from cs.assembly.roles.shared import SharedParts
from cs.postgres.errors import OtherParts
from cs.postgres.part_leaders import PartLeaders
from cs.postgres.work_parts import use_parts
from cs.runtime.part import Part
from cs.settings import BadSettings, Settings


async def part_leaders(
    shared: SharedParts,
    settings: Settings,
    role: str,
    work: Callable[[Part, int], Awaitable[None]],
) -> PartLeaders:
    """Return what does *work* for the parts of *role* that this process is to lead.

    Raises:
        BadSettings: Roles that are at work share it out into another number of parts.
        DatabaseUnavailable: PostgreSQL is away.
    """
    pool = shared.data.pool
    try:
        await use_parts(pool, settings.parts)
    except OtherParts as error:
        raise BadSettings(f"parts: {error}") from error
    return PartLeaders(pool, role, lease_holder(), work, settings.parts, metrics=shared.metrics)
