"""``cs backup`` and ``cs restore``: the log and its keys, away and back."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from cs.assembly.folder_keys import folder_of
from cs.backup.making import backup_folders, make
from cs.backup.manifest import Manifest
from cs.backup.restoring import restore as bring_back
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, warn
from cs.cli.settings_in_force import settings
from cs.projections.searches import instant
from cs.runtime.clock import SystemClock
from cs.settings import BadSettings, Settings

Backup = Annotated[Path, Parameter(help="Folder of the backup.")]
Keys = Annotated[
    Path | None, Parameter(help="Folder of its keys; DIR/keys if left out. Keep it apart.")
]


def backup(
    directory: Backup,
    /,
    *,
    keys: Keys = None,
    with_master_key: Annotated[
        bool, Parameter(negative="", help="Put the master key beside the keys.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Back up the data folder, beside a running service or without one.

    Of a service in one process; for databases use PostgreSQL's own (docs/many-machines.md).

    The log goes to DIR/log and the keys that open the people in it to DIR/keys, or where
    --keys says: whoever has both and the master key can read everybody, so keep them in
    three places. Both copies are read whole before it says that it is done. The views are
    not in it: they are made anew from the log.

    Example: `cs backup /backup/monday --keys /safe/monday --data-dir /var/lib/cs`
    """
    chosen = _embedded(settings(config, data_dir=data_dir))
    source = folder_of(chosen, make=False)
    at = backup_folders(directory, keys)
    made = asyncio.run(make(source, at, SystemClock().now(), with_master_key=with_master_key))
    if json:
        print_json(_shown(made) | {"log": str(at.log), "keys": str(at.keys)})
    else:
        console.print(
            f"{made.head} events in {at.log}, their keys in {at.keys}: read and whole"
        )
    _warn(made)


def restore(
    directory: Backup,
    /,
    *,
    keys: Keys = None,
    master_key: Annotated[
        tuple[Path, ...],
        Parameter(
            help="File with the master key, if it is not in the backup; both, if it was made "
            "while the master key was changed.",
            negative="",
        ),
    ] = (),
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Bring a backup back into an empty data folder that no service runs on.

    Every file is compared with its checksum and the log is read whole before anything is
    put in its place; if something is wrong, nothing is changed.

    Example: `cs restore /backup/monday --keys /safe/monday --master-key /vault/master.key`
    """
    chosen = _embedded(settings(config, data_dir=data_dir))
    target = folder_of(chosen)
    restored = asyncio.run(bring_back(backup_folders(directory, keys), target, master_key))
    made = restored.manifest
    if json:
        print_json(_shown(made) | {"data_dir": str(target.path)})
    else:
        console.print(
            f"{made.head} events of {instant(made.made_at)} are in {target.path}; "
            "`cs serve` makes the views anew"
        )
    if restored.keys_from != made.backup:
        warn("the keys are of a later backup; whoever was erased meanwhile stays erased")
    _warn(made)


def _embedded(chosen: Settings) -> Settings:
    """Return *chosen*, which are of a service in one process.

    Raises:
        BadSettings: Its data is in databases, and a folder's copy would hold none of it.
    """
    if chosen.postgres is not None:
        raise BadSettings(
            "postgres is set: backup and restore are for a data folder; copy the databases"
            " postgres and keys_postgres, each to a place of its own, with pg_dump"
            " (docs/many-machines.md)"
        )
    return chosen


def _shown(made: Manifest) -> dict[str, Any]:
    return {
        "backup": made.backup,
        "made_at": instant(made.made_at),
        "world": made.world,
        "head": made.head,
        "violations": made.violations,
        "keys_lost": made.keys_lost,
    }


def _warn(made: Manifest) -> None:
    if made.violations:
        warn(f"the log breaks {made.violations} promises; see `cs log verify`")
    if made.keys_lost:
        warn(f"{made.keys_lost} data keys of people are lost; see `cs log verify`")
