"""Within ``v1`` messages only grow.

A field is added with a default, a type of message or a tag is added.  Everything else is a new
topic next to the old one.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bus.asyncapi.asyncapi_document import described

#: The document as it was released; a new release adds its own, `-v1.1`, and keeps this one.
RELEASED = sorted((Path(__file__).parent / "golden").glob("asyncapi-v1*.json"))
#: What may have further members.
GROWING = frozenset({"channels", "messages", "properties", "oneOf", "anyOf", "enum"})
#: What says nothing of the values of a message.
WORDS = frozenset(
    {"title", "description", "summary", "examples", "default", "discriminator", "propertyNames"}
)

Document = dict[str, Any]


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: str(path.stem))
def test_nothing_that_was_released_is_broken(released: Path) -> None:
    old, new = json.loads(released.read_bytes()), json.loads(described())
    if old["info"]["version"] == "1.0.0":
        new = without_limits(new)

    assert list(changes(messages(old), messages(new))) == []
    del new["channels"]["ranking"]
    outcome = new["components"]["schemas"]["Outcome"]
    outcome["required"].append("later")
    del outcome["properties"]["item"]
    assert list(changes(messages(old), messages(new))) == [
        "/channels/ranking",
        "/messages/outcome/payload/properties/item",
        "/messages/outcome/payload/required/later",
    ]


def messages(document: Document) -> Document:
    """Return the channels, and the messages with every reference followed."""

    def followed(node: Any) -> Any:
        if isinstance(node, list):
            return {tag(each, n): each for n, each in enumerate(map(followed, node))}
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            found: Any = document
            for step in node["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            beside = {name: each for name, each in node.items() if name != "$ref"}
            return followed({**found, **beside})
        return {name: followed(each) for name, each in node.items()}

    return {
        "channels": document["channels"],
        "messages": followed(document["components"]["messages"]),
    }


def tag(member: Any, number: int) -> str:
    """Return what a member of a list is known by: its tag, itself, or its place."""
    if not isinstance(member, dict):
        return str(member)
    for name in ("type", "personal", "sealed"):
        field = member.get("properties", {}).get(name, {})
        for value in (field.get("const"), *field.get("enum", ())):
            if value is not None:
                return str(value)
    return str(number)


def changes(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Yield where *new* takes away or demands something, but for words."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if old != new:
            yield where
        return
    name = where.rpartition("/")[2]
    names = old.keys() | (() if name in GROWING else new.keys())
    if name == "required":  # of a message that was written before
        names = new.keys() - old.keys()
    elif "enum" in old and "enum" not in new:  # any other value may come, too
        names -= {"enum", "type"}
    for each in sorted(names - (WORDS if name not in {"properties", "messages"} else set())):
        yield from changes(old.get(each), new.get(each), f"{where}/{each}")


def without_limits(value: Any) -> Any:
    """Return *value* as it was before messages had limits, which is the one thing taken away.

    What they refuse was never meant, and ended its readers.
    """
    if isinstance(value, dict):
        return {
            name: without_limits(part)
            for name, part in value.items()
            if name not in LIMITS or isinstance(part, dict)  # a field of that name
        }
    return [without_limits(each) for each in value] if isinstance(value, list) else value


LIMITS = {
    "pattern",
    "minimum",
    "maximum",
    "maxLength",
    "maxItems",
    "maxProperties",
}
