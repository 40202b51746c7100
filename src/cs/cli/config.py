"""``cs config``: the settings in force."""

from cyclopts import App

from cs.assembly.people_directory import open_directory_if_named
from cs.assembly.plugins import StagePlugins, open_plugins, unusable_settings
from cs.assembly.process import check_world
from cs.assembly.shared_settings import check_shared, roles_of, shared_advice
from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import as_text, facts
from cs.settings import load_with_places

app = App(name="config", help="Show and check the settings.")


@app.command
@on_data
def show(at: Invocation) -> Output:
    """Print every setting in force and its origin, secrets masked.

    They come from a TOML file (--config, or CS_CONFIG), then CS_... environment
    variables, then options. Names are the same everywhere: `port = 9000` in the file is
    CS_PORT=9000 in the environment. The settings of the source NAME stand in the table
    [sources.NAME]; `url` there is CS_SOURCES__NAME__URL; [verifiers.NAME] likewise.

    Example: `CS_PORT=9000 cs config show`
    """
    chosen, places = load_with_places(at.config, given={"data_dir": at.data_dir})
    values = chosen.shown()
    lines = (
        f"{name:<19} {as_text(value)}  # {places.get(name, 'default')}"
        for name, value in values.items()
    )
    return Output([{**values, "places": places}], lines)


@app.command
@on_data
async def check(at: Invocation) -> Output:
    """Check the settings, those of plug-ins too, and load every source and verifier used.

    Those of a service over several processes are checked together; nothing is connected to.
    Shows the roles that a process with these settings can have.

    Example: `cs config check --config cs.toml`
    """
    chosen = at.settings()
    check_world(chosen, "live")
    check_shared(chosen)
    directory = await at.opened(open_directory_if_named(chosen))
    there = directory if directory is not None and directory.has_people else None
    tools = await at.opened(open_plugins(chosen, directory=there))
    used = {
        "roles": roles_of(chosen),
        "brand_sources": [source.name for source in tools.brand_sources],
        "people_sources": [source.name for source in tools.people_sources],
        "verifiers": [verifier.name for verifier in tools.verifiers],
        "stages": [stage.name for stage in tools.stages],
        "advice": [*advice(tools), *shared_advice(chosen)],
    }
    return Output([used], ["the settings are good; in use:", *facts(used)])


def advice(tools: StagePlugins) -> list[str]:
    """Return advice about settings to change before searching the real world."""
    found = [f"{setting}: {why}" for setting, why in unusable_settings(tools).items()]
    found += [f"{name}: {why}" for name, why in tools.misconfiguration.reasons.items()]
    if [source.name for source in tools.brand_sources] == ["website"]:
        found.append(
            "brand_sources: website alone finds no brand that is named without a domain"
        )
    return found
