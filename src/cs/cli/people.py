"""``cs people``: what somebody who was found may ask of the operator."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.keys import desk
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop
from cs.cli.settings_in_force import settings
from cs.domain.brand.brand import stream_of
from cs.domain.mail.syntax import is_mailbox
from cs.domain.names.profile_url import person_page
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.fingerprints import email_print, profile_print
from cs.keystore.port import KeyStore
from cs.operations.erasure.ageing import Ageing
from cs.operations.erasure.person import Erasure, ErasureResult
from cs.operations.erasure.reapplying import reapply as reapply_all
from cs.operations.erasure.suppressions import SuppressionEntry, Suppressions
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
    help="Erase a person who asks to be forgotten; list who is.",
)


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

    With --dry-run it says what that would be: lookups, data keys and brands.

    Works on the data folder, beside a running service or without one; a running one
    drops what it holds in memory within a second. Cannot be undone. Doing it again does
    no harm, and finishes one that was interrupted. Neither the address nor the profile
    is stored or printed.

    Example: `cs people erase --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    print_of = _named(email, profile)
    if print_of is None:
        stop("name the person by --email or by --profile, one of the two", 2)
    chosen = settings(config, data_dir=data_dir)
    if dry_run:
        _tell_foreseen(asyncio.run(_foreseen(chosen, print_of)), json=json)
        return

    async def run() -> ErasureResult | DamagedEvent:
        async with _forgetting(chosen) as at:
            try:
                return await at.erasure.erase(print_of(at.keys))
            except DamagedEvent as damaged:
                return damaged

    done = asyncio.run(run())
    if isinstance(done, DamagedEvent):
        stop(_unfinished(done))
    if json:
        print_json(
            {
                "known": done.lookups > 0,
                "lookups": done.lookups,
                "keys_destroyed": done.keys,
                "suppressed": True,
                "changed": done.new,
            }
        )
    else:
        console.print(_told(done))


@app.command
def reapply(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Erase again everybody who was ever erased.

    For after `keys.db` came back from a backup: it has keys that were destroyed since.

    Example: `cs people reapply --data-dir /var/lib/cs`
    """

    async def run() -> int | DamagedEvent:
        async with _forgetting(settings(config, data_dir=data_dir)) as at:
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
    print_of = _named(email, profile)
    if lift == ALL and print_of is None:
        stop("--lift all: name the person by --email or --profile", 2)

    async def run() -> tuple[list[SuppressionEntry], int]:
        async with _forgetting(settings(config, data_dir=data_dir)) as at:
            asked = print_of(at.keys) if print_of is not None else None
            found = await at.suppressions.listed(asked)
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
    told = {"id": each.id, "since": instant(each.since), "lookups": each.lookups}
    return {**told, "by": each.by}


#: Makes the fingerprint that the one asked about goes by.
PrintOf = Callable[[KeyStore], str]


def _named(email: str | None, profile: str | None) -> PrintOf | None:
    """Return what names a person on the command line, ``None`` if nothing does.

    Ends the command if both do, or one wrongly.
    """
    if email is not None and profile is not None:
        stop("name the person by --email or by --profile, one of the two", 2)
    if email is not None:
        if not is_mailbox(email.strip()):
            stop("--email: one address, somebody@example.com", 2)
        return lambda keys: email_print(keys, email)
    if profile is not None:
        page = person_page(profile)
        if page is None:
            stop("--profile: a LinkedIn profile, https://www.linkedin.com/in/…", 2)
        return lambda keys: profile_print(keys, page)
    return None


class Foreseen(msgspec.Struct, frozen=True):
    """What an erasure would hit."""

    lookups: int
    keys: int
    brands: list[str]
    suppressed: bool  # already


async def _foreseen(chosen: Settings, print_of: PrintOf) -> Foreseen:
    async with desk(chosen) as at:
        brands = {stream: row.query for stream, row in await at.reading.brands()}
    async with _forgetting(chosen) as at:
        asked = print_of(at.keys)
        names = await at.erasure.foreseen(asked)
        before = await at.suppressions.listed(asked)
    lookups = {name.rpartition("#")[0] for name in names}
    queries = [brands[s] for s in sorted({stream_of(each) for each in lookups}) if s in brands]
    told = [query.brand or query.domain or "" for query in queries]
    return Foreseen(len(lookups), len(names), told, bool(before))


def _tell_foreseen(found: Foreseen, *, json: bool) -> None:
    if json:
        print_json({**msgspec.to_builtins(found), "dry_run": True})
        return
    lookups = "lookup" if found.lookups == 1 else "lookups"
    where = f" ({', '.join(found.brands)})" if found.brands else ""
    later = "already kept out of later searches" if found.suppressed else SUPPRESSED
    console.print(
        f"nothing is changed; it would destroy {found.keys} data keys of {found.lookups} "
        f"{lookups}{where} for good; {later}"
    )


@dataclass(frozen=True)
class _Forgetting:
    """What these commands work with."""

    keys: KeyStore
    erasure: Erasure
    suppressions: Suppressions
    ageing: Ageing


@asynccontextmanager
async def _forgetting(chosen: Settings) -> AsyncIterator[_Forgetting]:
    async with open_command_context(chosen) as data:
        stores = (data.streams, data.keys, data.clock)
        reflected, calls = data.view_runner().catch_up, data.forget_calls
        yield _Forgetting(
            data.keys,
            Erasure(*stores, reflected, forget_calls=calls, by=data.by),
            Suppressions(*stores, by=data.by),
            Ageing(*stores, reflected, forget_calls=calls),
        )


def _unfinished(damaged: DamagedEvent) -> str:
    return (
        f"the erasure is not finished: {damaged}; whoever is erased is shown nowhere any more; "
        "mend that event (`cs log verify` lists all), then run this again"
    )


def _told(done: ErasureResult) -> str:
    later = "later searches leave this person out"
    if not done.lookups:
        return f"nothing is known of this person; {later}"
    if not done.new:
        return f"this person was erased before; {later}"
    found = "lookup" if done.lookups == 1 else "lookups"
    return f"erased from {done.lookups} {found}; {later}"
