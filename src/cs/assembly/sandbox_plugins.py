"""Which plug-ins are asked, and in a sandbox with which of their settings.

Those of other people run as they do in the real world.  Of those that come with the service
some are left out, and the world stands in for what others ask.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from cs.domain.service import World
from cs.plugins.entry_points import Group, installed_plugins, names_of
from cs.plugins.plugin_settings import NO_SETTINGS, AllPluginSettings, SettingValues
from cs.sandbox import ADAPTERS
from cs.settings import Settings

#: Sources with data of the real world built in; in a made-up one they would mislead.
REAL_ONLY = frozenset({"directory", "imported"})
#: Plug-ins of the service with a key.  The real services know no person of a made-up world, and
#: charge for it: in a sandbox they are asked only where a table names another ``url``.
KEYED: Mapping[Group, Collection[str]] = {
    Group.BRAND_SOURCES: ADAPTERS["sources"].keys(),
    Group.PEOPLE_SOURCES: ADAPTERS["sources"].keys(),
    Group.VERIFIERS: ADAPTERS["verifiers"].keys(),
}
#: What the world stands in for, by section: where it is, is not the settings' to say.
SIMULATED: Mapping[str, frozenset[str]] = {
    "sources": frozenset({"wikidata", "searxng"}),
    "verifiers": frozenset({"smtp"}),
}
#: Settings of what asks a played provider that are not the operator's to say either.
WHERE = frozenset({"url", "key", "calls_per_s", "burst"})
#: Every plug-in that comes with the service.
BUILT_IN = frozenset({"website"}).union(REAL_ONLY, *KEYED.values(), *SIMULATED.values())


def asked_names(settings: Settings, group: Group, world: World) -> Sequence[str]:
    """Return the plug-ins of *group* to ask in *world*: those named, else all installed.

    Of the service's own sources that no setting names, the ones without a key are left out:
    every search would report that they are not set up.  In a sandbox `REAL_ONLY` brand sources
    are left out; if no other is named, all that are installed are asked.
    """
    named: Sequence[str] | None = getattr(settings, group.setting)
    tables = _tables(settings, group)
    usable = [
        name
        for name in names_of(installed_plugins(group))
        if group is Group.VERIFIERS
        or name not in KEYED[group]
        or tables.get(name, NO_SETTINGS).get("key")
    ]
    names = usable if named is None else named
    if world == "sandbox" and group is Group.BRAND_SOURCES:
        names = [name for name in names if name not in REAL_ONLY]
        if named and not names:
            names = [name for name in usable if name not in REAL_ONLY]
    return played(settings, group, names, world)


def played(
    settings: Settings, group: Group, names: Sequence[str], world: World
) -> Sequence[str]:
    """Return those of *names* that are asked in *world*: in a sandbox no real service."""
    if world == "live":
        return names
    tables = _tables(settings, group)
    return [name for name in names if name not in KEYED[group] or "url" in tables.get(name, {})]


def _tables(settings: Settings, group: Group) -> Mapping[str, SettingValues]:
    plugins = settings.plugins
    return plugins.verifiers if group is Group.VERIFIERS else plugins.sources


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
    unplayed = {
        name
        for section, names in ADAPTERS.items()
        for name in names.keys() & given[section].keys()
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
        if name in played or (providers and name in ADAPTERS[section] and WHERE & table.keys())
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
