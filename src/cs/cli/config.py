"""``cs config``: the settings in force."""

import asyncio

from cyclopts import App

from cs.cli.options import Config, DataDir, Json, settings
from cs.cli.output import console, print_json
from cs.settings import shown
from cs.wiring import outside

app = App(name="config", help="See and check the settings.")


@app.command
def show(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Print every setting in force, secrets masked.

    They come from a TOML file (--config, or CS_CONFIG), then CS_... environment
    variables, then options. Names are the same everywhere: `port = 9000` in the file is
    CS_PORT=9000 in the environment.
    """
    values = shown(settings(config, data_dir=data_dir))
    if json:
        print_json(values)
        return
    for name, value in values.items():
        console.print(f"{name:<20}{value}", markup=False)


@app.command
def check(*, config: Config = None) -> None:
    """Check the settings and load every source and verifier they name."""

    async def run() -> str:
        async with outside(settings(config)) as tools:
            brands = [source.name for source in tools.brand_sources]
            people = [source.name for source in tools.people_sources]
            return ", ".join([*brands, *people, *(v.name for v in tools.verifiers)])

    console.print(f"the settings are good; in use: {asyncio.run(run())}", markup=False)
