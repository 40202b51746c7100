"""``cs sandbox``: made-up worlds, listed, checked, run and proved."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.played_providers import providers_url
from cs.assembly.postgres_pools import open_stages_pool
from cs.assembly.sandbox_plugins import plugins_in_sandbox
from cs.assembly.sandbox_world import run_sandbox
from cs.assembly.shared_time import keep_time, open_shared_time
from cs.cli.command import Invocation, Output, command, printing
from cs.cli.output import Table, errors, styled
from cs.cli.proof import SearchProof, prove_world
from cs.http_server.serving import on_signal
from cs.postgres.clock import DatabaseTime
from cs.runtime import logs
from cs.runtime.private_files import temporary_folder
from cs.sandbox.providers.adapters import ADAPTERS
from cs.sandbox.world import listing, load
from cs.settings import Settings

app = App(
    name="sandbox",
    help="Worlds for `cs serve --sandbox`: list, check and run one; prove the service on one.",
)

World = Annotated[Path | None, Parameter(help="A world file; the bundled one if left out.")]


@app.command(name="list")
@printing
def list_world(_: Invocation, world: World = None, /) -> Output:
    """List the brands of a world, and how a search for each is meant to end.

    Example: `cs sandbox list --json`, one line a search.
    """
    found = listing(load(world))
    names = ("brand", "domain", "outcome", "verified", "tags")
    cells = [
        (r.brand or "", r.domain or "", r.outcome, str(r.verified), " ".join(r.tags))
        for r in found
    ]
    return Output(
        [{name: getattr(row, name) for name in names} for row in found],
        [Table([name.capitalize() for name in names], cells, ["Brand", "Tags"])],
    )


@app.command
@printing
def check(
    _: Invocation, world: Annotated[Path, Parameter(help="The world file.")], /
) -> Output:
    """Check a world file; say where it is wrong and what is allowed.

    Example: `cs sandbox check my-world.json`
    """
    found = len(listing(load(world)))
    said = f"{world} is good: {found} things to search"
    return Output([{"world": str(world), "searches": found}], [said])


@app.command
@command("config")
async def run(
    at: Invocation,
    world: World = None,
    /,
    *,
    write: Annotated[Path, Parameter(help="File for the settings of its roles (TOML).")],
    providers: Annotated[
        bool, Parameter(negative="", help="Play providers with a key, too.")
    ] = False,
) -> Output:
    """Run a world by itself, for a service that runs as several processes.

    The roles of that service are started with `--sandbox --config` and the file that this
    writes. Needs the setting stages_postgres: the sandbox's clock is there. With --providers
    that file also has the tables of the sources and verifiers with a key.

    Example: `cs sandbox run --write world.toml`
    """
    chosen, made_up = at.settings(), load(world)
    starting = asyncio.current_task()
    assert starting is not None, "runs in a task"
    at.entered(on_signal(starting.cancel))
    pool = await at.opened(open_stages_pool(chosen, "sandbox", "sandbox"))
    time = DatabaseTime(pool)
    await time.ask()
    shared = await open_shared_time(time, "sandbox", pool)
    assert isinstance(shared.clock, SandboxClock)
    await at.opened(keep_time(shared))
    folder = at.entered(temporary_folder(write.absolute().parent, "sandbox-"))
    pointed = await at.opened(
        run_sandbox(chosen, made_up, folder, shared.clock, providers=providers)
    )
    tables = _played(pointed) if providers else {}
    write_settings(write, chosen, pointed, tables)
    others = {name.rpartition(".")[0] for name in plugins_in_sandbox(chosen.plugins).shown()}
    if others := others - tables.keys():
        names = ", ".join(sorted(others))
        errors.print(f"not in {write}, give them to the roles as variables: {names}")
    if providers:
        errors.print(f"the bill of the played providers: {providers_url(pointed)}/bill")
    told = asyncio.Event()
    with on_signal(told.set):
        errors.print(f"the world runs; its roles take --config {write} --sandbox")
        await told.wait()
    return Output()


def _played(pointed: Settings) -> dict[str, Mapping[str, Any]]:
    """Return the tables of what asks the played providers, by their full names."""
    sections = msgspec.structs.asdict(pointed.plugins)
    return {
        f"{section}.{name}": sections[section][name]
        for section, names in ADAPTERS.items()
        for name in names
    }


def write_settings(
    file: Path, chosen: Settings, pointed: Settings, tables: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write how *pointed* differs from *chosen*, and *tables*, as TOML, all or nothing."""
    before, after = (
        msgspec.to_builtins(msgspec.structs.asdict(each), enc_hook=str)
        for each in (chosen, pointed)
    )
    values = {
        name: value
        for name, value in after.items()
        if value != before[name] and name != "plugins"
    }
    lines = ["# Written by `cs sandbox run`: where this world is."]
    for name, table in {"": values, **tables}.items():
        lines += [f"\n[{name}]"] if name else []
        lines += [f"{field} = {json.dumps(value)}" for field, value in table.items()]
    new = file.with_name(file.name + ".new")
    new.write_text("\n".join(lines) + "\n")
    new.replace(file)  # roles may be waiting for it


@app.command
@printing
async def prove(
    _: Invocation,
    world: World = None,
    /,
    *,
    quick: Annotated[
        bool, Parameter(negative="", help="Move the clock; leave out silent mail servers.")
    ] = False,
) -> Output:
    """Search everything in a world over HTTP and compare with the intended results.

    Takes about two minutes with the bundled world: one search is meant to time out.
    With --quick, seconds: the clock is moved past every wait. Brands whose mail servers say
    nothing are left out then, since time-outs go by real time.
    Exit code 1 if anything ended otherwise.

    Example: `cs sandbox prove my-world.json --json`, one line a search.
    """
    logs.configure("error", "console")
    proved = await prove_world(load(world), _tell, quick=quick)
    wrong = sum(bool(row.differs) for row in proved)
    errors.print(f"{len(proved) - wrong} of {len(proved)} ended as the world intends")
    cells = [
        (
            row.asked,
            row.intended,
            row.ended,
            f"{len(row.verified)} of {len(row.expected)}",
            f"{row.seconds:.1f}",
            styled("[red]✗[/] {}", " ".join(row.differs))
            if row.differs
            else styled("[green]✓[/]"),
        )
        for row in proved
    ]
    columns = ("Asked", "Intended", "Ended", "Verified", "Seconds", "")
    return Output(proved, [Table(columns, cells, ["Asked"])], code=bool(wrong))


def _tell(done: int, of: int, row: SearchProof) -> None:
    line = f"{done}/{of} {row.asked}: {row.ended} in {row.seconds:.1f} s"
    errors.print(styled("[dim]{}[/]", line))
