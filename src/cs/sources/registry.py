"""Which sources there are: plug-ins, found by entry point.

A distribution offers one with ``[project.entry-points."cs.brand_sources"]`` (or
``"cs.people_sources"``): a function from `Context` to a source.  docs/sources.md shows one
whole.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import msgspec
from structlog import get_logger

from cs.outside.port import Fetcher
from cs.paid_calls.paid import EVERY_TIME, Paid
from cs.plugins.plugin_settings import masked
from cs.sources.port import BrandSource, PeopleSource

log = get_logger()

BRAND_SOURCES = "cs.brand_sources"
PEOPLE_SOURCES = "cs.people_sources"


class BrokenPlugin(Exception):
    """A source that is installed and cannot be used; the message names it and says why."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a source may be made from.

    Attributes:
        trusted: For base URLs from *settings*.
        guarded: For every address that came from a caller or the web.
        settings: This source's own, of those that it says it takes
            (`cs.plugins.declared_settings.takes`) the ones that are set.  Where one is
            missed, the source is not configured, and says so when it is asked.
        now: The time, with its offset.
        paid: For every question that the provider charges for.
    """

    trusted: Fetcher
    guarded: Fetcher
    settings: Mapping[str, Any] = {}
    now: Callable[[], datetime]
    paid: Paid = EVERY_TIME


#: The context for the source with an entry point of that name.
ContextOf = Callable[[str], Context]


def brand_sources(
    context_of: ContextOf,
    *,
    plugins: Iterable[EntryPoint] | None = None,
    enabled: Collection[str] | None = None,
) -> tuple[BrandSource, ...]:
    """Return every brand source installed, in the order of their entry points' names.

    Args:
        context_of: The context for the source with an entry point of that name.
        plugins: The entry points to choose from; those of the group if ``None``.
        enabled: The names that are used; what cannot be made of the others is left out.

    Raises:
        BrokenPlugin: One that is used cannot be loaded, made, or has the name of another.
    """
    return _made(BRAND_SOURCES, context_of, plugins, enabled)


def people_sources(
    context_of: ContextOf,
    *,
    plugins: Iterable[EntryPoint] | None = None,
    enabled: Collection[str] | None = None,
) -> tuple[PeopleSource, ...]:
    """Return every people source installed; otherwise as `brand_sources`."""
    return _made(PEOPLE_SOURCES, context_of, plugins, enabled)


def _made(
    group: str,
    context_of: ContextOf,
    plugins: Iterable[EntryPoint] | None,
    enabled: Collection[str] | None,
) -> tuple[Any, ...]:
    installed = entry_points(group=group) if plugins is None else plugins
    made: dict[str, Any] = {}
    for plugin in sorted(installed, key=lambda one: one.name):
        try:
            source = _make(group, plugin, context_of(plugin.name))
        except BrokenPlugin as broken:
            if enabled is None or plugin.name in enabled:
                raise
            log.warning("disabled_source_left_out", source=plugin.name, why=str(broken))
            continue
        if source.name in made:
            raise BrokenPlugin(
                f"{_told(group, plugin)}: there is a source {source.name!r} already"
            )
        made[source.name] = source
    return tuple(made.values())


def _make(group: str, plugin: EntryPoint, context: Context) -> Any:
    try:
        source = plugin.load()(context)
    except Exception as error:
        why = masked(f"{type(error).__name__}: {error}", context.settings)
        raise BrokenPlugin(f"{_told(group, plugin)}: {why}") from error
    if not isinstance(getattr(source, "name", None), str) or not callable(
        getattr(source, "find", None)
    ):
        raise BrokenPlugin(f"{_told(group, plugin)}: made {source!r}, which is no source")
    return source


def _told(group: str, plugin: EntryPoint) -> str:
    where = f" of {plugin.dist.name}" if plugin.dist else ""
    return f"source {plugin.name!r} ({group}, {plugin.value}{where})"
