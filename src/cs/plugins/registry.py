"""Makes the plug-ins that are in use: brand sources, people sources, verifiers and stages.

What an entry point names is called with the context of that plug-in, and gives the plug-in,
which has the name of its entry point: settings, log and answers know it by that one name.
Plug-ins that are not in use are not even loaded.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import EntryPoint
from typing import Any

from cs.domain.stages.table import OWN_STAGES
from cs.plugins.containment import Plugin
from cs.plugins.entry_points import (
    BrokenPlugin,
    Group,
    UnknownPlugin,
    factory,
    installed_plugins,
    names_of,
)
from cs.plugins.paid_context import PaidContext
from cs.plugins.plugin_settings import without_secrets

#: The method that a plug-in of each group is asked with.
_ASKED_WITH = {
    Group.BRAND_SOURCES: "find",
    Group.PEOPLE_SOURCES: "find",
    Group.VERIFIERS: "open",
    Group.STAGES: "handle",
    Group.EXTRA_STAGES: "handle",
}


def load_plugins(
    group: Group,
    context_of: Callable[[str], PaidContext],
    *,
    enabled: Sequence[str] | None = None,
    installed: Iterable[EntryPoint] | None = None,
) -> tuple[Any, ...]:
    """Return the plug-ins of *group* that are in use, in the order of *enabled*.

    Verifiers come cheapest first, then by name; one whose function returns ``None`` is not
    configured, and left out.  A stage must have the name of one of ours.

    Args:
        group: What is made.
        context_of: The context for the plug-in of that name.
        enabled: Names to use; all that are installed, sorted by name, if ``None``.
        installed: The entry points to choose from; those of the group if ``None``.

    Raises:
        UnknownPlugin: *enabled* names one that is not installed.
        BrokenPlugin: One in use cannot be loaded or made, is not of its kind, has another name
            than its entry point, or is installed twice.
    """
    points = list(installed_plugins(group) if installed is None else installed)
    names = names_of(points)
    made = []
    for name in names if enabled is None else dict.fromkeys(enabled):
        if name not in names:
            raise UnknownPlugin(group, name, names)
        point, *others = [point for point in points if point.name == name]
        if others:
            raise BrokenPlugin(group, point, f"{others[0].value} has that name, too")
        plugin = _make(group, point, context_of(name))
        if plugin is not None:
            made.append(plugin)
    if group is Group.VERIFIERS:
        made.sort(key=lambda verifier: (verifier.cost, verifier.name))
    return tuple(made)


def _make(group: Group, point: EntryPoint, context: PaidContext) -> Any:
    """Return what *point* makes; ``None`` if it is a verifier that is not configured."""
    try:
        with Plugin(group.kind, point.name, context.settings).speaking():
            plugin = factory(point)(context)
        if plugin is None and group is Group.VERIFIERS:
            return None
        wrong = _wrong(group, plugin, point.name)
    except Exception as error:  # a plug-in is foreign code
        why = without_secrets(f"{type(error).__name__}: {error}", context.settings)
        raise BrokenPlugin(group, point, why) from error
    if wrong is not None:
        raise BrokenPlugin(group, point, without_secrets(wrong, context.settings))
    return plugin


def _wrong(group: Group, plugin: Any, name: str) -> str | None:
    """Say what *plugin* lacks of what its *group* needs; its own words only for its name."""
    its_name = getattr(plugin, "name", None)
    if its_name is None or not callable(getattr(plugin, _ASKED_WITH[group], None)):
        return f"it made a {type(plugin).__name__}, which is no {group.kind}"
    if its_name != name:
        return f"it calls itself {its_name!r}"
    if group is Group.STAGES and name not in OWN_STAGES:
        return f"no stage is called so; there are {', '.join(OWN_STAGES)}"
    if group is Group.VERIFIERS and not isinstance(plugin.cost, int | float):
        return f"its cost is a {type(plugin.cost).__name__}"
    return None
