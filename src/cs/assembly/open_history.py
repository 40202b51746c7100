"""The history for programs: what `cs events` and its like read, in Python.

``async with open_history("cs-data") as opened`` is all that a notebook needs
(docs/analysts.md).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from cs import settings
from cs.assembly.operator_command import open_command_context
from cs.eventlog.port import EventLog
from cs.history.history import History
from cs.keystore.port import KeyStore


class OpenHistory(msgspec.Struct, frozen=True):
    """A history that can be read.

    Attributes:
        history: Events, states and runs, as of any position.
        log: Where its events are, for what takes a log.
        keys: What opens people, for what takes a key store.
    """

    history: History
    log: EventLog
    keys: KeyStore


@asynccontextmanager
async def open_history(
    data_dir: str | Path | None = None, *, config: str | Path | None = None
) -> AsyncIterator[OpenHistory]:
    """Open the history of a service, next to it while it runs or without one.

    Args:
        data_dir: Its data folder; left out, what the settings say, which may be databases.
        config: A settings file; left out, ``CS_CONFIG``'s.

    Raises:
        BadSettings: A setting is wrong.
        DataFolderError: The folder cannot be used.
        WrongSchema, WrongMasterKey, DatabaseUnavailable: The databases cannot.
    """
    folder = None if data_dir is None else Path(data_dir)
    file = None if config is None else Path(config)
    chosen = settings.load(file, given={"data_dir": folder})
    async with open_command_context(chosen) as context:
        yield OpenHistory(History(context.log), context.log, context.keys)
