"""Where plug-ins are found: groups of entry points of the distributions that are installed."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Group(StrEnum):
    """Entry points of one kind of plug-in."""

    BRAND_SOURCES = "cs.brand_sources"
    PEOPLE_SOURCES = "cs.people_sources"
    VERIFIERS = "cs.verifiers"
    STAGES = "cs.stages"

    @property
    def setting(self) -> str:
        """The setting that names which of them are used."""
        return self.value.removeprefix("cs.")

    @property
    def kind(self) -> str:
        """What one of them is called.

        >>> Group.PEOPLE_SOURCES.kind
        'people source'
        """
        return self.setting.removesuffix("s").replace("_", " ")


def installed_plugins(*groups: Group) -> "list[EntryPoint]":
    """Return what is installed in *groups*, sorted by name; none of it is loaded."""
    # Imported here: whoever reads settings imports this, and few have any of a plug-in.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found = (point for group in groups for point in entry_points(group=group))
    return sorted(found, key=lambda point: point.name)


def names_of(points: "Iterable[EntryPoint]") -> list[str]:
    """Return the names of *points*, each once, sorted."""
    return sorted({point.name for point in points})
