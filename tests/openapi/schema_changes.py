"""What a new schema takes from those who send, or read, values of the old one."""

from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

Json = dict[str, Any]

_LOWER = ("minimum", "minLength", "minItems", "exclusiveMinimum")
_UPPER = ("maximum", "maxLength", "maxItems", "exclusiveMaximum")
#: What takes values away where it is, and others where it is another.
_LIMITS = (*_LOWER, *_UPPER, "format", "pattern", "const", "not", "anyOf", "if", "then")


class Broken(NamedTuple):
    """One thing that breaks who relies on the old document."""

    where: str  # operation, then status, then fields: "getUsage 200.quota"
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Way(Enum):
    """Who writes the values: callers, who must be let, or we, whom callers read."""

    SENT = "sent"
    READ = "read"


class Both(NamedTuple):
    """The documents that references are looked up in."""

    old: Json
    new: Json


def whole(document: Json, node: Json) -> Json:
    """Return *node* with its reference followed; what stands beside one is added to it."""
    if "$ref" not in node:
        return node
    found: Any = document
    for step in node["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return {**whole(document, found), **{k: v for k, v in node.items() if k != "$ref"}}


def changed(both: Both, where: str, old: Json, new: Json, way: Way) -> Iterator[Broken]:
    """Yield what breaks between two schemas of the same value."""
    was, now = whole(both.old, old), whole(both.new, new)
    yield from _types(where, was, now, way)
    yield from _values(where, was, now, way)
    yield from _limits(where, was, now, way)
    yield from _fields(both, where, was, now, way)
    yield from _forms(both, where, was, now, way)
    if "items" in was:
        yield from changed(both, f"{where}[]", was["items"], now.get("items", {}), way)


def _types(where: str, was: Json, now: Json, way: Way) -> Iterator[Broken]:
    if way is Way.SENT:
        for lost in _beyond(_kinds(was), _kinds(now)):
            yield Broken(where, f"can no longer be {lost}")
    else:
        for gained in _beyond(_kinds(now), _kinds(was)):
            yield Broken(where, f"may be {gained} now")


def _kinds(schema: Json) -> set[str]:
    kind = schema.get("type", "any")
    return {kind} if isinstance(kind, str) else set(kind)


def _beyond(these: set[str], those: set[str]) -> list[str]:
    """Return which of *these* types are none of *those*.

    >>> _beyond({"integer", "null"}, {"number"}), _beyond({"string"}, {"any"})
    (['null'], [])
    """
    if "any" in those:
        return []
    return sorted(these - those - ({"integer"} if "number" in those else set()))


def _values(where: str, was: Json, now: Json, way: Way) -> Iterator[Broken]:
    old, new = was.get("enum"), now.get("enum")
    if way is Way.SENT and new is not None:
        for value in old or ["any other"]:
            if value not in new:
                yield Broken(where, f"can no longer be {value}")
    if way is Way.READ and old is not None:
        for value in new or ["any other"]:
            if value not in old:
                yield Broken(where, f"may be {value} now")


def _limits(where: str, was: Json, now: Json, way: Way) -> Iterator[Broken]:
    for name in _LIMITS:
        old, new = was.get(name), now.get(name)
        if old == new:
            continue
        if way is Way.SENT and new is not None and not _takes_more(name, old, new):
            yield Broken(where, f"is narrower: {name} {new}")
        if way is Way.READ and old is not None and not _takes_more(name, new, old):
            yield Broken(where, f"is wider: {name} was {old}")


def _takes_more(name: str, old: Any, new: Any) -> bool:
    """Return whether the limit *new* takes every value that *old* takes."""
    if old is None:
        return False
    if name in _LOWER:
        return bool(new <= old)
    return bool(name in _UPPER and new >= old)


def _fields(both: Both, where: str, was: Json, now: Json, way: Way) -> Iterator[Broken]:
    fields, are = was.get("properties", {}), now.get("properties", {})
    for name, schema in fields.items():
        if name in are:
            yield from changed(both, f"{where}.{name}", schema, are[name], way)
        else:
            yield Broken(f"{where}.{name}", "the field is gone")
    old, new = set(was.get("required", ())), set(now.get("required", ()))
    if way is Way.SENT:
        for name in sorted(new - old):
            yield Broken(f"{where}.{name}", "the field is required now")
        if now.get("additionalProperties", True) is False != was.get("additionalProperties"):
            yield Broken(where, "takes no unknown fields any more")
    else:
        for name in sorted(old - new):
            yield Broken(f"{where}.{name}", "the field may be missing now")


def _forms(both: Both, where: str, was: Json, now: Json, way: Way) -> Iterator[Broken]:
    """Compare the forms of a union, each by what its discriminator says."""
    old, new = _union(both.old, was), _union(both.new, now)
    for name in sorted(old.keys() - new.keys()):
        yield Broken(f"{where}[{name}]", "the form is gone")
    for name in sorted(new.keys() - old.keys()) if way is Way.READ else ():
        yield Broken(f"{where}[{name}]", "is a form that callers do not know")
    for name in sorted(old.keys() & new.keys()):
        yield from changed(both, f"{where}[{name}]", old[name], new[name], way)


def _union(document: Json, schema: Json) -> dict[str, Json]:
    told_by = schema.get("discriminator", {}).get("propertyName", "")
    forms = [whole(document, form) for form in schema.get("oneOf", ())]
    return {str(form["properties"][told_by]["const"]): form for form in forms}
