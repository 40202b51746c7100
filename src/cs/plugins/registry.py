"""Makes the plug-ins that are in use: brand sources, people sources and verifiers.

What an entry point names is called with the context of that plug-in, and gives the plug-in,
which has the name of its entry point: settings, log and answers know it by that one name.
Plug-ins that are not in use are not even loaded.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from cs.plugins.entry_points import Group, installed_plugins, names_of
from cs.plugins.errors import BrokenPlugin, UnknownPlugin
from cs.plugins.plugin_settings import without_secrets
from cs.plugins.sources import BrandSource, PeopleSource, SourceContext
from cs.plugins.verifiers import Verifier, VerifierContext

C = TypeVar("C", SourceContext, VerifierContext)


def brand_sources(
    context_of: Callable[[str], SourceContext],
    *,
    enabled: Sequence[str] | None = None,
    installed: Iterable[EntryPoint] | None = None,
) -> tuple[BrandSource, ...]:
    """Return the brand sources in the order of *enabled*, else sorted by name.

    Args:
        context_of: The context for the source of that name.
        enabled: Names to use; all that are installed if ``None``.
        installed: The entry points to choose from; those of the group if ``None``.

    Raises:
        UnknownPlugin: *enabled* names one that is not installed.
        BrokenPlugin: One in use cannot be loaded or made, is no source, has another name than
            its entry point, or is installed twice.
    """
    return tuple(_made(Group.BRAND_SOURCES, "find", context_of, enabled, installed))


def people_sources(
    context_of: Callable[[str], SourceContext],
    *,
    enabled: Sequence[str] | None = None,
    installed: Iterable[EntryPoint] | None = None,
) -> tuple[PeopleSource, ...]:
    """Return the people sources; otherwise as `brand_sources`."""
    return tuple(_made(Group.PEOPLE_SOURCES, "find", context_of, enabled, installed))


def verifiers(
    context_of: Callable[[str], VerifierContext],
    *,
    enabled: Sequence[str] | None = None,
    installed: Iterable[EntryPoint] | None = None,
) -> tuple[Verifier, ...]:
    """Return the verifiers that are configured, cheapest first, then by name.

    One whose function returns ``None`` is not configured.  Otherwise as `brand_sources`.
    """
    made = _made(Group.VERIFIERS, "open", context_of, enabled, installed)
    return tuple(sorted(made, key=lambda verifier: (verifier.cost, verifier.name)))


def _made(
    group: Group,
    method: str,
    context_of: Callable[[str], C],
    enabled: Sequence[str] | None,
    installed: Iterable[EntryPoint] | None,
) -> list[Any]:
    """Return the plug-ins of *group* that are in use and configured.

    Args:
        group: What is made.
        method: What such a plug-in is asked with.
        context_of: As `brand_sources`, like the rest.
        enabled: As there.
        installed: As there.
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
        if plugin is None and group is Group.VERIFIERS:
            continue
        its_name = getattr(plugin, "name", None)
        if its_name is None or not callable(getattr(plugin, method, None)):
            raise BrokenPlugin(group, point, f"{plugin!r} is no {group.kind}")
        if its_name != name:
            raise BrokenPlugin(group, point, f"it calls itself {its_name!r}")
        made.append(plugin)
    return made


def _make(group: Group, point: EntryPoint, context: C) -> Any:
    try:
        return point.load()(context)
    except Exception as error:  # a plug-in is somebody else's code
        why = without_secrets(f"{type(error).__name__}: {error}", context.settings)
        raise BrokenPlugin(group, point, why) from error
