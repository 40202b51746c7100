"""``cs sandbox run``: the made-up world by itself, for roles that run as processes."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.played_providers import providers_url
from cs.assembly.postgres_pools import open_stages_pool
from cs.assembly.sandbox_plugins import plugins_in_sandbox
from cs.assembly.shared_time import keep_time, open_shared_time
from cs.cli.output import errors
from cs.cli.sandbox_service import enter_world
from cs.http_server.serving import on_signal
from cs.postgres.clock import DatabaseTime
from cs.runtime.private_files import temporary_folder
from cs.sandbox.providers.adapters import ADAPTERS
from cs.sandbox.shapes import World
from cs.settings import Settings


async def run_world(
    chosen: Settings, world: World, file: Path, certificates: Path, *, providers: bool = False
) -> None:
    """Run *world* until SIGTERM or SIGINT; write the settings of its roles to *file*.

    Its certificates are in a temporary folder in *certificates*.  With *providers* it plays
    the sources and verifiers with a key, too, and *file* has their tables.
    """
    starting = asyncio.current_task()
    assert starting is not None, "runs in a task"
    async with AsyncExitStack() as stack:
        stack.enter_context(on_signal(starting.cancel))
        pool = await stack.enter_async_context(open_stages_pool(chosen, "sandbox", "sandbox"))
        time = DatabaseTime(pool)
        await time.ask()
        shared_time = await open_shared_time(time, "sandbox", pool)
        assert isinstance(shared_time.clock, SandboxClock)
        await stack.enter_async_context(keep_time(shared_time))
        folder = stack.enter_context(temporary_folder(certificates, "sandbox-"))
        pointed = await enter_world(
            world, stack, chosen, folder, shared_time.clock, providers=providers
        )
        played = _played(pointed) if providers else {}
        _write(file, _differing(chosen, pointed), played)
        others = {
            name.rpartition(".")[0] for name in plugins_in_sandbox(chosen.plugins).shown()
        }
        if others := others - played.keys():
            names = ", ".join(sorted(others))
            errors.print(f"not in {file}, give them to the roles as variables: {names}")
        if providers:
            errors.print(f"the bill of the played providers: {providers_url(pointed)}/bill")
        leaving = asyncio.Event()
        with on_signal(leaving.set):
            errors.print(f"the world runs; its roles take --config {file} --sandbox")
            await leaving.wait()


def _differing(chosen: Settings, pointed: Settings) -> dict[str, Any]:
    before, after = (
        msgspec.to_builtins(msgspec.structs.asdict(each), enc_hook=str)
        for each in (chosen, pointed)
    )
    return {
        name: value
        for name, value in after.items()
        if value != before[name] and name != "plugins"
    }


def _played(pointed: Settings) -> dict[str, Mapping[str, Any]]:
    """Return the tables of what asks the played providers, by their full names."""
    sections = msgspec.structs.asdict(pointed.plugins)
    return {
        f"{section}.{name}": sections[section][name]
        for section, names in ADAPTERS.items()
        for name in names
    }


def _write(
    file: Path, values: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write *values* and *tables* as TOML, all or nothing: roles may be waiting for it."""
    lines = _lines(values)
    for name, table in tables.items():
        lines += [f"\n[{name}]\n", *_lines(table)]
    new = file.with_name(file.name + ".new")
    new.write_text("# Written by `cs sandbox run`: where this world is.\n" + "".join(lines))
    new.replace(file)


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {json.dumps(value)}\n" for name, value in values.items()]
