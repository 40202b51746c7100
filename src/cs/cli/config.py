"""``cs config``: the settings in force."""

import asyncio
from typing import Any

from cyclopts import App

from cs.assembly.people_directory import open_directory_if_named
from cs.assembly.plugins import StagePlugins, open_plugins, unusable_settings
from cs.assembly.world_check import check_world
from cs.cli.many_machines import check_shared, roles_of, shared_advice
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json
from cs.cli.settings_in_force import settings
from cs.settings import load_with_places, shown

app = App(name="config", help="See and check the settings.")


@app.command
def show(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Print every setting in force and where it came from, secrets masked.

    They come from a TOML file (--config, or CS_CONFIG), then CS_... environment
    variables, then options. Names are the same everywhere: `port = 9000` in the file is
    CS_PORT=9000 in the environment. What the source NAME was given stands in the table
    [sources.NAME]; `url` there is CS_SOURCES__NAME__URL; [verifiers.NAME] likewise.

    Example: `CS_PORT=9000 cs config show`
    """
    chosen, places = load_with_places(config, given={"data_dir": data_dir})
    values = shown(chosen)
    if json:
        print_json({**values, "places": places})
        return
    for name, value in values.items():
        console.print(f"{name:<19} {_plain(value)}  # {places.get(name, 'default')}")


@app.command
def check(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Check the settings, those of plug-ins too, and load every source and verifier used.

    Those of a service over several processes are checked together; nothing is connected to.
    Says which commands they let a process be.

    Example: `cs config check --config cs.toml`
    """
    chosen = settings(config, data_dir=data_dir)
    check_world(chosen, "live")
    check_shared(chosen)

    async def run() -> StagePlugins:
        async with open_directory_if_named(chosen) as directory:
            there = directory is not None and directory.has_people
            async with open_plugins(chosen, directory=directory if there else None) as tools:
                return tools

    tools = asyncio.run(run())
    used = {
        "roles": roles_of(chosen),
        "brand_sources": [source.name for source in tools.brand_sources],
        "people_sources": [source.name for source in tools.people_sources],
        "verifiers": [verifier.name for verifier in tools.verifiers],
        "stages": [stage.name for stage in tools.stages],
        "advice": [*advice(tools), *shared_advice(chosen)],
    }
    if json:
        print_json(used)
        return
    console.print("the settings are good; in use:")
    for name, values in used.items():
        console.print(f"  {name:<16}{_plain(values)}")


def advice(tools: StagePlugins) -> list[str]:
    """Return what the operator may want to set before searching the real world."""
    found = [f"{setting}: {why}" for setting, why in unusable_settings(tools).items()]
    if [source.name for source in tools.brand_sources] == ["website"]:
        found.append(
            "brand_sources: website alone finds no brand that is named without a domain"
        )
    return found


def _plain(value: Any) -> str:
    match value:
        case None | [] | ():
            return "-"
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
