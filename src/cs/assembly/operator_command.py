"""The data that an operator's command works on, while a service runs or not.

On the data folder of a service in one process, or on the databases that the roles of one
share, as the settings say.
"""

import os
import pwd
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from cs.assembly.folder import clock_of_data, open_folder, paid_call_register, world_of
from cs.assembly.folder_keys import folder_of
from cs.assembly.people_directory import open_directory
from cs.directory.store import PeopleDirectory
from cs.domain.operator_actions import account
from cs.eventlog.port import DamagedEvent, EventLog
from cs.eventlog.streams import Streams
from cs.history.history import History
from cs.keystore.port import KeyStore
from cs.operations.operator import Operator
from cs.paid_calls.register import CallRegister
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.views import Views
from cs.runtime.clock import Clock
from cs.settings import Settings


class CommandContext(msgspec.Struct, frozen=True):
    log: EventLog
    keys: KeyStore
    views: Views
    streams: Streams
    clock: Clock
    by: str | None  # who acts
    #: Paid calls that are remembered; ``None`` where the settings do not say where those are.
    calls: CallRegister | None = None
    #: The operator's own people, as far as erasing goes; ``None`` where the settings do not
    #: say where they are.
    directory_erasure: PeopleDirectory | None = None
    #: The same, whole; ``None`` also where the settings do not name its key.
    directory: PeopleDirectory | None = None

    @property
    def history(self) -> History:
        """Return the events, states and runs, as of any position."""
        return History(self.log)

    @property
    def operator(self) -> Operator:
        """Return the commands on keys, quota, brands and the pause switch."""
        return Operator(self.streams, self.clock, self.by)

    def view_runner(self) -> ViewRunner:
        """Return what brings the views up to date; a service may do the same meanwhile."""
        return ViewRunner(self.log, self.views, self.keys)

    async def reading(self) -> Reading:
        """Bring the views up to date, and return the queries on them."""
        runner = self.view_runner()
        await runner.catch_up()
        return Reading(self.log, self.views, runner, self.keys)


def acting_operator(settings: Settings) -> str | None:
    """Return who acts, for the trail: the setting ``operator``, or else the account.

    An account that became root by sudo is named.  Nothing proves it: an account that may write
    the data may write anything there.
    """
    if settings.operator is not None:
        return account(settings.operator)
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:  # as in many containers
        name = f"uid {uid}"
    before = os.environ.get("SUDO_USER") if uid == 0 else None
    return account(f"{before} as {name}" if before else name)


@asynccontextmanager
async def open_command_context(
    settings: Settings, *, new: bool = False
) -> AsyncIterator[CommandContext]:
    """Open the data of *settings*; streams that are damaged end only what reads them.

    A folder without data is made if *new* is set, otherwise refused: its name was mistyped.
    Databases are those of the live world until the log, once it is read, says otherwise.

    Raises:
        DataFolderError: The folder cannot be used.
        BadSettings, WrongSchema, WrongMasterKey, DatabaseUnavailable: The databases cannot.
    """
    if settings.postgres is None:
        async with (
            open_folder(folder_of(settings, make=new)) as data,
            open_directory(settings) as directory,
            paid_call_register(settings) as calls,
        ):
            yield CommandContext(
                data.log,
                data.keys,
                data.views,
                Streams(data.log, data.snapshots),
                await clock_of_data(data.log, settings.data_dir),
                acting_operator(settings),
                calls,
                directory,
                directory,
            )
    else:
        async with _on_databases(settings) as context:
            yield context


@asynccontextmanager
async def _on_databases(settings: Settings) -> AsyncIterator[CommandContext]:
    # Imported here: a command on a data folder starts sooner without PostgreSQL's driver.
    from cs.assembly.databases import (  # noqa: PLC0415
        open_shared_time,
        open_stages_pool,
        read_key,
        shared_calls,
    )
    from cs.assembly.postgres_stores import open_shared_stores  # noqa: PLC0415
    from cs.directory.postgres import PostgresDirectory  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        shared = await stack.enter_async_context(open_shared_stores(settings, "command"))
        streams = Streams(shared.log, shared.snapshots)
        try:
            world = await world_of(shared.log) or "live"
        except DamagedEvent:
            world = "live"  # the real time, which is right in either (`clock_of_data`)
        pool = None
        if world == "sandbox" or settings.stages_postgres is not None:
            pool = await stack.enter_async_context(open_stages_pool(settings, "command"))
        clock = (await open_shared_time(shared.time, world, pool)).clock
        directory = None
        if pool is not None and settings.stages_key_file is not None:
            key = read_key(settings.stages_key_file, "stages_key_file")
            directory = PostgresDirectory(pool, key)
        yield CommandContext(
            shared.log,
            shared.keys,
            shared.views,
            streams,
            clock,
            acting_operator(settings),
            shared_calls(pool) if pool is not None else None,
            PostgresDirectory(pool) if pool is not None else None,
            directory,
        )
