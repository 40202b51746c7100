"""Checks the settings of plug-ins against what the installed plug-ins say they take.

Only plug-ins that are given something are loaded.
"""

import difflib
from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec

from cs.plugins.declared_settings import Field, fields
from cs.plugins.plugin_settings import Given
from cs.plugins.setting_kind import from_text, said

#: Where the plug-ins of each section of the settings are found.
GROUPS = {
    "sources": ("cs.brand_sources", "cs.people_sources"),
    "verifiers": ("cs.verifiers",),
}


class BadPluginSetting(Exception):
    """Names the setting, what is wrong and what is allowed; never a secret."""


class Checking:
    """Takes settings of the plug-ins of one section, the later over the earlier.

    A name may stand for a brand source and a people source at once, of one provider: each
    is given what it takes.
    """

    def __init__(self, section: str) -> None:
        self._section = section
        self._known: dict[str, dict[str, Field]] = {}
        self._values: dict[str, dict[str, Any]] = {}

    def take(self, plugin: str, name: str, value: Any) -> str:
        """Take *value*, as it stands in a file, for the setting *name* of *plugin*.

        Returns:
            The full name, ``sources.shop.url``.

        Raises:
            BadPluginSetting: There is no such plug-in or setting, or *value* is none for it.
        """
        known = self._fields(plugin)
        place = f"{self._section}.{plugin}"
        if name not in known:
            meant = _meant(name, known, none="it takes none", there="it takes")
            raise BadPluginSetting(f"{place}: there is no setting {name!r}; {meant}")
        field = known[name]
        values = self._values.setdefault(plugin, {})
        values[name] = _converted(f"{place}.{name}", field, value)
        return f"{place}.{name}"

    def take_text(self, plugin: str, name: str, text: str) -> str:
        """Take *text*, as it stands in a variable, whose names are in any case.

        ``-`` and ``.`` are ``_`` there.

        Raises:
            BadPluginSetting: As `take`.
        """
        plugin = _as_variable(plugin, self._names())
        name = _as_variable(name, self._fields(plugin))
        field = self._fields(plugin).get(name)
        return self.take(plugin, name, from_text(field.kind, text) if field else text)

    def taken(self) -> dict[str, Given]:
        """Return what was taken, by plug-in."""
        return {
            plugin: Given(
                values,
                frozenset(name for name in values if self._known[plugin][name].secret),
            )
            for plugin, values in self._values.items()
        }

    def _names(self) -> Sequence[str]:
        points = (entry_points(group=group) for group in GROUPS[self._section])
        return sorted({point.name for group in points for point in group})

    def _fields(self, plugin: str) -> dict[str, Field]:
        """Return the settings that *plugin* takes, by name.

        Raises:
            BadPluginSetting: It is not installed, or cannot be loaded.
        """
        if plugin in self._known:
            return self._known[plugin]
        groups = (entry_points(group=group, name=plugin) for group in GROUPS[self._section])
        points = [point for group in groups for point in group]
        place = f"{self._section}.{plugin}"
        if not points:
            meant = _meant(plugin, self._names(), none="nothing is", there="installed are")
            raise BadPluginSetting(f"{place}: {plugin!r} is not installed; {meant}")
        found: dict[str, Field] = {}
        for point in points:
            try:
                found = fields(point.load()) | found
            except Exception as error:  # a plug-in is somebody else's code
                why = f"{type(error).__name__}: {error}"
                raise BadPluginSetting(
                    f"{place}: {point.value} cannot be loaded: {why}"
                ) from error
        return self._known.setdefault(plugin, found)


def _converted(place: str, field: Field, value: Any) -> Any:
    try:
        return msgspec.convert(value, field.kind, strict=False, dec_hook=_path)
    except ValueError as error:  # msgspec's own errors are ValueErrors
        about = f" ({field.about})" if field.about else ""
        found = "what it is set to" if field.secret else repr(value)
        raise BadPluginSetting(f"{place}: {said(field.kind)}{about}, not {found}") from (
            None if field.secret else error
        )


def _path(kind: type, value: Any) -> Path:
    if kind is not Path or not isinstance(value, str) or not value:
        raise ValueError
    return Path(value).expanduser()


def _meant(name: str, known: Iterable[str], *, none: str, there: str) -> str:
    names = list(known)
    if not names:
        return none
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"{there} {', '.join(names)}"


def _as_variable(written: str, known: Iterable[str]) -> str:
    """Return the one of *known* that a variable writes as *written*; else *written*."""
    as_written = {_variable(name): name for name in known}
    return as_written.get(_variable(written), written)


def _variable(name: str) -> str:
    return name.replace("-", "_").replace(".", "_").casefold()
