"""A made-up world, and the settings of a service in one process that point at it.

Only who runs such a world imports it: a live service starts sooner without one.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.sandbox_plugins import plugins_in_sandbox
from cs.http_server.errors import CannotListen
from cs.plugins.plugin_settings import NO_SETTINGS, AllPluginSettings, SettingValues
from cs.sandbox import ADAPTERS, KEY
from cs.sandbox.run import Addresses, open_sandbox
from cs.sandbox.shapes import World as SandboxWorld
from cs.settings import Settings

#: Calls a second, and at once, as many as the adapters take: played providers have no limit.
_FAST = (1000.0, 1000)
_LIMITED = {("verifiers", "hunter"): (10.0, 10), ("verifiers", "kickbox"): (133.0, 25)}


@asynccontextmanager
async def run_sandbox(
    settings: Settings,
    world: SandboxWorld,
    folder: Path,
    clock: SandboxClock,
    *,
    providers: bool = False,
) -> AsyncIterator[Settings]:
    """Run *world* until left, its certificates in *folder*; yield *settings* pointed at it.

    With *providers* the sources and verifiers with a key are played, too.

    Raises:
        CannotListen: This machine lacks the loopback addresses that it needs.
    """
    running = open_sandbox(
        world, folder=folder, providers=providers, clock=clock.monotonic, sleep=clock.sleep
    )
    async with AsyncExitStack() as stack:
        try:
            addresses = await stack.enter_async_context(running)
        except OSError as error:
            raise CannotListen(
                f"the sandbox world cannot start: {error}; "
                "it needs the addresses 127.x.y.z of this machine (docs/sandbox.md)"
            ) from error
        yield settings_for_sandbox(settings, addresses)


def settings_for_sandbox(settings: Settings, addresses: Addresses) -> Settings:
    """Return *settings* of a service that asks the made-up world at *addresses*."""
    plugins = plugins_in_sandbox(settings.plugins)
    if addresses.providers_url is not None:
        plugins = with_played_providers(plugins, addresses.providers_url)
    return msgspec.structs.replace(
        settings,
        plugins=plugins,
        wikidata_url=addresses.wikidata_url,
        searxng_url=addresses.searxng_url,
        dns=addresses.dns,
        smtp_port=addresses.smtp_port,
        smtp_helo="contact-search.sandbox.test",
        smtp_mail_from="probe@contact-search.sandbox.test",
        web_ports=addresses.web_ports,
        ca_file=addresses.ca_file,
        allow_networks=addresses.allow_networks,
    )


def with_played_providers(plugins: AllPluginSettings, url: str) -> AllPluginSettings:
    """Return *plugins* of which those with a key ask the providers played at *url*.

    What else *plugins* say, such as caps and prices, stays.
    """
    given: Mapping[str, Mapping[str, SettingValues]] = {
        "sources": plugins.sources,
        "verifiers": plugins.verifiers,
    }
    tables = {section: dict(tables) for section, tables in given.items()}
    for section, names in ADAPTERS.items():
        for name, end in names.items():
            calls_per_s, burst = _LIMITED.get((section, name), _FAST)
            table = {
                "url": f"{url}/{name}{end}",
                "key": KEY,
                "calls_per_s": calls_per_s,
                "burst": burst,
            }
            before = tables[section].get(name, NO_SETTINGS)
            tables[section][name] = SettingValues(table, frozenset({"key"})).with_defaults(
                before
            )
    return AllPluginSettings(**tables, stages=plugins.stages)


def providers_url(settings: Settings) -> str:
    """Return where the providers are played that *settings* are pointed at."""
    url: str = settings.plugins.sources["brave"]["url"]
    return url.rpartition("/")[0]
