"""Slow work of the console, done by a process of its own: no call waits for its computing.

The process opens the data as the command ``cs`` does next to a running service.  It is given
settings and arguments over its standard input, so no person is named on a command line, and it
ends when its result is no longer wanted or its time is over.
"""

import asyncio
import os
import pickle
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.assembly.person_requests import PersonRequests, known_as, print_of
from cs.assembly.service_checks import check_sources, check_verifiers
from cs.directory.store import DirectoryUnavailable
from cs.domain.names.brand_names import Unacceptable
from cs.domain.refusal import Refusal
from cs.domain.service import World
from cs.eventlog.port import DamagedEvent, LogUnavailable, NewerEvent
from cs.history.comparing import PersonChange, compared, shown
from cs.history.identities import identities
from cs.history.part_folder import ExportFailed
from cs.history.report.figures import Report, make_report
from cs.keystore.port import KeysUnavailable, WrongMasterKey
from cs.operations.retention import MONTH
from cs.paid_calls.service import CheckedPlugin
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.runtime import logs
from cs.runtime.coordination import leaf_errors
from cs.runtime.data_folder import DataFolderError
from cs.runtime.private_files import DeletedDataRemains
from cs.runtime.slow_work import SlowWorkFailed
from cs.settings import BadSettings, Settings

T = TypeVar("T")

#: Longest time that a piece of work may take.
LIMIT_S = 300
#: It gives way to the service.
NICENESS = 10
#: Errors whose words an operator may read; those of others may name a person.
SHOWN = (
    *(BadSettings, DamagedEvent, DataFolderError, DatabaseUnavailable, DeletedDataRemains),
    *(DirectoryUnavailable, ExportFailed, KeysUnavailable, LogUnavailable, NewerEvent),
    *(Refusal, SlowWorkFailed, Unacceptable, WrongMasterKey, WrongSchema),
)


#: A person by e-mail or by profile.
Named = tuple[str | None, str | None]


class _Result(msgspec.Struct, Generic[T], frozen=True):
    """How work ended: what it found, else why not, and the code of a refusal."""

    found: T | None
    why: str = ""
    refused: str | None = None


async def report(settings: Settings, _: World, since: datetime, until: datetime) -> Report:
    async with open_command_context(settings) as data:
        return await make_report(data.log, data.keys, since, until)


async def compare(
    settings: Settings, _: World, before: str, after: str
) -> tuple[Sequence[PersonChange], int]:
    """Return the differences of two lookups that have ended, as ``cs compare`` prints them."""
    async with open_command_context(settings) as data:
        history = data.history
        runs = [await history.run(each) for each in (before, after)]
        first, second = (run for run in runs if run is not None)
        names = [each["person"] for run in (first, second) for each in shown(run)]
        async with identities(data.log, data.keys) as people:
            who = await people.of(names)
        return compared(first, second, who, reveals=False)


async def check(settings: Settings, world: World, kind: str) -> Sequence[CheckedPlugin]:
    """Return how each check of the ``sources`` or ``verifiers`` ended."""
    every = check_sources if kind == "sources" else check_verifiers
    return [each async for each in every(settings, world)]


async def export(
    settings: Settings,
    _: World,
    by: str,
    named: tuple[str | None, str | None],
    why: str,
    file: str,
) -> bytes:
    """Return as JSON what is held on the person with that e-mail or profile.

    Its ``warnings`` say which stores could not be looked into.
    """
    warnings = list[str]()
    async with open_command_context(settings) as data:
        requests = PersonRequests(replace(data, by=by), warn=warnings.append)
        kept_for = MONTH * settings.people_kept_for
        held = await requests.held(known_as(*named), why, file, kept_for)
    return msgspec.json.format(msgspec.json.encode(held | {"warnings": warnings}), indent=2)


async def erase(
    settings: Settings, _: World, by: str, named: tuple[str | None, str | None]
) -> str:
    """Erase the person with that e-mail or profile; return sentences about it."""
    async with open_command_context(settings) as data:
        return await erase_in(replace(data, by=by), named)


