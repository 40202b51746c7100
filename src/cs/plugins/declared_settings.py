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
from msgspec import Meta
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
    """A rule for a setting that its type does not express; part of its annotation.

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


#: By type of JSON schema.
_WORDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "path": "a path",
    "string": "a text",
}


def describe_kind(kind: Any) -> str:
    """Describe what may stand in a setting of the type *kind*.

    >>> describe_kind(int), describe_kind(float | None), describe_kind(tuple[str, ...])
    ('a whole number', 'a number', 'a list of names')
    """
    return " or ".join(map(_describe, _schemas(kind)))


def from_text(kind: Any, text: str) -> Any:
    """Return *text*, of a variable or an option, as a setting of the type *kind* takes it.

    >>> from_text(str, "a,b"), from_text(tuple[str, ...], "a, b")
    ('a,b', ['a', 'b'])
    """
    if not any(schema.get("type") == "array" for schema in _schemas(kind)):
        return text
    return [part.strip() for part in text.split(",") if part.strip()]


def _schemas(kind: Any) -> list[dict[str, Any]]:
    """Return the JSON schemas of what *kind* may be, without ``None``."""
    schema = msgspec.json.schema(kind, schema_hook=lambda _: {"type": "path"})
    for each in [schema, *schema.get("anyOf", ())]:
        of = each.pop("$ref", "").rpartition("/")[2]
        each.update(schema.get("$defs", {}).get(of, {}))
    return [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]


def _describe(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(str(each) for each in schema['enum'] if each is not None)}"
    kind = schema.get("type", "object")
    if kind == "array" and (first := schema.get("prefixItems")):
        return f"a list of {len(first)}, each {_describe(first[0])}"
    if kind == "array":
        each = schema.get("items", {"type": "string"})
        of_texts = each == {"type": "string"}
        return "a list of names" if of_texts else f"a list, each {_describe(each)}"
    low, high = schema.get("minimum"), schema.get("maximum")
    bounds = {"above": schema.get("exclusiveMinimum"), "below": schema.get("exclusiveMaximum")}
    if low is not None and high is not None:
        limits = f" from {low} to {high}"
    elif low is not None and not any(bounds.values()):
        limits = f", {low} or more"
    else:
        bounds |= {"at least": low, "at most": high}
        each = (f"{word} {bound}" for word, bound in bounds.items() if bound is not None)
        limits = " " + ", ".join(each)
    return (_WORDS.get(kind, "a table") + limits).strip()
