"""The settings that a command runs with.

Not in `cs.cli.options`: a command that calls a service has options and no settings, and
starts sooner without what checks them.
"""

from pathlib import Path
from typing import Any

from cs import settings as all_settings
from cs.settings import Settings


def settings(config: Path | None = None, **given: Any) -> Settings:
    """Return the settings in force: of the file *config*, the environment, options *given*.

    Raises:
        BadSettings: Shown to the user by `cs.cli.app`.
    """
    return all_settings.load(config, given=given)
