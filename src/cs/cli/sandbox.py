"""``cs sandbox run``: a made-up world for a service that runs as several processes."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.databases import keep_time, open_shared_time, open_stages_pool
from cs.assembly.sandbox_plugins import plugins_in_sandbox
from cs.assembly.sandbox_world import providers_url, run_sandbox
from cs.cli.command import Invocation, Output, command
from cs.cli.output import errors
from cs.http_server.serving import on_signal
from cs.postgres.clock import DatabaseTime
from cs.runtime.private_files import temporary_folder
from cs.sandbox import ADAPTERS
from cs.sandbox.world import load
from cs.settings import Settings

app = App(
    name="sandbox",
    help="Made-up worlds for a service that runs as several processes.",
)

WorldFile = Annotated[Path | None, Parameter(help="A world file; the bundled one if left out.")]


@app.command
@command("config")
async def run(
    at: Invocation,
    world: WorldFile = None,
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
    tables = write_settings(write, chosen, pointed, providers=providers)
    others = {name.rpartition(".")[0] for name in plugins_in_sandbox(chosen.plugins).shown()}
    if others := others - tables:
        names = ", ".join(sorted(others))
        errors.print(f"not in {write}, give them to the roles as variables: {names}")
    if providers:
        errors.print(f"the bill of the played providers: {providers_url(pointed)}/bill")
    ending = asyncio.Event()
    with on_signal(ending.set):
        errors.print(f"the world runs; its roles take --config {write} --sandbox")
        await ending.wait()
    return Output()


def write_settings(
    file: Path, chosen: Settings, pointed: Settings, *, providers: bool
) -> set[str]:
    """Write how *pointed* differs from *chosen* as TOML, all or nothing.

    With *providers* also the tables of what asks the played providers; return their names.
    """
    before, after = (
        msgspec.to_builtins(msgspec.structs.asdict(each), enc_hook=str)
        for each in (chosen, pointed)
    )
    changed = {n: v for n, v in after.items() if v != before[n] and n != "plugins"}
    tables = {
        f"{section}.{name}": getattr(pointed.plugins, section)[name]
        for section, names in (ADAPTERS if providers else {}).items()
        for name in names
    }
    lines = ["# Written by `cs sandbox run`: where this world is."]
    for name, table in {"": changed, **tables}.items():
        lines += [f"\n[{name}]"] if name else []
        lines += [f"{field} = {json.dumps(value)}" for field, value in table.items()]
    new = file.with_name(file.name + ".new")
    new.write_text("\n".join(lines) + "\n")
    new.replace(file)  # roles may be waiting for it
    return set(tables)
