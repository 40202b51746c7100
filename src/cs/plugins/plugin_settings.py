"""The settings that plug-ins were given, secrets never shown."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

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
