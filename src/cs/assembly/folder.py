"""A data folder of a service in one process: its stores, its clock and its paid calls."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.folder_keys import (
    OF_DAMAGE,
    advice,
    describe_wrong_key,
    open_key_store,
    stored_secret,
)
from cs.assembly.monitored_keys import MonitoredKeyStore
from cs.assembly.process_manager import Stores
from cs.domain.service import World, WorldChosen
from cs.eventlog.port import NO_STREAM, DamagedEvent, EventLog, LogUnavailable
from cs.eventlog.snapshots import Snapshots
from cs.eventlog.sqlite import FAILED, LogFile, SqliteEventLog
from cs.keystore.port import KeysUnavailable, WrongMasterKey
from cs.keystore.recovery import JournalUnavailable
from cs.keystore.wrapping import PAID_CALLS
from cs.metrics.metrics import Metrics
from cs.paid_calls.register import CallRegister, PaidCalls, forget_expired_calls
from cs.projections.catalogue import projections
from cs.projections.sqlite import sqlite_views
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolder, DataFolderError
from cs.settings import Settings
from cs.sqlite.database import describe

#: In the data folder of a sandbox whose clock was moved: by how many seconds.
CLOCK_FILE = "clock"
#: Paid calls of the last hour; can be deleted while the service is stopped, and then those of
#: running searches may be made again.
CALLS_FILE = "calls.db"


@asynccontextmanager
async def open_folder(
    folder: DataFolder,
    *,
    appends_waiting: int | None = None,
    metrics: Metrics | None = None,
) -> AsyncIterator[Stores]:
    """Open what is in *folder*, next to a running service or without one.

    Args:
        folder: Where the files are.
        appends_waiting: Appends that may wait to be written; one more is `LogUnavailable`.
        metrics: Where appends and data keys are counted.

    Raises:
        DataFolderError: It cannot be used, now or while it is open, or the keys are not
            those of the log.  The message says why and what to do.
    """
    try:
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(open_key_store(folder, metrics=metrics))
            file = LogFile(folder.data_keys)
            file.opened()
            keys = MonitoredKeyStore(store, file)
            events = await stack.enter_async_context(
                SqliteEventLog(
                    folder.log,
                    keys,
                    waiting=appends_waiting,
                    metrics=metrics,
                )
            )
            snapshots = await stack.enter_async_context(Snapshots.in_file(folder.log))
            views = sqlite_views(folder.views, projections())
            stack.push_async_callback(views.close)
            yield Stores(events, keys, views, snapshots, events.check_writes)
    except DamagedEvent as damaged:
        raise DataFolderError(f"{damaged}, in {folder.path}: {OF_DAMAGE}") from damaged
    except (WrongMasterKey, KeysUnavailable, LogUnavailable, *FAILED) as error:
        for journal in (error, error.__cause__):  # which is not in the folder
            if isinstance(journal, JournalUnavailable):
                raise DataFolderError(f"{journal}; nothing was changed") from error
        if isinstance(error, WrongMasterKey) and not folder.own_master_key:
            raise DataFolderError(describe_wrong_key(folder, error)) from error
        why = describe(error) if isinstance(error, FAILED) else str(error)
        raise DataFolderError(
            f"the data in {folder.path} cannot be used: {why}; {advice(error, folder.path)}"
        ) from error


def sandbox_clock(data_dir: Path) -> SandboxClock:
    """Return the clock of the sandbox service on *data_dir*, which may not exist yet.

    Raises:
        DataFolderError: The file that says how far it was moved is damaged.
    """
    return SandboxClock.on_file(data_dir / CLOCK_FILE)


async def clock_of_data(log: EventLog, data_dir: Path) -> Clock:
    """Return the clock of the service on *data_dir*, for a command that runs next to it.

    If *log* is too damaged to say whether it is a sandbox's, that is the machine's: an event
    is never stored with a time before those of its stream, and never with one yet to come.

    Raises:
        DataFolderError: The clock was moved and the data is not a sandbox's.
    """
    if not (data_dir / CLOCK_FILE).exists():
        return SystemClock()
    try:
        world = await world_of(log)
    except DamagedEvent:
        return SystemClock()
    check_clock(data_dir, world)
    return sandbox_clock(data_dir)


def check_clock(data_dir: Path, world: World | None) -> None:
    """Pass if the clock of *data_dir* was not moved, or may be in *world*.

    Raises:
        DataFolderError: It was moved, and *world* is not the sandbox's.
    """
    file = data_dir / CLOCK_FILE
    if world != "sandbox" and file.exists():
        raise DataFolderError(
            f"{file} moves the clock, which only a sandbox may; delete it, or name another "
            "folder with --data-dir"
        )


async def world_of(log: EventLog) -> World | None:
    """Return the world of *log*, ``None`` if no service has run on it yet.

    The first event of the stream says it, for good, and is the only one that is read.

    Raises:
        DamagedEvent: That one is damaged.
        LogUnavailable: It cannot be read now.
    """
    for recorded in await log.read("service", NO_STREAM, 1):
        if isinstance(recorded.event, WorldChosen):
            return recorded.event.world
    return None


def paid_call_register(settings: Settings) -> CallRegister:
    """Return the paid calls remembered in the data folder; the first call makes the file."""
    file = settings.data_dir / CALLS_FILE
    return CallRegister.in_file(file, partial(stored_secret, settings, PAID_CALLS))


@asynccontextmanager
async def open_paid_calls(
    settings: Settings, metrics: Metrics | None = None
) -> AsyncIterator[PaidCalls]:
    """Yield what makes paid calls, and remembers them in the data folder of *settings*."""
    async with paid_call_register(settings) as calls, forget_expired_calls(calls):
        yield PaidCalls(calls, metrics=metrics)
