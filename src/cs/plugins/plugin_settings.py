"""The settings that plug-ins were given, secrets never shown."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

MASK = "********"


class Given(Mapping[str, Any]):
    """What one plug-in was given; printing it shows no secret."""

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
        return f"Given({self.shown()})"

    def shown(self) -> dict[str, Any]:
        """Return the values for people, secrets masked."""
        return {
            name: MASK if name in self._secret and value is not None else value
            for name, value in self._values.items()
        }

    def over(self, values: Mapping[str, Any]) -> "Given":
        """Return this with *values* where it has none."""
        return Given({**values, **self._values}, self._secret)

    def secrets(self) -> list[str]:
        """Return the secrets there are, the longest first."""
        secrets = (str(self._values[name]) for name in self._secret & self._values.keys())
        return sorted(filter(None, secrets), key=len, reverse=True)

    def masked(self, text: str) -> str:
        """Return *text* without the secrets, should it repeat one."""
        for secret in self.secrets():
            text = text.replace(secret, MASK)
        return text


NOTHING = Given({})


def masked(text: str, settings: Mapping[str, Any]) -> str:
    """Return *text* without the secrets of *settings*, which a test may give plain."""
    return settings.masked(text) if isinstance(settings, Given) else text


class GivenAll(msgspec.Struct, frozen=True):
    """What every plug-in was given, by the name of its entry point."""

    sources: Mapping[str, Given] = {}
    verifiers: Mapping[str, Given] = {}

    def shown(self) -> dict[str, Any]:
        """Return the values for people under their full names: ``sources.shop.url``."""
        sections = {"sources": self.sources, "verifiers": self.verifiers}
        return {
            f"{section}.{plugin}.{name}": value
            for section, plugins in sections.items()
            for plugin, given in plugins.items()
            for name, value in given.shown().items()
        }
