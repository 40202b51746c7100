"""What a new version of the topics would break for those who speak them.

Within ``v1`` messages only grow: a field is added with a default, a type of message or a
tag is added.  Everything else is a new topic beside the old one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Document = Mapping[str, Any]
Schema = Mapping[str, Any]

#: What takes values away where it was not, or was another.
_LIMITS = (
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "additionalProperties",
)
_SCALARS = ("string", "integer", "number", "boolean", "null")


class Broken(NamedTuple):
    """One thing that breaks who relies on the old document."""

    where: str  # channel or message, then fields: "outcome.finding[failed].why"
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def broken(old: Document, new: Document) -> list[Broken]:
    """Return what *new* breaks of *old*, both AsyncAPI documents of `cs.bus.asyncapi.document`.

    >>> broken(
    ...     {"channels": {"a": {"address": "cs.a.v1", "messages": {}}}}, {"channels": {}}
    ... )
    [Broken(where='a', what='the channel is gone')]
    """
    return list(_documents(old, new))


def _documents(old: Document, new: Document) -> Iterator[Broken]:
    for name, channel in old["channels"].items():
        there = new["channels"].get(name)
        if there is None:
            yield Broken(name, "the channel is gone")
            continue
        if channel["address"] != there["address"]:
            yield Broken(name, f"the address is now {there['address']}")
        for message in channel["messages"].keys() - there["messages"].keys():
            yield Broken(name, f"the message {message} is gone")
    messages = new.get("components", {}).get("messages", {})
    for name, message in old.get("components", {}).get("messages", {}).items():
        if name in messages:
            yield from _messages(_Both(old, new), name, message, messages[name])


class _Both(NamedTuple):
    """The documents that references are looked up in."""

    old: Document
    new: Document


def _messages(both: _Both, name: str, old: Schema, new: Schema) -> Iterator[Broken]:
    if old["contentType"] != new["contentType"]:
        yield Broken(name, f"the content type is now {new['contentType']}")
    if old["bindings"]["kafka"]["key"] != new["bindings"]["kafka"]["key"]:
        yield Broken(name, "the key is another")
    yield from _fields(both, f"{name} header", old["headers"], new["headers"])
    yield from _schemas(both, name, old["payload"], new["payload"])


def _schemas(both: _Both, where: str, old: Schema, new: Schema) -> Iterator[Broken]:
    were, are = _choices(both.old, old), _choices(both.new, new)
    if "any" in are:
        return
    for label, schema in were.items():
        as_number = are.get("number") if label == "integer" else None
        there = are.get(label, as_number)
        if there is not None:
            yield from _choice(both, f"{where}{_tagged(label)}", schema, there)
        elif label in _SCALARS or label in {"any", "object", "array"}:
            yield Broken(where, f"can no longer be {label}")
        else:
            yield Broken(where, f"the tag {label} is gone")


def _choice(both: _Both, where: str, old: Schema, new: Schema) -> Iterator[Broken]:
    for limit in _LIMITS:
        if limit in new and new[limit] != old.get(limit) and not isinstance(new[limit], dict):
            yield Broken(where, f"is narrower: {limit} {new[limit]}")
    if "enum" in new:
        lost = [value for value in old.get("enum", ["any other"]) if value not in new["enum"]]
        for value in lost:
            yield Broken(where, f"can no longer be {value}")
    yield from _fields(both, where, old, new)
    for inner in ("items", "additionalProperties"):
        if isinstance(old.get(inner), dict) and isinstance(new.get(inner), dict):
            yield from _schemas(both, f"{where}[]", old[inner], new[inner])


def _fields(both: _Both, where: str, old: Schema, new: Schema) -> Iterator[Broken]:
    fields, are = old.get("properties", {}), new.get("properties", {})
    for field, schema in fields.items():
        if field in are:
            yield from _schemas(both, f"{where}.{field}", schema, are[field])
        else:
            yield Broken(f"{where}.{field}", "the field is gone")
    for field in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
        yield Broken(f"{where}.{field}", "the field is required now")


def _choices(document: Document, schema: Schema) -> dict[str, Schema]:
    """Return what a value may be: its tag, or its JSON type, and that one's own schema."""
    whole = _whole(document, schema)
    if "anyOf" in whole:
        found: dict[str, Schema] = {}
        for each in whole["anyOf"]:
            found |= _choices(document, each)
        return found
    return {_label(whole): whole}


def _whole(document: Document, schema: Schema) -> dict[str, Any]:
    """Return *schema* with its reference followed and what it is made of put together."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _whole(document, document["components"]["schemas"][name])
    whole = dict(schema)
    for part in whole.pop("allOf", ()):
        found = _whole(document, part)
        properties = {**whole.get("properties", {}), **found.get("properties", {})}
        required = [*whole.get("required", ()), *found.get("required", ())]
        whole |= {**found, "properties": properties, "required": required}
    return whole


def _label(schema: Schema) -> str:
    for name in ("type", "personal", "sealed"):
        tag = schema.get("properties", {}).get(name, {})
        if isinstance(tag, dict) and len(tag.get("enum", ())) == 1:
            return str(tag["enum"][0])
    if "enum" in schema:
        return "string"
    return str(schema.get("type", "any"))


def _tagged(label: str) -> str:
    return "" if label in {*_SCALARS, "any", "object", "array"} else f"[{label}]"
