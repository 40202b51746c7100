"""What a new JSON schema breaks for those who hold values of the old one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Schema = Mapping[str, Any]
#: What references lead into: a whole document.
Document = Mapping[str, Any]

_LOWER = ("minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum")
_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum")
#: What takes values away where it is, and others where it is another.
_LIMITS = (*_LOWER, *_UPPER, "format", "pattern", "const", "not", "anyOf", "if", "then")
_TYPES = ("string", "integer", "number", "boolean", "null", "array", "object", "any")
#: Fields that distinguish the kinds of one message, where no discriminator is named.
_TAGS = ("type", "personal", "sealed")


class BreakingChange(NamedTuple):
    """One thing that breaks those who rely on the old document."""

    where: str  # the message, then fields: "outcome.finding[failed].why"
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Versions(NamedTuple):
    """The two documents that references are looked up in."""

    old: Document
    new: Document


def schema_changes(
    versions: Versions, where: str, old: Schema, new: Schema
) -> Iterator[BreakingChange]:
    """Yield why a value of the schema *old* may be none of *new*, some of it perhaps twice.

    >>> old, new = {"type": "string"}, {"type": "string", "maxLength": 5}
    >>> [str(each) for each in schema_changes(Versions({}, {}), "brand", old, new)]
    ['brand: is narrower: maxLength 5']
    """
    are = _kinds(versions.new, new)
    for label, then in _kinds(versions.old, old).items():
        is_tag = label not in _TYPES
        as_number = are.get("number") if label == "integer" else None
        now = are.get(label, as_number or are.get("any"))
        if now is not None:
            place = f"{where}[{label}]" if is_tag else where
            yield from _kind_changes(versions, place, then, now)
        elif is_tag:
            yield BreakingChange(where, f"the tag {label} is gone")
        else:
            yield BreakingChange(where, f"can no longer be {label}")


def field_changes(
    versions: Versions, where: str, old: Schema, new: Schema
) -> Iterator[BreakingChange]:
    """Yield what breaks between the fields of two objects."""
    are = new.get("properties", {})
    for name, schema in old.get("properties", {}).items():
        if name in are:
            yield from schema_changes(versions, f"{where}.{name}", schema, are[name])
        else:
            yield BreakingChange(f"{where}.{name}", "the field is gone")
    for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
        yield BreakingChange(f"{where}.{name}", "the field is required now")
    if new.get("additionalProperties") is False is not old.get("additionalProperties"):
        yield BreakingChange(where, "takes no unknown fields any more")


def _kind_changes(
    versions: Versions, where: str, old: Schema, new: Schema
) -> Iterator[BreakingChange]:
    if "enum" in new:
        for value in old.get("enum", ["any other"]):
            if value not in new["enum"]:
                yield BreakingChange(where, f"can no longer be {value}")
    for name in _LIMITS:
        then, now = old.get(name), new.get(name)
        if now is not None and then != now and not _wider(name, then, now):
            yield BreakingChange(where, f"is narrower: {name} {now}")
    yield from field_changes(versions, where, old, new)
    if "items" in old or "items" in new:
        yield from schema_changes(
            versions, f"{where}[]", old.get("items", {}), new.get("items", {})
        )
    values = old.get("additionalProperties"), new.get("additionalProperties")
    if isinstance(values[0], dict) and isinstance(values[1], dict):
        yield from schema_changes(versions, f"{where}[]", values[0], values[1])


def _wider(name: str, old: Any, new: Any) -> bool:
    """Return whether the limit *new* takes every value that *old* takes."""
    if old is None:
        return False
    if name in _LOWER:
        return bool(new <= old)
    return bool(name in _UPPER and new >= old)


def _resolved(document: Document, schema: Schema) -> dict[str, Any]:
    """Return *schema* with its reference followed and the parts of ``allOf`` put together.

    Members next to a ``$ref`` are added to what it leads to.
    """
    merged = {name: value for name, value in schema.items() if name != "$ref"}
    if "$ref" in schema:
        found: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        merged = {**_resolved(document, found), **merged}
    for part in merged.pop("allOf", ()):
        more = _resolved(document, part)
        properties = {**merged.get("properties", {}), **more.get("properties", {})}
        required = [*merged.get("required", ()), *more.get("required", ())]
        merged |= {**more, "properties": properties, "required": required}
    return merged


def _kinds(document: Document, schema: Schema) -> dict[str, dict[str, Any]]:
    """Return what a value may be, by its tag or else its JSON type, each with its schema."""
    whole = _resolved(document, schema)
    union = _union(whole)
    if union:
        # Members next to a union hold for each of its alternatives.
        beside = {
            name: whole[name] for name in whole.keys() - {"oneOf", "anyOf", "discriminator"}
        }
        tag = whole.get("discriminator", {}).get("propertyName")
        kinds: dict[str, dict[str, Any]] = {}
        for each in union:
            member = {**beside, **_resolved(document, each)}
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
