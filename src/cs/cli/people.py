"""``cs people``: what somebody who was found may ask of the operator."""

import asyncio
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.disclosed import Disclosures, may_hold, show_disclosures
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop
from cs.cli.people_export import export
from cs.cli.person_data import PrintOf, fingerprint_of, open_person_data
from cs.cli.settings_in_force import settings
from cs.domain.brand.brand import stream_of
from cs.eventlog.errors import DamagedEvent
from cs.operations.erasure.person import ErasureResult
from cs.operations.erasure.reapplying import reapply as reapply_all
from cs.operations.erasure.suppressions import SuppressionEntry
from cs.projections.searches import instant
from cs.settings import Settings

DryRun = Annotated[
    bool, Parameter(negative="", help="Only say what it would hit; change nothing.")
]
#: Lifts whoever is named, whatever their ids.
ALL = "all"
SUPPRESSED = "and keep the person out of later searches"

app = App(
    name="people",
    help="Erase a person who asks to be forgotten; list who is; show somebody all that is held "
    "on them.",
)
app.command(export)


@app.command
def erase(
    *,
    email: Annotated[str | None, Parameter(help="A work e-mail of theirs.")] = None,
    profile: Annotated[str | None, Parameter(help="Address of their LinkedIn profile.")] = None,
    dry_run: DryRun = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Erase a person from everything stored, and keep later searches from finding them.

    With --dry-run it says what that would be: lookups, data keys and brands. Both tell which
    exports that were made with --reveal may hold the person: delete those.

    Works on the data folder, beside a running service or without one; a running one
    drops what it holds in memory within a second. Cannot be undone. Doing it again does
    no harm, and finishes one that was interrupted. Neither the address nor the profile
    is stored or printed.

    Example: `cs people erase --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    print_of = fingerprint_of(email, profile)
    if print_of is None:
        stop("name the person by --email or by --profile, one of the two", 2)
    chosen = settings(config, data_dir=data_dir)
    if dry_run:
        _show_foreseen(asyncio.run(_foreseen(chosen, print_of)), json=json)
        return

    async def run() -> tuple[ErasureResult, Disclosures] | DamagedEvent:
        async with open_person_data(chosen) as at:
            try:
                done = await at.erasure.erase(print_of(at.keys))
            except DamagedEvent as damaged:
                return damaged
            return done, await may_hold(at.log, done.names)

    ended = asyncio.run(run())
    if isinstance(ended, DamagedEvent):
        stop(_unfinished(ended))
    done, disclosed = ended
    if json:
        print_json(
            {
                "known": done.lookups > 0,
                "lookups": done.lookups,
                "keys_destroyed": done.keys,
                "directory_rows": done.directory,
                "suppressed": True,
                "changed": done.new,
                "disclosed": disclosed,
            }
        )
    else:
        console.print(_describe(done))
        show_disclosures(disclosed)


@app.command
def reapply(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Erase again everybody who was ever erased.

    For after `keys.db` came back from a backup: it has keys that were destroyed since.

    Example: `cs people reapply --data-dir /var/lib/cs`
    """

    async def run() -> int | DamagedEvent:
        async with open_person_data(settings(config, data_dir=data_dir)) as at:
            try:
                return await reapply_all(at.erasure, at.suppressions, at.ageing)
            except DamagedEvent as damaged:
                return damaged

    people = asyncio.run(run())
    if isinstance(people, DamagedEvent):
        stop(_unfinished(people))
    if json:
        print_json({"people": people})
    else:
        console.print(f"{people} erased again")


@app.command
def suppressed(
    *,
    email: Annotated[str | None, Parameter(help="Only whoever has this e-mail.")] = None,
    profile: Annotated[str | None, Parameter(help="Only whoever has this profile.")] = None,
    lift: Annotated[
        str | None, Parameter(help="Id of one erased by mistake, or all: those named.")
    ] = None,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """List who is kept out of later searches, ask about one person, or lift a mistake.

    Only keyed hashes are kept: the list has an id, since when, from how many lookups, and
    who had it done.
    With --email or --profile it says whether that person is among them.

    Lifting lets later searches find them again. What was erased stays erased: a brand that
    is still reused shows them after `cs brands forget`.

    Example: `cs people suppressed --email jane@acme.example --lift all`
    """
    print_of = fingerprint_of(email, profile)
    if lift == ALL and print_of is None:
        stop("--lift all: name the person by --email or --profile", 2)

    async def run() -> tuple[list[SuppressionEntry], int]:
        async with open_person_data(settings(config, data_dir=data_dir)) as at:
            fingerprint = print_of(at.keys) if print_of is not None else None
            found = await at.suppressions.listed(fingerprint)
            if lift is not None:
                found = [each for each in found if lift in {ALL, each.id}]
                return found, await at.suppressions.lift(each.id for each in found)
            return found, 0

    found, lifted = asyncio.run(run())
    if not found and (lift is not None or print_of is not None):
        stop("nobody suppressed goes by that; `cs people suppressed` lists all")
    if json:
        for each in found:
            print_json({**_shown(each), "lifted": lift is not None})
    elif lift is not None:
        console.print(f"{lifted} may be found again by later searches")
    else:
        columns = ("Id", "Since", "Lookups", "By")
        print_table(
            columns,
            [(e.id, instant(e.since), str(e.lookups), e.by or "-") for e in found],
            folds=["By"],
        )


def _shown(each: SuppressionEntry) -> dict[str, Any]:
    since = instant(each.since)
    return {"id": each.id, "since": since, "lookups": each.lookups, "by": each.by}


class ErasurePreview(msgspec.Struct, frozen=True):
    """What an erasure would hit."""

    lookups: int
    keys: int
    brands: list[str]
    suppressed: bool  # already
    disclosed: Disclosures
    directory_rows: int = 0  # of the operator's own directory


async def _foreseen(chosen: Settings, print_of: PrintOf) -> ErasurePreview:
    async with open_command_context(chosen) as data:
        reading = await data.reading()
        brands = {stream: row.query for stream, row in await reading.brands()}
    async with open_person_data(chosen) as at:
        fingerprint = print_of(at.keys)
        names = await at.erasure.foreseen(fingerprint)
        rows = await at.erasure.foreseen_in_directory(fingerprint)
        before = await at.suppressions.listed(fingerprint)
        disclosed = await may_hold(at.log, names)
    lookups = {name.rpartition("#")[0] for name in names}
    queries = [brands[s] for s in sorted({stream_of(each) for each in lookups}) if s in brands]
    searched = [query.brand or query.domain or "" for query in queries]
    return ErasurePreview(len(lookups), len(names), searched, bool(before), disclosed, rows)


def _show_foreseen(found: ErasurePreview, *, json: bool) -> None:
    if json:
        print_json({**msgspec.to_builtins(found), "dry_run": True})
        return
    lookups = "lookup" if found.lookups == 1 else "lookups"
    where = f" ({', '.join(found.brands)})" if found.brands else ""
    later = "already kept out of later searches" if found.suppressed else SUPPRESSED
    console.print(
        f"nothing is changed; it would destroy {found.keys} data keys of {found.lookups} "
        f"{lookups}{where}{_rows_of_directory(found.directory_rows)} for good; {later}"
    )
    show_disclosures(found.disclosed)


def _unfinished(damaged: DamagedEvent) -> str:
    return (
        f"the erasure is not finished: {damaged}; whoever is erased is shown nowhere any more; "
        "mend that event (`cs log verify` lists all), then run this again"
    )


def _describe(done: ErasureResult) -> str:
    later = "later searches leave this person out"
    if done.directory and not done.lookups:
        return f"erased from your own directory; {later}"
    if not done.lookups:
        return f"nothing is known of this person; {later}"
    if not done.new:
        return f"this person was erased before; {later}"
    found = "lookup" if done.lookups == 1 else "lookups"
    rows = _rows_of_directory(done.directory)
    return f"erased from {done.lookups} {found}{rows}; {later}"


def _rows_of_directory(rows: int) -> str:
    return f" and {rows} of your own directory" if rows else ""
