"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Config = Annotated[Path | None, Parameter(help="Settings file (TOML); else CS_CONFIG's.")]
DataDir = Annotated[Path | None, Parameter(help="Folder of the service's data.")]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON.")]
DryRun = Annotated[
    bool, Parameter(negative="", help="Only say what would change; write nothing.")
]
