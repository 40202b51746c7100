"""Options that several commands share, and the settings they make."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from cs import settings as all_settings
from cs.settings import Settings

Config = Annotated[Path | None, Parameter(help="Settings file (TOML); else CS_CONFIG's.")]
DataDir = Annotated[Path | None, Parameter(help="Folder of the service's data.")]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON.")]


def settings(config: Path | None = None, **given: Any) -> Settings:
    """Return the settings in force.

    Raises:
        BadSettings: Told to the user by `cs.cli.app`.
    """
    return all_settings.load(config, given=given)
