"""The settings that plug-ins were given, secrets never shown."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

MASK = "********"


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
            name: MASK if name in self._secret and value is not None else value
            for name, value in self._values.items()
        }

    def with_defaults(self, values: Mapping[str, Any]) -> "PluginSettings":
        """Return this with those of *values* that are not set here."""
        return PluginSettings({**values, **self._values}, self._secret)

    def secrets(self) -> list[str]:
        """Return the secrets there are, the longest first."""
        secrets = (str(self._values[name]) for name in self._secret & self._values.keys())
        return sorted(filter(None, secrets), key=len, reverse=True)


NO_SETTINGS = PluginSettings({})


def without_secrets(text: str, settings: Mapping[str, Any]) -> str:
    """Return *text* without the secrets of *settings*, nor as code or URLs write them.

    Plain settings, which a test may give, have none.

    >>> settings = PluginSettings({"token": "a b'c"}, frozenset({"token"}))
    >>> without_secrets("a b'c, a%20b%27c", settings)
    '********, ********'
    """
    secrets = settings.secrets() if isinstance(settings, PluginSettings) else []
    for secret in secrets:
        text = text.replace(secret, MASK)
    for secret in secrets:
        for form in (repr(secret)[1:-1], ascii(secret)[1:-1], quote(secret, safe="")):
            text = text.replace(form, MASK)
    return text


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
