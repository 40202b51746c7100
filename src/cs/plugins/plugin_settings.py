"""The settings that plug-ins were given, secrets never shown, and the check of them.

Only plug-ins that are given something are loaded.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from cs.plugins.declared_settings import SettingField, describe_kind, fields, from_text
from cs.plugins.entry_points import (
    BadPluginSetting,
    Group,
    factory,
    installed_plugins,
    names_of,
)
from cs.runtime import redaction
from cs.runtime.redaction import MASK


class PluginSettings(Mapping[str, Any]):
    """The settings of one plug-in that are set; printing it shows no secret."""

    def __init__(self, values: Mapping[str, Any], secret: frozenset[str] = frozenset()) -> None:
        self._values = dict(values)
        self._secret = secret

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"PluginSettings({self.shown()})"

    def shown(self) -> dict[str, Any]:
        """Return the values for people, secrets masked."""
        return {
            name: MASK
            if name in self._secret and value is not None
            else redaction.redacted(value)
            for name, value in self._values.items()
        }

    def with_defaults(self, values: Mapping[str, Any]) -> "PluginSettings":
        """Return this with those of *values* that are not set here."""
        return PluginSettings({**values, **self._values}, self._secret)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """Every secret, those inside addresses too."""
        found: list[str] = []
        for name, value in self._values.items():
            inside = redaction.all_texts if name in self._secret else redaction.secrets_in
            found += inside(value)
        return tuple(found)


NO_SETTINGS = PluginSettings({})


def without_secrets(text: str, settings: Mapping[str, Any]) -> str:
    """Return *text* without the secrets of *settings*, nor as code or URLs write them.

    Plain settings, which a test may give, have none.

    >>> settings = PluginSettings({"token": "a b'c"}, frozenset({"token"}))
    >>> without_secrets("a b'c, a%20b%27c", settings)
    '********, ********'
    """
    secrets = settings.secrets if isinstance(settings, PluginSettings) else ()
    return redaction.without_secrets(text, secrets)


class AllPluginSettings(msgspec.Struct, frozen=True):
    """The settings of every plug-in, by the name of its entry point."""

    sources: Mapping[str, PluginSettings] = {}
    verifiers: Mapping[str, PluginSettings] = {}
    stages: Mapping[str, PluginSettings] = {}

    def shown(self) -> dict[str, Any]:
        """Return the values for people under their full names: ``sources.shop.url``."""
        sections = msgspec.structs.asdict(self)
        return {
            f"{section}.{plugin}.{name}": value
            for section, plugins in sections.items()
            for plugin, settings in plugins.items()
            for name, value in settings.shown().items()
        }

    def secrets(self) -> list[str]:
        """Return every secret of every plug-in."""
        sections = msgspec.structs.asdict(self).values()
        return [
            secret
            for plugins in sections
            for each in plugins.values()
            for secret in each.secrets
        ]


#: The kinds of plug-ins whose tables stand in each section of the settings.
SECTIONS: Mapping[str, tuple[Group, ...]] = {
    "sources": (Group.BRAND_SOURCES, Group.PEOPLE_SOURCES),
    "verifiers": (Group.VERIFIERS,),
    "stages": (Group.STAGES, Group.EXTRA_STAGES),
}


class SectionSettings:
    """Collects the settings of the plug-ins of one section, the later over the earlier.

    A name may stand for a brand source and a people source at once, of one provider: each
    is given what it takes.
    """

    def __init__(self, section: str) -> None:
        self._section = section
        self._fields_of: dict[str, dict[str, SettingField]] = {}
        self._values: dict[str, dict[str, Any]] = {}

    def set(self, plugin: str, name: str, value: Any) -> str:
        """Set the setting *name* of *plugin* to *value*, as it stands in a file.

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

    def set_from_text(self, plugin: str, name: str, text: str) -> str:
        """Set it to *text*, as it stands in a variable, whose names are in any case.

        ``-`` and ``.`` are ``_`` there.

        Raises:
            BadPluginSetting: As `set`.
        """
        plugin = _as_variable(plugin, self._installed())
        name = _as_variable(name, self._fields(plugin))
        field = self._fields(plugin).get(name)
        return self.set(plugin, name, from_text(field.kind, text) if field else text)

    def by_plugin(self) -> dict[str, PluginSettings]:
        """Return what was set."""
        return {
            plugin: PluginSettings(
                values,
                frozenset(name for name in values if self._fields_of[plugin][name].secret),
            )
            for plugin, values in self._values.items()
        }

    def _installed(self) -> list[str]:
        return names_of(installed_plugins(*SECTIONS[self._section]))

    def _fields(self, plugin: str) -> dict[str, SettingField]:
        """Return the settings that *plugin* takes, by name.

        Raises:
            BadPluginSetting: It is not installed, or cannot be loaded.
        """
        if plugin in self._fields_of:
            return self._fields_of[plugin]
        installed = installed_plugins(*SECTIONS[self._section])
        points = [point for point in installed if point.name == plugin]
        place = f"{self._section}.{plugin}"
        if not points:
            names = names_of(installed)
            meant = _meant(plugin, names, none="nothing is", there="installed are")
            raise BadPluginSetting(f"{place}: {plugin!r} is not installed; {meant}")
        found: dict[str, SettingField] = {}
        for point in points:
            try:
                found = fields(factory(point)) | found
            except Exception as error:  # a plug-in is foreign code
                why = f"{type(error).__name__}: {error}"
                raise BadPluginSetting(
                    f"{place}: {point.value} cannot be loaded: {why}"
                ) from error
        return self._fields_of.setdefault(plugin, found)


def _converted(place: str, field: SettingField, value: Any) -> Any:
    try:
        return msgspec.convert(value, field.kind, strict=False, dec_hook=_path)
    except ValueError:  # msgspec's own errors are ValueErrors
        about = f" ({field.about})" if field.about else ""
        found = "what it is set to" if field.secret else repr(redaction.redacted(value))
        raise BadPluginSetting(
            f"{place}: {describe_kind(field.kind)}{about}, not {found}"
        ) from None  # its words quote the value


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
