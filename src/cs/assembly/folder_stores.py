"""The stores of a service in one process: the SQLite files in its data folder."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from cs.assembly.folder_advice import OF_DAMAGE, advice
from cs.assembly.folder_keys import describe_wrong_key, open_key_store
from cs.assembly.monitored_keys import MonitoredKeyStore
from cs.eventlog.errors import DamagedEvent, LogUnavailable
from cs.eventlog.snapshots import Snapshots
from cs.eventlog.sqlite.file import LogFile
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.eventlog.sqlite.recorder import FAILED
from cs.keystore.errors import WrongMasterKey
from cs.keystore.port import KeyStore
from cs.metrics.metrics import Metrics
from cs.projections.catalogue import projections
from cs.projections.sqlite.views import SqliteViews
from cs.runtime.data_folder import DataFolder, DataFolderError
from cs.sqlite.database import LOCK_TIMEOUT_S
from cs.sqlite.errors import describe


class FolderStores(msgspec.Struct, frozen=True):
    """What a data folder holds, open."""

    log: SqliteEventLog
    keys: KeyStore
    views: SqliteViews
    snapshots: Snapshots


@asynccontextmanager
async def open_folder(
    folder: DataFolder,
    *,
    appends_waiting: int | None = None,
    lock_timeout_s: int = LOCK_TIMEOUT_S,
    metrics: Metrics | None = None,
) -> AsyncIterator[FolderStores]:
    """Open what is in *folder*, beside a running service or without one.

    Args:
        folder: Where the files are.
        appends_waiting: Appends that may wait to be written; one more is `LogUnavailable`.
        lock_timeout_s: How long to wait for another process's transaction.
        metrics: Where appends and data keys are counted.

    Raises:
        DataFolderError: It cannot be used, now or while it is open, or the keys are not
            those of the log.  The message says why and what to do.
    """
    try:
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(
                open_key_store(folder, lock_timeout_s=lock_timeout_s, metrics=metrics)
            )
            file = LogFile(folder.data_keys)
            file.opened()
            keys = MonitoredKeyStore(store, file)
            events = await stack.enter_async_context(
                SqliteEventLog(
                    folder.log,
                    keys,
                    waiting=appends_waiting,
                    lock_timeout_s=lock_timeout_s,
                    metrics=metrics,
                )
            )
            snapshots = await stack.enter_async_context(Snapshots.in_file(folder.log))
            views = SqliteViews(folder.views, projections())
            stack.push_async_callback(views.close)
            yield FolderStores(events, keys, views, snapshots)
    except DamagedEvent as damaged:
        raise DataFolderError(f"{damaged}, in {folder.path}: {OF_DAMAGE}") from damaged
    except (WrongMasterKey, LogUnavailable, *FAILED) as error:
        if isinstance(error, WrongMasterKey) and not folder.own_master_key:
            raise DataFolderError(describe_wrong_key(folder, error)) from error
        raise DataFolderError(
            f"the data in {folder.path} cannot be used: {describe(error)}; "
            f"{advice(error, folder.path)}"
        ) from error
