"""Which plug-ins run in a sandbox, and with which of their settings.

Those of other people run as they do in the real world.  Of those that come with the service
some are left out, and the world stands in for what others ask.
"""

from collections.abc import Iterable, Mapping, Sequence

from cs.plugins.plugin_settings import AllPluginSettings, SettingValues
from cs.settings import Settings

#: Sources with data of the real world built in; in a made-up one they would mislead.
REAL_ONLY = frozenset({"directory", "imported"})
#: Sources with a key: the real ones know no person of a made-up world, and charge for it.
#: Asked only where a table names another ``url``, of something that plays the service.
KEYED = frozenset({"apollo", "brave", "hunter", "pdl", "serper"})
#: Verifiers with a key, of which the same is true.
KEYED_VERIFIERS = frozenset(
    {"hunter", "kickbox", "millionverifier", "neverbounce", "reacher", "zerobounce"}
)
#: What the world stands in for, by section: where it is, is not the settings' to say.
SIMULATED: Mapping[str, frozenset[str]] = {
    "sources": frozenset({"wikidata", "searxng"}),
    "verifiers": frozenset({"smtp"}),
}
#: Settings of what asks a played provider that are not the operator's to say either.
WHERE = frozenset({"url", "key", "calls_per_s", "burst"})
#: Every plug-in that comes with the service.
BUILT_IN = (
    REAL_ONLY
    | KEYED
    | KEYED_VERIFIERS
    | {"website"}
    | SIMULATED["sources"]
    | SIMULATED["verifiers"]
)


def names_in_sandbox(enabled: Sequence[str] | None, installed: Sequence[str]) -> Sequence[str]:
    """Return which of the brand sources *installed* run: those *enabled*, but `REAL_ONLY`.

    Without any that is left, or with ``None`` enabled, all but `REAL_ONLY`.

    >>> installed = ["directory", "shop", "wikidata"]
    >>> names_in_sandbox(["directory", "shop"], installed)
    ['shop']
    >>> names_in_sandbox(["directory"], installed)
    ['shop', 'wikidata']
    """
    run = [name for name in enabled or () if name not in REAL_ONLY]
    nobody_enabled = enabled is not None and not enabled
    if run or nobody_enabled:
        return run
    return [name for name in installed if name not in REAL_ONLY]


def played_in_sandbox(
    enabled: Sequence[str],
    tables: Mapping[str, SettingValues],
    keyed: frozenset[str] = KEYED,
) -> Sequence[str]:
    """Return which of the plug-ins *enabled* run: those that are not *keyed*.

    >>> played_in_sandbox(["brave", "searxng"], {})
    ['searxng']
    """
    return [name for name in enabled if name not in keyed or "url" in tables.get(name, {})]


def plugins_in_sandbox(plugins: AllPluginSettings) -> AllPluginSettings:
    """Return *plugins* without the settings of those for which the world stands in."""
    return AllPluginSettings(
        sources=_others(plugins.sources, SIMULATED["sources"]),
        verifiers=_others(plugins.verifiers, SIMULATED["verifiers"]),
        stages=plugins.stages,
    )


def sandbox_notices(
    settings: Settings, asked: Iterable[str], *, providers: bool = False
) -> list[str]:
    """Return what an operator may not expect of *settings* in a sandbox, a sentence each.

    Args:
        settings: As they would be for the real world.
        asked: Names of the plug-ins that run.
        providers: The world plays the providers with a key.
    """
    notices = []
    if left_out := sorted(REAL_ONLY.intersection(settings.brand_sources or ())):
        notices.append(f"not asked here, as it tells of the real world: {', '.join(left_out)}")
    given = {"sources": settings.plugins.sources, "verifiers": settings.plugins.verifiers}
    keyed = {"sources": KEYED, "verifiers": KEYED_VERIFIERS}
    unplayed = {
        name
        for section, names in keyed.items()
        for name in names & given[section].keys()
        if "url" not in given[section][name]
    }
    if unplayed and not providers:
        told = ", ".join(sorted(unplayed))
        notices.append(f"not asked here, as it would be charged: {told}")
    replaced = [
        f"{section}.{name}"
        for section, played in SIMULATED.items()
        for name, table in sorted(given[section].items())
        # Of what asks a played provider only where it is; its caps and prices count.
        if name in played or (providers and name in keyed[section] and WHERE & table.keys())
    ]
    if replaced:
        notices.append(f"settings that the made-up world replaces: {', '.join(replaced)}")
    if others := sorted(set(asked) - BUILT_IN):
        notices.append(f"asked as it is set up, wherever that leads: {', '.join(others)}")
    return notices


def _others(
    given: Mapping[str, SettingValues], played: frozenset[str]
) -> dict[str, SettingValues]:
    return {name: each for name, each in given.items() if name not in played}
