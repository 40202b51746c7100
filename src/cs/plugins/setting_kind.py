"""What may stand in a setting, in words, from its type."""

from typing import Any

from msgspec import inspect

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
