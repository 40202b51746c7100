"""What can be wrong with a plug-in or its settings, before it is asked anything."""

from typing import TYPE_CHECKING

from cs.plugins.entry_points import Group

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


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


class BadPluginSetting(PluginError):
    """Names the setting, what is wrong and what is allowed; never a secret."""
