"""What a new JSON schema breaks for those who hold values of the old one.

Shared by the documents of the HTTP API (OpenAPI) and of the topics (AsyncAPI): both describe
values by JSON Schema, and both only grow.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

Schema = Mapping[str, Any]
#: What references lead into: a whole OpenAPI or AsyncAPI document.
Document = Mapping[str, Any]

_LOWER = ("minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum")
_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum")
#: What takes values away where it is, and others where it is another.
_LIMITS = (*_LOWER, *_UPPER, "format", "pattern", "const", "not", "anyOf", "if", "then")
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object", "any")
#: Fields that distinguish the kinds of one message, where no discriminator is named.
_TAGS = ("type", "personal", "sealed")


class BreakingChange(NamedTuple):
    """One thing that breaks who relies on the old document."""

    where: str  # operation or message, then fields: "outcome.finding[failed].why"
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Compatibility(Enum):
    """Which way values go; the words are those of schema registries."""

    BACKWARD = "what was valid before is valid now: others write, we read"
    FORWARD = "what is valid now was valid before: we write, others read"


class Versions(NamedTuple):
    """The two documents that references are looked up in."""

    old: Document
    new: Document


def schema_changes(
    versions: Versions, where: str, old: Schema, new: Schema, way: Compatibility
) -> Iterator[BreakingChange]:
    """Yield what breaks between two schemas of the same value, some of it perhaps twice.

    >>> old, new = {"type": "string"}, {"type": "string", "maxLength": 5}
    >>> [str(each) for each in schema_changes(
    ...     Versions({}, {}), "brand", old, new, Compatibility.BACKWARD
    ... )]
    ['brand: is narrower: maxLength 5']
    """
    were, are = _kinds(versions.old, old), _kinds(versions.new, new)
    for label in were:
        if label not in _TYPES and label not in are and "any" not in are:
            yield BreakingChange(where, f"the tag {label} is gone")
        elif way is Compatibility.BACKWARD and _matching(label, are) is None:
            yield BreakingChange(where, f"can no longer be {label}")
    for label in are:
        if way is Compatibility.FORWARD and _matching(label, were) is None:
            is_tag = label not in _TYPES
            yield BreakingChange(
                where, f"the tag {label} is new" if is_tag else f"may be {label} now"
            )
    for label, then, now in _pairs(were, are, way):
        tag = "" if label in _TYPES else f"[{label}]"
        yield from _kind_changes(versions, f"{where}{tag}", then, now, way)


def resolved(document: Document, schema: Schema) -> dict[str, Any]:
    """Return *schema* with its reference followed and the parts of ``allOf`` put together.

    Members next to a ``$ref`` are added to what it leads to.
    """
    merged = {name: value for name, value in schema.items() if name != "$ref"}
    if "$ref" in schema:
        found: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        merged = {**resolved(document, found), **merged}
    for part in merged.pop("allOf", ()):
        more = resolved(document, part)
        properties = {**merged.get("properties", {}), **more.get("properties", {})}
        required = [*merged.get("required", ()), *more.get("required", ())]
        merged |= {**more, "properties": properties, "required": required}
    return merged


def _kinds(document: Document, schema: Schema) -> dict[str, dict[str, Any]]:
    """Return what a value may be, by its tag or else its JSON type, each with its schema."""
    whole = resolved(document, schema)
    union = _union(whole)
    if union:
        # Members next to a union hold for each of its alternatives.
        beside = {
            name: whole[name] for name in whole.keys() - {"oneOf", "anyOf", "discriminator"}
        }
        tag = whole.get("discriminator", {}).get("propertyName")
        kinds: dict[str, dict[str, Any]] = {}
        for each in union:
            member = {**beside, **resolved(document, each)}
            kinds |= {_tag(member, (tag,)): member} if tag else _kinds(document, member)
        return kinds
    if isinstance(whole.get("type"), list):
        return {
            name: {"type": name} if name == "null" else {**whole, "type": name}
            for name in whole["type"]
        }
    return {_tag(whole, _TAGS): whole}


def _union(schema: Schema) -> Sequence[Schema]:
    """Return what a value may be one of.

    ``anyOf`` next to a type is no union but a limit: "one of these fields is required".
    """
    if "oneOf" in schema or "type" in schema or "properties" in schema:
        found: Sequence[Schema] = schema.get("oneOf", ())
    else:
        found = schema.get("anyOf", ())
    return found


def _tag(schema: Schema, names: tuple[str, ...]) -> str:
    for name in names:
        field = schema.get("properties", {}).get(name, {})
        values = [field["const"]] if "const" in field else field.get("enum", ())
        if len(values) == 1:
            return str(values[0])
    return str(schema.get("type", "string" if "enum" in schema else "any"))


def _matching(label: str, kinds: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Return which of *kinds* takes values of *label*.

    >>> _matching("integer", {"number": {"minimum": 0}})
    {'minimum': 0}
    """
    as_number = kinds.get("number") if label == "integer" else None
    return kinds.get(label, as_number or kinds.get("any"))


