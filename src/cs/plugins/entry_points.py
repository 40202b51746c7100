"""Where plug-ins are found: groups of entry points of the distributions that are installed.

Also the errors of a plug-in before it is asked anything.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Group(StrEnum):
    """Entry points of one kind of plug-in."""

    BRAND_SOURCES = "cs.brand_sources"
    PEOPLE_SOURCES = "cs.people_sources"
    VERIFIERS = "cs.verifiers"
    STAGES = "cs.stages"
    EXTRA_STAGES = "cs.extra_stages"

    @property
    def setting(self) -> str:
        """The setting that names which of them are used."""
        return self.value.removeprefix("cs.")

    @property
    def kind(self) -> str:
        """Return the name of one of them.

        >>> Group.PEOPLE_SOURCES.kind
        'people source'
        """
        return self.setting.removesuffix("s").replace("_", " ")


def installed_plugins(*groups: Group) -> "list[EntryPoint]":
    """Return what is installed in *groups*, sorted by name; none of it is loaded."""
    # Imported here: all code that reads settings imports this, and few have any of a plug-in.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found = (point for group in groups for point in entry_points(group=group))
    return sorted(found, key=lambda point: point.name)


def names_of(points: "Iterable[EntryPoint]") -> list[str]:
    """Return the names of *points*, each once, sorted."""
    return sorted({point.name for point in points})


def factory(point: "EntryPoint") -> Any:
    """Load what makes the plug-in of *point*; the row of an extra stage names it."""
    loaded = point.load()
    return loaded.make if point.group == Group.EXTRA_STAGES else loaded


class PluginError(Exception):
    """A plug-in cannot be used as it is installed or set up."""


class UnknownPlugin(PluginError):
    """The settings name a plug-in that is not installed."""

    def __init__(self, group: Group, name: str, installed: list[str]) -> None:
        names = ", ".join(installed) or "nothing"
        super().__init__(f"{group.setting}: {name!r} is not installed; there are {names}")
        self.name = name


class BrokenPlugin(PluginError):
    """A plug-in is installed and cannot be used; the message names it and says why."""

    def __init__(self, group: Group, point: "EntryPoint", why: str) -> None:
        where = f"{point.value} of {point.dist.name}" if point.dist else point.value
        super().__init__(f"{group.kind} {point.name!r} ({where}) cannot be used: {why}")
        self.name = point.name