async def erase_in(data: CommandContext, named: tuple[str | None, str | None]) -> str:
    """Erase from *data* as `erase` does.

    Raises:
        SlowWorkFailed: The erasure is not finished; the message says what to do.
    """
    requests = PersonRequests(data)
    try:
        done = await requests.erasure.erase(print_of(data.keys, known_as(*named)))
    except DamagedEvent as damaged:
        raise SlowWorkFailed(
            f"the erasure is not finished: {damaged}; who is erased is not shown any "
            "more; mend that event (`cs log verify` lists all), then send the "
            "form again"
        ) from damaged
    except DeletedDataRemains as remains:
        raise SlowWorkFailed(
            f"what was deleted can still be read in {', '.join(remains.files)}, because "
            "another process is reading there: end that process, then send the form again"
        ) from remains
    disclosed = await requests.may_hold(done.names)
    said = (
        f"Later searches leave this person out. {done.keys} data keys of {done.lookups} "
        "lookups are destroyed"
    )
    if data.directory_erasure is None:
        said += ". Your own directory is left as it is: the settings lack stages_postgres."
    else:
        said += f"; {done.directory} rows of your own directory are deleted."
    if data.calls is None:
        said += (
            " Remembered answers of paid providers are not deleted: the settings lack "
            "stages_postgres. Do it again with `cs people erase` where stages_postgres is set."
        )
    if disclosed is None:
        return f"{said} Some of the log is damaged: which exports hold them is not known."
    made = "; ".join(
        f"{each.command} {each.file or ''} {each.at:%F %H:%M}" for each in disclosed
    )
    return f"{said} Delete what was written by: {made}." if made else said


async def do_aside(settings: Settings, world: World, kind: str, *words: Any) -> Any:
    """Return what the function *kind* of this module returns in a process of its own.

    Raises:
        Refusal: It was refused there.
        SlowWorkFailed: It did not end well; the message says why.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # nothing is imported from the folder that the service runs in
        "-c",
        f"from {__name__} import main; main()",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the service, which then ends this
    )
    try:
        made, _ = await process.communicate(pickle.dumps((kind, settings, world, words)))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == -signal.SIGALRM:
        raise SlowWorkFailed(f"it took longer than {LIMIT_S} s; use the command")
    if process.returncode != 0:
        raise SlowWorkFailed(f"its process ended with code {process.returncode}; see its log")
    result: _Result[Any]
    try:
        if kind == "check":  # the one that runs plug-ins, which could have written a pickle
            result = msgspec.msgpack.decode(made, type=_Result[Sequence[CheckedPlugin]])
        else:
            result = pickle.loads(made)  # noqa: S301  of code of our own
    except (msgspec.DecodeError, pickle.UnpicklingError, EOFError, UnicodeDecodeError) as error:
        raise SlowWorkFailed(f"its result cannot be read: {type(error).__name__}") from error
    if result.refused is not None:
        raise Refusal(result.refused, result.why)
    if result.why:
        raise SlowWorkFailed(result.why)
    return result.found


def main() -> None:
    """Do the work that standard input names, and write its result to standard output.

    What plug-ins write to it goes to standard error.
    """
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.alarm(LIMIT_S)
    os.nice(NICENESS)
    kind, settings, world, words = pickle.load(sys.stdin.buffer)  # noqa: S301  of the service
    logs.configure(settings.log_level, settings.log_format, settings.secrets())
    work = {each.__name__: each for each in (report, compare, check, export, erase)}[kind]
    try:
        result = _Result[Any](asyncio.run(work(settings, world, *words)))
    except Exception as error:  # noqa: BLE001  handed over
        cause = next(leaf_errors(ExceptionGroup("", [error])))
        why = str(cause) if isinstance(cause, SHOWN) else type(cause).__name__
        result = _Result[Any](None, why, cause.code if isinstance(cause, Refusal) else None)
    with out:
        out.write((msgspec.msgpack.encode if kind == "check" else pickle.dumps)(result))
