"""The settings that plug-ins were given, and those that each takes; secrets are never shown."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from cs.plugins.declared_settings import BadSetting, SettingField, fields_of
from cs.plugins.entry_points import Group, factory, installed_plugins, names_of
from cs.runtime import redaction
from cs.runtime.redaction import MASK


class SettingValues(Mapping[str, Any]):
    """Settings of one plug-in, or of the service; printing them shows no secret."""

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
        return f"SettingValues({self.shown()})"

    def shown(self) -> dict[str, Any]:
        """Return the values for people, secrets masked."""
        return {
            name: MASK
            if name in self._secret and value is not None
            else redaction.redacted(value)
            for name, value in self._values.items()
        }

    def with_defaults(self, values: Mapping[str, Any]) -> "SettingValues":
        """Return this with those of *values* that are not set here."""
        return SettingValues({**values, **self._values}, self._secret)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """Every secret, those inside addresses too."""
        found: list[str] = []
        for name, value in self._values.items():
            inside = redaction.all_texts if name in self._secret else redaction.secrets_in
            found += inside(value)
        return tuple(found)


NO_SETTINGS = SettingValues({})


def without_secrets(text: str, settings: Mapping[str, Any]) -> str:
    """Return *text* without the secrets of *settings*, nor as code or URLs write them.

    Plain settings, which a test may give, have none.

    >>> settings = SettingValues({"token": "a b'c"}, frozenset({"token"}))
    >>> without_secrets("a b'c, a%20b%27c", settings)
    '********, ********'
    """
    secrets = settings.secrets if isinstance(settings, SettingValues) else ()
    return redaction.without_secrets(text, secrets)


class AllPluginSettings(msgspec.Struct, frozen=True):
    """The settings of every plug-in, by the name of its entry point."""

    sources: Mapping[str, SettingValues] = {}
    verifiers: Mapping[str, SettingValues] = {}
    stages: Mapping[str, SettingValues] = {}

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


def settings_of(section: str, plugin: str) -> dict[str, SettingField]:
    """Return the settings that *plugin* of *section* takes, by name.

    A name may stand for a brand source and a people source at once, of one provider: it takes
    the settings of both.

    Raises:
        BadSetting: It is not installed, or cannot be loaded.
    """
    installed = installed_plugins(*SECTIONS[section])
    points = [point for point in installed if point.name == plugin]
    if not points:
        meant = did_you_mean(plugin, names_of(installed))
        raise BadSetting(f"{section}.{plugin}: {plugin!r} is not installed; {meant}")
    found: dict[str, SettingField] = {}
    for point in points:
        try:
            found = fields_of(factory(point)) | found
        except Exception as error:  # a plug-in is foreign code
            why = f"{point.value} cannot be loaded: {type(error).__name__}: {error}"
            raise BadSetting(f"{section}.{plugin}: {why}") from error
    return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return what a person may have meant who wrote *name*, which none of *known* is.

    >>> did_you_mean("prot", ["host", "port"]), did_you_mean("x", ["host", "port"])
    ("did you mean 'port'?", 'there are host, port')
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
