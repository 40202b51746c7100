"""``cs backup`` and ``cs restore``: a copy of the log and its keys, and its way back."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter, validators

from cs.assembly.folder_keys import folder_of
from cs.assembly.master_key import change, versions
from cs.assembly.person_requests import PersonRequests
from cs.backup import Manifest, backup_folders, make
from cs.backup import restore as bring_back
from cs.cli.command import DryRun, Invocation, Output, on_data
from cs.cli.output import Progress, Table, facts, warn
from cs.eventlog.port import DamagedEvent
from cs.operations.restored import Missing, begin_epoch, missing, neighbours_ahead
from cs.projections.searches import instant
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import LAST_BACKUP
from cs.runtime.private_files import DeletedDataRemains
from cs.settings import BadSettings, Settings

Backup = Annotated[Path, Parameter(help="Folder of the backup.")]
_NEXT = "`cs serve` rebuilds the views"
#: Lines of what is missing that are printed.
_SHOWN = 50
Keys = Annotated[
    Path | None, Parameter(help="Folder of its keys; DIR/keys if left out. Keep it apart.")
]


backup = App(name="backup")


@backup.default
@on_data
async def _backup(
    at: Invocation,
    directory: Backup,
    /,
    *,
    keys: Keys = None,
    with_master_key: Annotated[
        bool, Parameter(help="Put the master key next to the keys.")
    ] = False,
) -> Output:
    """Back up the data folder, next to a running service or without one.

    For a service in one process; for databases use PostgreSQL's own (docs/deploy.md).

    The log goes to DIR/log and the keys that open the people in it to DIR/keys, or to the
    folder of --keys. Log, keys and master key together open everything: keep them in three
    places. Both copies are read completely before it reports success. The views are left
    out: they are rebuilt from the log.

    Example: `cs backup /backup/monday --keys /safe/monday --data-dir /var/lib/cs`
    """
    source = folder_of(_embedded(at.settings()), make=False)
    folders = backup_folders(directory, keys)
    made = await make(source, folders, SystemClock().now(), with_master_key=with_master_key)
    try:
        (source.path / LAST_BACKUP).touch(mode=0o600)
    except OSError as error:  # an account that may only read: the backup is whole
        warn(f"the time of this backup, which an alert looks at, could not be noted: {error}")
    _warn(made)
    return Output(
        [_shown(made) | {"log": str(folders.log), "keys": str(folders.keys)}],
        [f"{made.head} events in {folders.log}, their keys in {folders.keys}: read and whole"],
    )


@backup.command
@on_data
async def drill(
    at: Invocation,
    *,
    within: Annotated[
        Path | None,
        Parameter(
            help="Folder with room for two copies; else the system's temporary one.",
            validator=validators.Path(file_okay=False, exists=True),
        ),
    ] = None,
) -> Output:
    """Take a backup, restore it elsewhere, check it, read a search from it; print the times.

    Next to a running service or without one, of a data folder or of databases. Databases are
    dumped and restored with PostgreSQL's own programs, as new databases on the same servers,
    which the user of the settings may create. Nothing is left of the copies, and nothing of
    the service is changed. Exit code 1 if the copy breaks a promise or answers otherwise.

    Example: `cs backup drill --data-dir /var/lib/cs`
    """
    # Imported here: the other commands start sooner without.
    from cs.cli.drill import drill as run  # noqa: PLC0415

    report = await run(at.settings(), within)
    row = msgspec.to_builtins(report)
    return Output([row], list(facts(row)), code=bool(report.violations))


restore = App(name="restore")


@restore.default
@on_data
async def _restore(
    at: Invocation,
    directory: Backup,
    /,
    *,
    keys: Keys = None,
    master_key: Annotated[
        Path | None, Parameter(help="File with the master key, if it is not in the backup.")
    ] = None,
) -> Output:
    """Restore a backup into an empty data folder that no service runs on.

    Every file is compared with its checksum and the log is read completely before anything
    is put in its place; if something is wrong, nothing is changed. Keys that are newer than the
    log, or an erasure_journal that is newer than both, know what is missing: the service starts
    after `cs restore accept`, which lists it.

    Example: `cs restore /backup/monday --keys /safe/monday --master-key /vault/master.key`
    """
    target = folder_of(_embedded(at.settings()))
    made, of_keys = await bring_back(backup_folders(directory, keys), target, master_key)
    if of_keys.backup != made.backup:
        warn("the keys are of a later backup; people erased since then stay erased")
    _warn(made)
    return Output(
        [_shown(made) | {"data_dir": str(target.path)}],
        [f"{made.head} events of {instant(made.made_at)} are in {target.path}", _NEXT],
    )


@restore.command
@on_data
async def accept(at: Invocation, *, dry_run: DryRun = False) -> Output:
    """Go on with a log that is older than what the key store or the views saw of it.

    Lists what they know and the log does not: lookups whose people have data keys, searches and
    their charges, paid calls of the last hour, erasures. Then erases again everyone who was
    erased since the backup, and begins a new epoch. Until then no service starts on such a log.
    Run it while no service runs; processes that run on the log before end.

    Example: `cs restore accept --dry-run`, then `cs restore accept`
    """
    chosen = at.settings()
    if chosen.postgres is None and not dry_run:
        at.entered(folder_of(chosen, make=False).held())
    data = await at.data()
    ahead = await neighbours_ahead(data.log, data.keys, data.views)
    unknown = await PersonRequests(data).erasure.unknown()
    unrecorded = await data.keys.recovery.unknown_erasures()
    head = await data.log.head()
    calls = None if data.calls is None else data.calls.asked
    found = list(await missing(data.log, data.keys, data.views, calls) if ahead else ())
    found += [
        Missing("erasure", id_, "erasures", "lifted" if entries[-1].lifted else "erased")
        for id_, entries in unknown.items()
    ]
    found += [
        Missing("erasure", each.id, "erasure_journal", "the key store lacks it")
        for each in unrecorded
        if each.id not in unknown
    ]
    restored = [each.sentence(head) for each in ahead]
    summary: dict[str, Any] = {
        "kind": "summary",
        "head": head,
        "restored": restored,
        "missing": Counter(each.kind for each in found),
        "accepted": False,
    }
    text: list[str | Table] = [*restored]
    if found:
        text.append(Table.of(found[:_SHOWN], "kind id known_by what", "id"))
    if len(found) > _SHOWN:
        text.append(f"and {len(found) - _SHOWN} more, which --json lists")
    problem = None
    if not ahead and not unknown and not unrecorded:
        text = [f"nothing is missing: the log ends at {head}, as far as it was seen"]
    elif not dry_run:
        try:
            people = await PersonRequests(data).erasure.reapply()
            text.append(f"{people} people erased again")
        except (DamagedEvent, DeletedDataRemains) as error:
            problem = f"not all is erased ({error}): mend that, then run `cs people reapply`"
        await data.view_runner().catch_up()
        summary["accepted"] = True
        if ahead:
            summary["epoch"] = await begin_epoch(data.log, data.keys, data.clock)
            text.append(f"epoch {summary['epoch']} begins at position {head}")
    return Output([*found, summary], text, problem=problem)


def _embedded(chosen: Settings) -> Settings:
    """Return *chosen*, the settings of a service in one process.

    Raises:
        BadSettings: The data is in databases, so a copy of the folder would hold none of it.
    """
    if chosen.postgres is not None:
        raise BadSettings(
            "postgres is set: backup and restore are for a data folder; copy the databases"
            " postgres and keys_postgres, each to a place of its own, with pg_dump"
            " (docs/deploy.md)"
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


master_key = App(name="master-key", help="Change the master key while the service runs.")


@master_key.command
@on_data
async def rotate(at: Invocation) -> Output:
    """Wrap every data key with a new master key, next to a running service or without one.

    In a data folder it makes the new key itself, and puts it in the place of `master.key`
    when every key is wrapped; the old one stays next to it under its own name, for backups
    that were made before. A running service goes on and needs nothing.

    Over several processes: make a key, give it to every role and to this command as
    next_master_key_file, start the roles again one by one, and only then run this. When
    it is done, name the new key as master_key_file and remove next_master_key_file.

    If it is interrupted, nothing is lost: run it again.

    Example: `cs master-key rotate --data-dir /var/lib/cs`
    """
    with Progress() as line:
        done = await change(
            at.settings(), lambda done, every: line.show(f"{done} of {every} keys")
        )
    text = [f"{done.keys} keys wrapped; the master key is now {done.version}"]
    if done.kept is not None:
        text.append(f"the old one is {done.kept}: delete it when no backup of before is left")
    else:
        text.append(
            "set master_key_file to the new key everywhere and take next_master_key_file away;"
            " the old one can go when no backup of before is left"
        )
    return Output([done], text)


@master_key.command
@on_data
async def show(at: Invocation) -> Output:
    """Show the short name of the master key in use, which reveals nothing about the key.

    Example: `cs master-key show`
    """
    found = await versions(at.settings())
    older = (
        f"some keys are wrapped with {version} still: run `cs master-key rotate`"
        for version in found.older
    )
    return Output([found], [f"in use: {found.in_use}", *older])
