"""The settings with which plug-ins ask the providers that a sandbox plays."""

from collections.abc import Mapping

from cs.plugins.plugin_settings import NO_SETTINGS, AllPluginSettings, PluginSettings
from cs.sandbox.providers.adapters import ADAPTERS, KEY
from cs.settings import Settings

#: Calls a second, and at once, as many as the adapters take: played providers have no limit.
_FAST = (1000.0, 1000)
_LIMITED = {("verifiers", "hunter"): (10.0, 10), ("verifiers", "kickbox"): (133.0, 25)}


def with_played_providers(plugins: AllPluginSettings, url: str) -> AllPluginSettings:
    """Return *plugins* of which those with a key ask the providers played at *url*.

    What *plugins* say besides, such as caps and prices, stays.
    """
    given: Mapping[str, Mapping[str, PluginSettings]] = {
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
            tables[section][name] = PluginSettings(table, frozenset({"key"})).with_defaults(
                before
            )
    return AllPluginSettings(**tables, stages=plugins.stages)


def providers_url(settings: Settings) -> str:
    """Return where the providers are played that *settings* are pointed at."""
    url: str = settings.plugins.sources["brave"]["url"]
    return url.rpartition("/")[0]
