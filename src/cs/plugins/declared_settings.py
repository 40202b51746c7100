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
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, inspect
from msgspec.structs import replace

from cs.runtime.redaction import is_secret_name, redacted

ContextT = TypeVar("ContextT")
MadeT = TypeVar("MadeT")

#: Marks a setting that is never shown; names that say so need no mark (`is_secret_name`).
SECRET = Meta(extra={"secret": True})


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


class Form(NamedTuple):
    """What may stand in a setting whose type does not say all of it; part of its annotation.

    Attributes:
        text: For people.
        fits: Whether a value, of the right type and not ``None``, has the form; it may raise
            ValueError or OSError instead.
    """

    text: str
    fits: Callable[..., bool]


class BadSetting(ValueError):
    """Says what is wrong with a setting and what is allowed; never a secret."""


class SettingField(msgspec.Struct, frozen=True):
    """One setting: of the service, or one that a plug-in takes."""

    kind: Any  # its type
    secret: bool
    about: str | None = None
    form: Form | None = None

    @property
    def allowed(self) -> str:
        """Describe what may stand in it, for people."""
        return describe_kind(self.kind) if self.form is None else self.form.text

    def convert(self, value: Any) -> Any:
        """Return *value*, of a file, a variable or an option, in the type of the setting.

        Raises:
            BadSetting: It is none for it.
        """
        try:
            found = msgspec.convert(value, self.kind, strict=False, dec_hook=_path)
            if self.form is None or found is None or self.form.fits(found):
                return found
        except (ValueError, OSError):  # msgspec's own errors are ValueErrors; both quote it
            pass
        about = f" ({self.about})" if self.about else ""
        given = "what it is set to" if self.secret else repr(redacted(value))
        raise BadSetting(f"{self.allowed}{about}, not {given}")


def _path(kind: type, value: Any) -> Path:
    if kind is not Path or not isinstance(value, str | Path) or not str(value):
        raise ValueError
    return Path(value).expanduser()


def fields(declared: type[msgspec.Struct]) -> dict[str, SettingField]:
    """Return the settings that the fields of *declared* are, by name."""
    return {field.encode_name: _field(field.type) for field in msgspec.structs.fields(declared)}


def fields_of(factory: object) -> dict[str, SettingField]:
    """Return the settings that what an entry point names says it takes, by name."""
    if not isinstance(factory, PluginFactory):
        return {}
    return {
        name: replace(field, secret=field.secret or is_secret_name(name))
        for name, field in fields(factory.settings).items()
    }


def _field(kind: Any) -> SettingField:
    marks: list[Any] = []
    annotated: Any = kind
    while hasattr(annotated, "__metadata__"):
        marks += annotated.__metadata__
        annotated = annotated.__origin__
    return SettingField(
        kind,
        secret=SECRET in marks,
        about=next(
            (mark.description for mark in marks if getattr(mark, "description", "")), None
        ),
        form=next((mark for mark in marks if isinstance(mark, Form)), None),
    )


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
