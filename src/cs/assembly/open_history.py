"""The history for programs: what `cs events` and its like read, in Python.

``async with open_history("cs-data") as opened`` is all that a notebook needs
(docs/analysts.md).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cs import settings
from cs.assembly.operator_command import CommandContext, open_command_context


@asynccontextmanager
async def open_history(
    data_dir: str | Path | None = None, *, config: str | Path | None = None
) -> AsyncIterator[CommandContext]:
    """Open the data of a service, next to it while it runs or without one.

    What it was and did, as of any position, is in ``history``.

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
        yield context
