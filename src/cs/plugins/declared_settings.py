"""How a plug-in says which settings it takes: a struct, next to the function that makes it.

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


#: What a comma in a variable separates.
_LISTS = (
    inspect.TupleType,
    inspect.VarTupleType,
    inspect.ListType,
    inspect.SetType,
    inspect.FrozenSetType,
)


def describe_kind(kind: Any) -> str:
    """Describe what may stand in a setting of the type *kind*.

    >>> describe_kind(int), describe_kind(float | None), describe_kind(tuple[str, ...])
    ('a whole number', 'a number', 'a list of names')
    """
    return _describe(inspect.type_info(kind))


def from_text(kind: Any, text: str) -> Any:
    """Return *text*, of a variable or an option, as a setting of the type *kind* takes it.

    >>> from_text(str, "a,b"), from_text(tuple[str, ...], "a, b")
    ('a,b', ['a', 'b'])
    """
    if not isinstance(_bare(inspect.type_info(kind)), _LISTS):
        return text
    return [part.strip() for part in text.split(",") if part.strip()]


def _bare(kind: inspect.Type) -> inspect.Type:
    """Return *kind* without its `Meta`, and without ``None``."""
    match kind:
        case inspect.Metadata(type=inner):
            return _bare(inner)
        case inspect.UnionType(types=types):
            some = [t for t in types if not isinstance(t, inspect.NoneType)]
            return _bare(some[0]) if len(some) == 1 else kind
        case _:
            return kind


def _describe(kind: inspect.Type) -> str:  # noqa: C901 - a match
    match _bare(kind):
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType(gt=above, ge=low, lt=below, le=high):
            return "a whole number" + _range(above, low, below, high)
        case inspect.FloatType(gt=above, ge=low, lt=below, le=high):
            return "a number" + _range(above, low, below, high)
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.TupleType(item_types=items):
            return f"a list of {len(items)}, each {_describe(items[0])}"
        case inspect.VarTupleType(item_type=inspect.StrType()):
            return "a list of names"
        case (
            inspect.VarTupleType(item_type=item)
            | inspect.ListType(item_type=item)
            | inspect.SetType(item_type=item)
            | inspect.FrozenSetType(item_type=item)
        ):
            return f"a list, each {_describe(item)}"
        case inspect.UnionType(types=types):
            return " or ".join(
                _describe(t) for t in types if not isinstance(t, inspect.NoneType)
            )
        case inspect.DictType() | inspect.StructType():
            return "a table"
        case inspect.CustomType():
            return "a path"
        case _:
            return "a text"


def _range(
    above: float | None, low: float | None, below: float | None, high: float | None
) -> str:
    match above, low, below, high:
        case None, None, None, None:
            return ""
        case None, low, None, high if low is not None and high is not None:
            return f" from {low} to {high}"
        case None, low, None, None:
            return f", {low} or more"
        case _:
            bounds = {"above": above, "at least": low, "below": below, "at most": high}
            limits = [f"{word} {bound}" for word, bound in bounds.items() if bound is not None]
            return " " + ", ".join(limits)
