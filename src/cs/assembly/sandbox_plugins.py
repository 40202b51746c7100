"""Which plug-ins run in a sandbox, and with which of their settings.

Those of other people run as they do in the real world.  Of those that come with the service
some are left out, and the world stands in for what others ask.
"""

from collections.abc import Iterable, Mapping, Sequence

from cs.plugins.plugin_settings import Given, GivenAll
from cs.settings import Settings

#: Sources that tell of the real world by heart; in a made-up one they would mislead.
REAL_ONLY = frozenset({"directory"})
#: What the world stands in for, by section: where it is, is not the settings' to say.
SIMULATED: Mapping[str, frozenset[str]] = {
    "sources": frozenset({"wikidata", "searxng"}),
    "verifiers": frozenset({"smtp"}),
}
#: Every plug-in that comes with the service.
BUILT_IN = REAL_ONLY | {"website"} | SIMULATED["sources"] | SIMULATED["verifiers"]


def names_in_sandbox(names: Sequence[str] | None) -> Sequence[str] | None:
    """Return those of the sources *names* that run; ``None``: all but `REAL_ONLY`.

    >>> names_in_sandbox(["directory", "shop"]), names_in_sandbox(["directory"])
    (['shop'], None)
    """
    if not names:
        return names
    return [name for name in names if name not in REAL_ONLY] or None


def plugins_in_sandbox(plugins: GivenAll) -> GivenAll:
    """Return *plugins* without what was told of that for which the world stands in."""
    return GivenAll(
        sources=_others(plugins.sources, SIMULATED["sources"]),
        verifiers=_others(plugins.verifiers, SIMULATED["verifiers"]),
    )


def sandbox_notices(settings: Settings, asked: Iterable[str]) -> list[str]:
    """Return what an operator may not expect of *settings* in a sandbox, a sentence each.

    Args:
        settings: As they would be for the real world.
        asked: Names of the sources and verifiers that run.
    """
    told = []
    if left_out := sorted(REAL_ONLY.intersection(settings.brand_sources or ())):
        told.append(f"not asked here, as it tells of the real world: {', '.join(left_out)}")
    given = {"sources": settings.plugins.sources, "verifiers": settings.plugins.verifiers}
    if replaced := [
        f"{section}.{name}"
        for section, played in SIMULATED.items()
        for name in sorted(given[section].keys() & played)
    ]:
        told.append(f"settings that the made-up world replaces: {', '.join(replaced)}")
    if others := sorted(set(asked) - BUILT_IN):
        told.append(f"asked as it is set up, wherever that leads: {', '.join(others)}")
    return told


def _others(given: Mapping[str, Given], played: frozenset[str]) -> dict[str, Given]:
    return {name: each for name, each in given.items() if name not in played}
