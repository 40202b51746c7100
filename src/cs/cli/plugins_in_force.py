"""The plug-ins that a command asks with, their calls counted beside those of the service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cs.assembly.plugins import StagePlugins, open_plugins
from cs.assembly.service_budgets import open_budgets
from cs.cli.settings_in_force import settings


@asynccontextmanager
async def plugins_in_force(config: Path | None) -> AsyncIterator[StagePlugins]:
    """Yield the plug-ins of the settings in *config* and the environment.

    Raises:
        BadSettings: A plug-in that is named is not there, or cannot be used.
    """
    chosen = settings(config)
    async with open_budgets(chosen) as budgets, open_plugins(chosen, budgets=budgets) as tools:
        yield tools
