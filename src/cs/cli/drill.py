"""``cs backup drill``: a backup taken, restored elsewhere, checked and read, with the times."""

import asyncio
import os
import re
import secrets
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from msgspec.structs import replace

from cs.assembly.databases import checked_address
from cs.assembly.folder_keys import folder_of
from cs.assembly.operator_command import CommandContext, open_command_context
from cs.backup import BackupError, backup_folders, make, restore
from cs.cli.log import LogVerification, verified
from cs.cli.output import warn
from cs.domain.codec import every_version
from cs.domain.key import SearchSettled
from cs.operations.restored import begin_epoch, check_restored
from cs.projections.search_record import search_body
from cs.runtime.clock import SystemClock
from cs.runtime.private_files import temporary_folder
from cs.settings import Settings

#: Newest events among which a search to read is looked for.
RECENT = 5_000
#: Time limit of one of PostgreSQL's programs.
TOOL_S = 6 * 3600.0
#: Age of a copy that no drill can be at work on any more.
LEFT_S = 86_400
_DATABASES = ("postgres", "keys_postgres")
_COPY = re.compile(r"cs_drill_(\d{10})_[0-9a-f]{8}_(?:keys_)?postgres")


class DrillReport(msgspec.Struct, frozen=True):
    """What a restore from a backup of now would have cost.

    Attributes:
        events: In the restored log.
        violations: Promises that it breaks, lost data keys included.
        search: The newest ended search, which reads the same from both; ``None``: none ended.
        rpo_s: From the moment of which the backup is until it was finished.  With one backup
            every hour at most an hour and this is lost.
        rto_s: Restoring, checking, rebuilding the views and reading that search.
    """

    form: str
    events: int
    violations: int
    search: str | None
    restore_s: float
    verify_s: float
    views_s: float
    rpo_s: float
    rto_s: float


async def drill(settings: Settings, within: Path | None) -> DrillReport:
    """Back up the data of *settings*, restore it next to it, and read it there.

    Nothing of it is left, and nothing of the service is changed.

    Args:
        settings: Of the service, which may run.
        within: A folder with room for two copies; the system's temporary one without it.

    Raises:
        DataFolderError: The backup or the restore failed, or the copy answers otherwise.
    """
    with temporary_folder(within or Path(tempfile.gettempdir()), "cs-drill-") as work:
        marks = [time.monotonic()]

        def lap() -> float:
            marks.append(time.monotonic())
            return round(marks[-1] - marks[-2], 2)

        copied = _folder if settings.postgres is None else _databases
        async with copied(settings, work, lap) as (there, backup_s, restore_s):
            async with open_command_context(there) as data:
                if settings.postgres is not None:  # as after any restore: the keys are newer
                    await begin_epoch(data.log, data.keys, data.clock)
                await check_restored(data.log, data.keys, data.clock)
                lap()
                *broken, counts = [each async for each in verified(data)]
                assert isinstance(counts, LogVerification), "it comes last"
                verify_s = lap()
                search, answer = await _newest_search(data)
                views_s = lap()
            if search is not None:
                async with open_command_context(settings) as here:
                    if await _read(here, *search) != answer:
                        raise BackupError(f"{search[0]} reads otherwise from the restored copy")
            return DrillReport(
                form="data folder" if settings.postgres is None else "databases",
                events=counts.events,
                violations=len(broken),
                search=None if search is None else search[0],
                restore_s=restore_s,
                verify_s=verify_s,
                views_s=views_s,
                rpo_s=backup_s,
                rto_s=round(restore_s + verify_s + views_s, 2),
            )


async def _newest_search(
    data: CommandContext,
) -> tuple[tuple[str, str] | None, bytes | None]:
    """Return the newest ended search and its key, and the answer from the views of *data*."""
    head = await data.log.head()
    for stored in reversed(await data.log.stored(max(0, head - RECENT), RECENT)):
        if stored.topic.startswith(every_version(SearchSettled)):
            search = msgspec.json.decode(stored.state)["search"], stored.stream[len("key-") :]
            return search, await _read(data, *search)
    await data.reading()
    return None, None


async def _read(data: CommandContext, search: str, key_id: str) -> bytes | None:
    """Return the answer to *search*, without the usage of its key, which goes on."""
    found = await (await data.reading()).search(search, key_id)
    return None if found is None else search_body(found).rpartition(b',"usage":')[0]


