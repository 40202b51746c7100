"""Options that several commands share, and what a number or a time may be."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Config = Annotated[Path | None, Parameter(help="Settings file (TOML); else CS_CONFIG's.")]
DataDir = Annotated[Path | None, Parameter(help="Folder of the service's data.")]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON.")]
Csv = Annotated[bool, Parameter(name="--csv", negative="", help="Print CSV.")]
DryRun = Annotated[
    bool, Parameter(negative="", help="Only say what would change; write nothing.")
]


def number(least: int, most: int, help_line: str) -> Parameter:
    """Return the parameter of a whole number from *least* to *most*."""

    def check(_: object, value: int | None) -> None:
        if value is not None and not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most}, not {value}")

    return Parameter(help=help_line, validator=check)


@Parameter(name="*")
@dataclass(frozen=True)
class Server:
    """The options of a command that calls a server."""

    patience: Annotated[
        int, number(0, 10**9, "Longest wait for a limit or an unwell server, in s.")
    ] = 65
    key: Annotated[
        str, Parameter(env_var="CS_API_KEY", help="API key (CS_API_KEY).", show_default=False)
    ] = ""
    url: Annotated[
        str, Parameter(env_var="CS_URL", help="Base address, with the version (CS_URL).")
    ] = "http://127.0.0.1:8080/v1"
