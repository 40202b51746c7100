"""The processes of a service over several processes, as its databases know them."""

from collections.abc import Mapping, Sequence

import msgspec

from cs.assembly.databases import open_stages_pool, pool_of
from cs.domain.service import World
from cs.domain.stages.table import STAGES
from cs.postgres.cluster_state import LeaseState, read_cluster
from cs.postgres.processes import ProcessState, read_processes
from cs.projections.builds import version_of
from cs.projections.catalogue import projections
from cs.settings import Settings

#: Roles without any of which no search ends.
HOLDING = ("api", "relay", "process-manager", "project")


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """The state of every process.

    Attributes:
        processes: Those that reported themselves within a day, and did not leave.
        missing: Roles of which no process has reported itself lately.
        leases: By what is led; of the views those of this version.
        relayed: The position in the log up to which work is relayed.
        stages_known: Whether the settings name the database that stages report to.
    """

    processes: Sequence[ProcessState]
    missing: Sequence[str]
    leases: Mapping[str, LeaseState]
    relayed: int
    stages_known: bool

    @property
    def unwell(self) -> Sequence[ProcessState]:
        """Processes that are not ready, or are silent."""
        return [each for each in self.processes if each.silent or not each.ready]


def leases() -> Mapping[str, str]:
    """Return the leases of this version in the database, by what is led."""
    return {"relay": "relay", "driver": "driver", "views": f"views {version_of(projections())}"}


async def view_cluster(settings: Settings, world: World) -> ClusterView:
    """Return the state of the processes that share the databases of *settings*.

    Raises:
        BadSettings: An address is wrong.
        WrongSchema: A database is not of this version.
        DatabaseUnavailable: A database cannot be reached.
    """
    async with pool_of(settings, "postgres", "command", world) as pool:
        state, processes = await read_cluster(pool), [*await read_processes(pool)]
    wanted = [*HOLDING]
    if settings.stages_postgres is not None:
        async with open_stages_pool(settings, "command", world) as pool:
            processes += await read_processes(pool)
        wanted += [f"stage {name}" for name in STAGES]
    running = {each.role for each in processes if not each.silent}
    nothing = LeaseState(holder="", epoch=0, taken=False)
    return ClusterView(
        processes=processes,
        missing=[role for role in wanted if role not in running],
        leases={label: state.leases.get(name, nothing) for label, name in leases().items()},
        relayed=state.checkpoints.get("relay", 0),
        stages_known=settings.stages_postgres is not None,
    )
