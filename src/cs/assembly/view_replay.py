"""Rebuilding the views next to a running service, in a data folder or in databases."""

from collections.abc import Callable

from cs.assembly.folder import open_folder
from cs.assembly.folder_keys import folder_of
from cs.eventlog.port import LogUnavailable
from cs.projections.builds import version_of
from cs.projections.catalogue import projections
from cs.projections.rebuild import NotReplayable, ReplayProgress, ReplaySummary, ViewRebuild
from cs.settings import Settings

Progress = Callable[[ReplayProgress], None]


async def replay_views(
    settings: Settings, *, switch: bool, progress: Progress
) -> ReplaySummary:
    """Rebuild the views of *settings*, compare them, and switch if *switch*.

    Raises:
        DataFolderError: The folder cannot be used, or another process does the same on it.
        NotReplayable: There is nothing to compare with, or another process does the same.
        LogUnavailable: Log, views or keys cannot be used now.
        BadSettings, WrongSchema, WrongMasterKey, DatabaseUnavailable: The databases cannot.
    """
    if settings.postgres is None:
        folder = folder_of(settings, make=False)
        async with open_folder(folder) as data:
            with folder.replaying_views():
                rebuild = ViewRebuild(
                    data.log, data.views, data.keys, projections(), progress=progress
                )
                return await rebuild.run(switch=switch)
    return await _in_databases(settings, switch=switch, progress=progress)


async def _in_databases(
    settings: Settings, *, switch: bool, progress: Progress
) -> ReplaySummary:
    # Imported here: a command on a data folder starts sooner without PostgreSQL's driver.
    from cs.assembly.postgres_stores import open_shared_stores  # noqa: PLC0415
    from cs.postgres.lease import Leader  # noqa: PLC0415
    from cs.postgres.processes import process_name  # noqa: PLC0415

    done: list[ReplaySummary] = []
    async with open_shared_stores(settings, "command") as shared:

        async def work(_epoch: int) -> None:
            rebuild = ViewRebuild(
                shared.log,
                shared.views,
                shared.keys,
                projections(),
                progress=progress,
                pause=lambda _: 0.0,  # others write their own rows meanwhile
            )
            done.append(await rebuild.run(switch=switch))

        lease = f"views anew {version_of(projections())}"
        leader = Leader(shared.pool, lease, process_name(), work)
        if not await leader.lead_once():
            raise NotReplayable(
                "another `cs replay views` works on these databases, or ended less than 4 s "
                "ago; wait until it has ended"
            )
    if not done:
        raise LogUnavailable(
            leader.held or "the lease was lost, or PostgreSQL is away; nothing was changed"
        )
    return done[0]
