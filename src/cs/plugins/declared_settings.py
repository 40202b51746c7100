"""How a plug-in says which settings it takes: a struct, beside the function that makes it.

```python
class ShopSettings(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[str | None, Meta(description="base address of the API")] = None
    pin: Annotated[str, SECRET] = ""


@takes(ShopSettings)
def from_context(context: SourceContext) -> Shop: ...
```

The values stand in the context's ``settings``, in the struct's types, those that are set;
``msgspec.convert(context.settings, ShopSettings)`` adds the defaults.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Meta, inspect

from cs.runtime.redaction import is_secret_name

ContextT = TypeVar("ContextT")
MadeT = TypeVar("MadeT")

#: Marks a setting that is never shown; names that say so need no mark (`is_secret_name`).
SECRET = Meta(extra={"secret": True})


class NoSettings(msgspec.Struct, frozen=True):
    """The settings of a plug-in that takes none."""


class PluginFactory(Generic[ContextT, MadeT]):
    """A function that makes a plug-in, and the settings that it takes."""

    def __init__(
        self, make: Callable[[ContextT], MadeT], settings: type[msgspec.Struct]
    ) -> None:
        self._make = make
        self.settings = settings

    def __call__(self, context: ContextT) -> MadeT:
        return self._make(context)


def takes(
    settings: type[msgspec.Struct],
) -> Callable[[Callable[[ContextT], MadeT]], PluginFactory[ContextT, MadeT]]:
    """Declare the *settings* of the plug-in that the function below makes."""
    return lambda make: PluginFactory(make, settings)


class SettingField(msgspec.Struct, frozen=True):
    """One setting that a plug-in takes."""

    name: str
    kind: Any  # its type
    about: str | None
    secret: bool


def fields(factory: object) -> dict[str, SettingField]:
    """Return the settings that what an entry point names says it takes, by name."""
    declared = factory.settings if isinstance(factory, PluginFactory) else NoSettings
    return {
        field.encode_name: _field(field.encode_name, field.type)
        for field in msgspec.structs.fields(declared)
    }


def _field(name: str, kind: Any) -> SettingField:
    extra: dict[str, Any] = {}
    schema: dict[str, Any] = {}
    annotated = inspect.type_info(kind)
    while isinstance(annotated, inspect.Metadata):
        extra |= annotated.extra or {}
        schema |= annotated.extra_json_schema or {}
        annotated = annotated.type
    secret = bool(extra.get("secret")) or is_secret_name(name)
    return SettingField(name, kind, schema.get("description"), secret)