def _pairs(
    were: dict[str, dict[str, Any]], are: dict[str, dict[str, Any]], way: Compatibility
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield each kind with its old and its new schema."""
    if way is Compatibility.BACKWARD:
        for label, then in were.items():
            now = _matching(label, are)
            if now is not None:
                yield label, then, now
    else:
        for label, now in are.items():
            before = _matching(label, were)
            if before is not None:
                yield label, before, now


def _kind_changes(
    versions: Versions,
    where: str,
    old: dict[str, Any],
    new: dict[str, Any],
    way: Compatibility,
) -> Iterator[BreakingChange]:
    yield from _value_changes(where, old, new, way)
    yield from _limit_changes(where, old, new, way)
    yield from field_changes(versions, where, old, new, way)
    if "items" in old or "items" in new:
        items = old.get("items", {}), new.get("items", {})
        yield from schema_changes(versions, f"{where}[]", *items, way)
    values = old.get("additionalProperties"), new.get("additionalProperties")
    if isinstance(values[0], dict) and isinstance(values[1], dict):
        yield from schema_changes(versions, f"{where}[]", values[0], values[1], way)


def _value_changes(
    where: str, old: Schema, new: Schema, way: Compatibility
) -> Iterator[BreakingChange]:
    then, now = old.get("enum"), new.get("enum")
    if way is Compatibility.BACKWARD and now is not None:
        for value in then or ["any other"]:
            if value not in now:
                yield BreakingChange(where, f"can no longer be {value}")
    if way is Compatibility.FORWARD and then is not None:
        for value in now or ["any other"]:
            if value not in then:
                yield BreakingChange(where, f"may be {value} now")


def _limit_changes(
    where: str, old: Schema, new: Schema, way: Compatibility
) -> Iterator[BreakingChange]:
    for name in _LIMITS:
        then, now = old.get(name), new.get(name)
        if then == now:
            continue
        if way is Compatibility.BACKWARD and now is not None and not _wider(name, then, now):
            yield BreakingChange(where, f"is narrower: {name} {now}")
        if way is Compatibility.FORWARD and then is not None and not _wider(name, now, then):
            yield BreakingChange(where, f"is wider: {name} was {then}")


def _wider(name: str, old: Any, new: Any) -> bool:
    """Return whether the limit *new* takes every value that *old* takes."""
    if old is None:
        return False
    if name in _LOWER:
        return bool(new <= old)
    return bool(name in _UPPER and new >= old)


def field_changes(
    versions: Versions, where: str, old: Schema, new: Schema, way: Compatibility
) -> Iterator[BreakingChange]:
    """Yield what breaks between the fields of two objects."""
    fields, are = old.get("properties", {}), new.get("properties", {})
    for name, schema in fields.items():
        if name in are:
            yield from schema_changes(versions, f"{where}.{name}", schema, are[name], way)
        else:
            yield BreakingChange(f"{where}.{name}", "the field is gone")
    then, now = set(old.get("required", ())), set(new.get("required", ()))
    if way is Compatibility.BACKWARD:
        for name in sorted(now - then):
            yield BreakingChange(f"{where}.{name}", "the field is required now")
        if new.get("additionalProperties") is False is not old.get("additionalProperties"):
            yield BreakingChange(where, "takes no unknown fields any more")
    else:
        for name in sorted(then - now):
            yield BreakingChange(f"{where}.{name}", "the field may be missing now")