#: The settings of a restored copy, and the seconds that the backup and the restore took.
Copied = tuple[Settings, float, float]


@asynccontextmanager
async def _folder(
    settings: Settings, work: Path, lap: Callable[[], float]
) -> AsyncIterator[Copied]:
    source, at = folder_of(settings, make=False), backup_folders(work / "backup", None)
    await make(source, at, SystemClock().now(), with_master_key=False)
    backup_s = lap()
    there = replace(
        settings,
        data_dir=work / "restored",
        master_key_file=source.master_key,
        erasure_journal=None,
    )
    await restore(at, folder_of(there))
    yield there, backup_s, lap()


@asynccontextmanager
async def _databases(
    settings: Settings, work: Path, lap: Callable[[], float]
) -> AsyncIterator[Copied]:
    """Dump the databases, the keys last, and restore them as new ones on their servers."""
    dsns = {
        name: checked_address(settings, name, insecure=settings.insecure_postgres)
        for name in _DATABASES
    }
    for name, dsn in dsns.items():
        if "dbname" in parse_qs(urlsplit(dsn).query, keep_blank_values=True):
            # It would be restored over.
            raise BackupError(f"{name}: name the database in the path, not with ?dbname=")
    for name, dsn in dsns.items():
        await _tool(dsn, "pg_dump", "--format=custom", f"--file={work / name}", "--dbname")
    backup_s, copy = lap(), f"cs_drill_{int(time.time())}_{secrets.token_hex(4)}"
    copies = {name: f"{copy}_{name}" for name in dsns}
    await _drop_left(dsns.values())
    try:
        for name, dsn in dsns.items():
            await _tool(dsn, "createdb", copies[name], "--maintenance-db")
            into = ("--no-owner", "--no-privileges", "--exit-on-error", str(work / name))
            await _tool(_address(dsn, copies[name]), "pg_restore", *into, "--dbname")
        addresses = {name: _address(dsn, copies[name]) for name, dsn in dsns.items()}
        yield replace(settings, **addresses, erasure_journal=None), backup_s, lap()
    finally:
        for name, dsn in dsns.items():
            await _drop(dsn, copies[name], "--force")


async def _drop(dsn: str, copy: str, *options: str) -> None:
    try:
        await _tool(dsn, "dropdb", *options, "--if-exists", copy, "--maintenance-db")
    except BackupError as error:  # others still have to go
        warn(f"drop the database {copy}, which holds a copy: {error}")


async def _drop_left(dsns: Iterable[str]) -> None:
    """Drop the copies that killed drills left a day ago or earlier; name the others."""
    found = {}
    for dsn in dsns:
        query = "SELECT datname FROM pg_database WHERE starts_with(datname, 'cs_drill_')"
        for copy in (await _tool(dsn, "psql", "-XAtc", query, "--dbname")).splitlines():
            found[copy] = dsn
    for copy, dsn in found.items():
        made = _COPY.fullmatch(copy)
        if made and time.time() - int(made[1]) > LEFT_S:
            await _drop(dsn, copy)  # which fails while another client is connected
        else:
            warn(f"drop the database {copy}, a copy of another drill, unless that runs")


def _address(dsn: str, database: str) -> str:
    return urlsplit(dsn)._replace(path=f"/{database}").geturl()


async def _tool(dsn: str, *words: str) -> str:
    """Run one of PostgreSQL's programs; *words* end with the option that takes *dsn*.

    Returns:
        What it printed.

    Raises:
        BackupError: It is not installed, or failed.
    """
    parts = urlsplit(dsn)
    user, at, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    bare = parts._replace(netloc=f"{name}{at}{host}").geturl()
    environment = {"PGPASSWORD": unquote(password)} if password else {}
    run = partial(subprocess.run, capture_output=True, text=True, timeout=TOOL_S, check=False)
    try:
        done = await asyncio.to_thread(run, [*words, bare], env=os.environ | environment)
    except FileNotFoundError as error:
        raise BackupError(
            f"{words[0]} is not installed: the drill needs PostgreSQL's client programs, of "
            "the server's version or a newer one"
        ) from error
    if done.returncode:
        said = done.stderr.strip().replace("\n", "; ")
        raise BackupError(f"{words[0]} failed: {said}")
    return done.stdout
